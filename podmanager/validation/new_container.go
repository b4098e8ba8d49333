package validation

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Bounds of the rules by which a container is restarted.
const (
	mostRestartRules = 20
	mostExitCodes    = 255
)

// newContainer checks what containers of all kinds may have.
func (f *findings) newContainer(spec *v1.PodSpec, c *v1.Container, at *field.Path) {
	f.newEnv(c, at)
	f.newMounts(c, at)
	f.newResources(&c.Resources, at.Child("resources"), at.Child("resources", "limits"), false)
	f.resizePolicies(spec, c.ResizePolicy, at.Child("resizePolicy"))
	f.newSecurity(spec, c.SecurityContext, at.Child("securityContext"))
	f.newLifecycle(spec, c.Lifecycle, at.Child("lifecycle"))
	if n := len(c.RestartPolicyRules); n > mostRestartRules {
		f.whole(field.ErrorTypeTooMany, at.Child("restartPolicyRules"), "%d rules: expected at most %d", n, mostRestartRules)
	}
	for i, r := range c.RestartPolicyRules {
		if r.ExitCodes != nil && len(r.ExitCodes.Values) > mostExitCodes {
			f.whole(field.ErrorTypeTooMany, at.Child("restartPolicyRules").Index(i).Child("exitCodes", "values"), "%d codes: expected at most %d", len(r.ExitCodes.Values), mostExitCodes)
		}
	}
}

// newInitContainer checks what only init containers may not have.
func (f *findings) newInitContainer(c *v1.Container, at *field.Path) {
	if podspec.IsSidecar(c) {
		f.restartRules(c, at)
		return
	}
	f.hostPorts(c, false, map[string]*field.Path{}, at)
	for i, p := range c.ResizePolicy {
		if p.RestartPolicy == v1.RestartContainer {
			f.ifRead(at.Child("restartPolicy")).invalid(at.Child("resizePolicy").Index(i).Child("restartPolicy"), string(p.RestartPolicy), "expected NotRequired for an init container without restartPolicy Always")
		}
	}
}

// newEphemeralContainer checks what only ephemeral containers may not have.
func (f *findings) newEphemeralContainer(c *v1.Container, at *field.Path) {
	for _, given := range []struct {
		name string
		is   bool
	}{
		{"resizePolicy", len(c.ResizePolicy) > 0},
		{"restartPolicyRules", len(c.RestartPolicyRules) > 0},
		{"resources", len(c.Resources.Claims) > 0},
	} {
		if given.is {
			f.forbidden(at.Child(given.name), "expected none in an ephemeral container")
		}
	}
	for i, m := range c.VolumeMounts {
		at := at.Child("volumeMounts").Index(i)
		if m.SubPath != "" {
			f.forbidden(at.Child("subPath"), "expected none in an ephemeral container")
		}
		if m.SubPathExpr != "" {
			f.forbidden(at.Child("subPathExpr"), "expected none in an ephemeral container")
		}
	}
}

// newEnv checks where variables come from.
func (f *findings) newEnv(c *v1.Container, at *field.Path) {
	for i, from := range c.EnvFrom {
		at := at.Child("envFrom").Index(i)
		if from.Prefix != "" {
			f.keeps(at.Child("prefix"), from.Prefix, envName)
		}
		f.exactlyOne(at, "a source", map[string]bool{"configMapRef": from.ConfigMapRef != nil, "secretRef": from.SecretRef != nil})
		if r := from.ConfigMapRef; r != nil {
			f.objectName(at.Child("configMapRef", "name"), completePrefix(r.Name))
		}
		if r := from.SecretRef; r != nil {
			f.objectName(at.Child("secretRef", "name"), completePrefix(r.Name))
		}
	}
	for i, e := range c.Env {
		if e.ValueFrom == nil {
			continue
		}
		at := at.Child("env").Index(i).Child("valueFrom")
		if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
			f.objectName(at.Child("configMapKeyRef", "name"), r.Name)
			f.named(at.Child("configMapKeyRef", "key"), r.Key, objectKey)
		}
		if r := e.ValueFrom.SecretKeyRef; r != nil {
			f.objectName(at.Child("secretKeyRef", "name"), r.Name)
			f.named(at.Child("secretKeyRef", "key"), r.Key, objectKey)
		}
		f.divisor(e.ValueFrom.ResourceFieldRef, at.Child("resourceFieldRef"))
	}
}

// objectName wants the name of a ConfigMap or a Secret.
func (f *findings) objectName(at *field.Path, name string) { f.named(at, name, dnsSubdomain) }

// completePrefix completes a name that ends with '-': in envFrom an API server takes it for the
// beginning of a name.
func completePrefix(name string) string {
	if begin, ok := strings.CutSuffix(name, "-"); ok && begin != "" && !strings.HasSuffix(begin, ".") {
		return begin + "a"
	}
	return name
}

var objectKey = rule{validation.IsConfigMapKey, "at most 253 letters, digits, '-', '_' and '.', not beginning with '..'"}

// wholeDivisors are the units of bytes.
var wholeDivisors = []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}

// divisor checks the unit of a resource field.
func (f *findings) divisor(r *v1.ResourceFieldSelector, at *field.Path) {
	if r == nil || r.Divisor.IsZero() {
		return
	}
	units := wholeDivisors
	if r.Resource == "limits.cpu" || r.Resource == "requests.cpu" {
		units = []string{"1m", "1"}
	}
	if got := r.Divisor.String(); !slices.Contains(units, got) {
		f.unsupported(at.Child("divisor"), got, "expected one of %s", strings.Join(units, ", "))
	}
}

func (f *findings) newMounts(c *v1.Container, at *field.Path) {
	privileged := c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
	for i, m := range c.VolumeMounts {
		at := at.Child("volumeMounts").Index(i)
		allowed(f, at.Child("mountPropagation"), m.MountPropagation, v1.MountPropagationNone, v1.MountPropagationHostToContainer, v1.MountPropagationBidirectional)
		if m.MountPropagation != nil && *m.MountPropagation == v1.MountPropagationBidirectional && !privileged {
			f.forbidden(at.Child("mountPropagation"), "expected Bidirectional in a privileged container only")
		}
		f.recursiveReadOnly(m, at)
		for _, d := range c.VolumeDevices {
			if m.Name == d.Name && m.Name != "" {
				f.invalid(at.Child("name"), m.Name, "it is one of volumeDevices: expected another volume")
			}
			if m.MountPath == d.DevicePath && m.MountPath != "" {
				f.invalid(at.Child("mountPath"), m.MountPath, "it is the path of one of volumeDevices: expected another path")
			}
		}
	}
}

func (f *findings) recursiveReadOnly(m v1.VolumeMount, at *field.Path) {
	mode := m.RecursiveReadOnly
	if mode == nil {
		return
	}
	allowed(f, at.Child("recursiveReadOnly"), mode, v1.RecursiveReadOnlyDisabled, v1.RecursiveReadOnlyIfPossible, v1.RecursiveReadOnlyEnabled)
	if *mode != v1.RecursiveReadOnlyIfPossible && *mode != v1.RecursiveReadOnlyEnabled {
		return
	}
	if !m.ReadOnly {
		f.ifRead(at.Child("readOnly")).forbidden(at.Child("recursiveReadOnly"), "expected none without readOnly")
	}
	if m.MountPropagation != nil && *m.MountPropagation != v1.MountPropagationNone {
		f.forbidden(at.Child("recursiveReadOnly"), "expected none with mountPropagation")
	}
}

// resizePolicies checks how containers are resized, which a node that resizes none ignores.
func (f *findings) resizePolicies(spec *v1.PodSpec, policies []v1.ContainerResizePolicy, at *field.Path) {
	seen := map[string]int{}
	for i, p := range policies {
		at := at.Index(i)
		oneOf(f, at.Child("resourceName"), p.ResourceName, v1.ResourceCPU, v1.ResourceMemory)
		oneOf(f, at.Child("restartPolicy"), p.RestartPolicy, v1.NotRequired, v1.RestartContainer)
		f.unique(at.Child("resourceName"), string(p.ResourceName), seen, i, "resizePolicy")
		if spec.RestartPolicy == v1.RestartPolicyNever && p.RestartPolicy == v1.RestartContainer {
			f.ifRead(field.NewPath("spec", "restartPolicy")).invalid(at.Child("restartPolicy"), string(p.RestartPolicy), "expected NotRequired in a pod with restartPolicy Never")
		}
	}
}

func (f *findings) newSecurity(spec *v1.PodSpec, s *v1.SecurityContext, at *field.Path) {
	if s == nil {
		return
	}
	f.newProfiles(s.AppArmorProfile, at)
	allowed(f, at.Child("procMount"), s.ProcMount, v1.DefaultProcMount, v1.UnmaskedProcMount)
	if s.ProcMount != nil && *s.ProcMount == v1.UnmaskedProcMount && (spec.HostUsers == nil || *spec.HostUsers) {
		f.ifRead(field.NewPath("spec", "hostUsers")).invalid(at.Child("procMount"), string(*s.ProcMount), "expected Default without hostUsers false")
	}
	if s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation && s.Capabilities != nil && slices.Contains(s.Capabilities.Add, "CAP_SYS_ADMIN") {
		f.ifRead(at.Child("capabilities")).invalid(at.Child("allowPrivilegeEscalation"), false, "expected true with the capability CAP_SYS_ADMIN")
	}
}

// newLifecycle checks the hooks and the stop signal of one container.
func (f *findings) newLifecycle(spec *v1.PodSpec, l *v1.Lifecycle, at *field.Path) {
	if l == nil {
		return
	}
	for _, hook := range []struct {
		name string
		of   *v1.LifecycleHandler
	}{{"postStart", l.PostStart}, {"preStop", l.PreStop}} {
		grace := spec.TerminationGracePeriodSeconds
		if h := hook.of; h != nil && h.Sleep != nil && grace != nil && h.Sleep.Seconds > *grace {
			needs := field.NewPath("spec", "terminationGracePeriodSeconds")
			f.ifRead(needs).invalid(at.Child(hook.name, "sleep", "seconds"), h.Sleep.Seconds, "expected at most terminationGracePeriodSeconds, %d", *grace)
		}
	}
	if l.StopSignal == nil {
		return
	}
	os := field.NewPath("spec", "os")
	switch at := at.Child("stopSignal"); {
	case spec.OS == nil:
		f.ifRead(os).forbidden(at, "expected none without spec.os.name")
	case spec.OS.Name == v1.Linux:
		if !isSignal(*l.StopSignal) {
			f.ifRead(os).unsupported(at, string(*l.StopSignal), "expected the name of a signal of Linux, such as SIGTERM")
		}
	case spec.OS.Name == v1.Windows:
		if *l.StopSignal != v1.SIGKILL && *l.StopSignal != v1.SIGTERM {
			f.ifRead(os).unsupported(at, string(*l.StopSignal), "expected SIGKILL or SIGTERM")
		}
	}
}

// isSignal reports whether the API has a signal of Linux.
func isSignal(s v1.Signal) bool {
	name := strings.TrimPrefix(string(s), "SIG")
	if name == string(s) {
		return false
	}
	if n, ok := strings.CutPrefix(name, "RTMIN+"); ok {
		return isNumber(n, 15)
	}
	if n, ok := strings.CutPrefix(name, "RTMAX-"); ok {
		return isNumber(n, 14)
	}
	return slices.Contains(strings.Fields(`ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP
		SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX`), name)
}

// isNumber reports whether a text is a number from 1 to most.
func isNumber(text string, most int) bool {
	n := 0
	for _, r := range text {
		if r < '0' || r > '9' || n > most {
			return false
		}
		n = 10*n + int(r-'0')
	}
	return n >= 1 && n <= most && text[0] != '0'
}

// newResources checks requests and limits beyond their amounts. cpuOrMemory: one of these is
// requested elsewhere.
func (f *findings) newResources(r *v1.ResourceRequirements, at, limits *field.Path, cpuOrMemory bool) {
	var huge bool
	for _, list := range []struct {
		of v1.ResourceList
		at *field.Path
	}{{r.Limits, limits}, {r.Requests, at.Child("requests")}} {
		for _, name := range sortedKeys(list.of) {
			quantity := list.of[name]
			cpuOrMemory = cpuOrMemory || name == v1.ResourceCPU || name == v1.ResourceMemory
			huge = huge || hugePages(name)
			f.resource(name, quantity, list.at.Key(string(name)))
		}
	}
	for _, name := range sortedKeys(r.Requests) {
		if request := r.Requests[name]; hugePages(name) && !hasResource(r.Limits, name) {
			f.ifRead(limits).invalid(at.Child("requests").Key(string(name)), &request, "expected a limit of the same amount")
		}
	}
	if huge && !cpuOrMemory {
		f.whole(field.ErrorTypeForbidden, at, "huge pages without cpu and memory: expected a request or a limit of one of them")
	}
}

// resource checks the name of a resource and what its amount must be a multiple of.
func (f *findings) resource(name v1.ResourceName, quantity resource.Quantity, at *field.Path) {
	switch {
	case hugePages(name):
		page, err := podspec.ParseQuantity(strings.TrimPrefix(string(name), v1.ResourceHugePagesPrefix))
		if err != nil || page.Sign() <= 0 || page.MilliValue()%1000 != 0 {
			f.whole(field.ErrorTypeInvalid, at, "expected hugepages- and the size of a page, such as hugepages-2Mi")
		} else if quantity.Value()%page.Value() != 0 {
			f.invalid(at, &quantity, "expected a multiple of %s", page.String())
		}
	case !native(name):
		counted := v1.DefaultResourceRequestsPrefix + string(name)
		if strings.HasPrefix(string(name), v1.DefaultResourceRequestsPrefix) || len(qualifiedName.complaints(counted)) > 0 {
			f.whole(field.ErrorTypeInvalid, at, "expected a domain of at most 244 characters that does not begin with requests.")
		}
	}
}
