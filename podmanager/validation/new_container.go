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

// The limits of restart rules, as in the API.
const (
	maxRestartRules = 20
	maxExitCodes    = 255
)

// checkContainerOfNewPod checks, in a container of any kind of a new pod (one that no earlier process has
// accepted), environment, mounts, resources, resize policies, security context and hooks, and the number of
// restart rules and exit codes.
func (f *findings) checkContainerOfNewPod(spec *v1.PodSpec, c *v1.Container, at *field.Path) {
	f.checkEnvOfNewPod(c, at)
	f.checkMountsOfNewPod(c, at)
	f.checkResourcesOfNewPod(&c.Resources, at.Child("resources"), at.Child("resources", "limits"), false)
	f.checkResizePolicies(spec, c.ResizePolicy, at.Child("resizePolicy"))
	f.checkSecurityContextOfNewPod(spec, c.SecurityContext, at.Child("securityContext"))
	f.checkLifecycleOfNewPod(spec, c.Lifecycle, at.Child("lifecycle"))
	if n := len(c.RestartPolicyRules); n > maxRestartRules {
		f.addWithoutValue(field.ErrorTypeTooMany, at.Child("restartPolicyRules"), "%d rules: expected at most %d", n, maxRestartRules)
	}
	for i, r := range c.RestartPolicyRules {
		if r.ExitCodes != nil && len(r.ExitCodes.Values) > maxExitCodes {
			f.addWithoutValue(field.ErrorTypeTooMany, at.Child("restartPolicyRules").Index(i).Child("exitCodes", "values"), "%d codes: expected at most %d", len(r.ExitCodes.Values), maxExitCodes)
		}
	}
}

// checkInitContainerOfNewPod checks an init container of a new pod (one that no earlier process has accepted).
// For a sidecar it checks the restart rules. In an ordinary init container no host port may occur twice, and no
// resize policy may restart the container.
func (f *findings) checkInitContainerOfNewPod(c *v1.Container, at *field.Path) {
	if podspec.IsSidecar(c) {
		f.checkRestartRules(c, at)
		return
	}
	f.checkHostPorts(c, false, map[string]*field.Path{}, at)
	for i, p := range c.ResizePolicy {
		if p.RestartPolicy == v1.RestartContainer {
			f.onlyIfRead(at.Child("restartPolicy")).addInvalid(at.Child("resizePolicy").Index(i).Child("restartPolicy"), string(p.RestartPolicy), "expected NotRequired for an init container without restartPolicy Always")
		}
	}
}

// checkEphemeralContainerOfNewPod adds an error if an ephemeral container of a new pod (one that no earlier
// process has accepted) has resize policies, restart rules, resource claims or a sub path.
func (f *findings) checkEphemeralContainerOfNewPod(c *v1.Container, at *field.Path) {
	for _, given := range []struct {
		name string
		is   bool
	}{
		{"resizePolicy", len(c.ResizePolicy) > 0},
		{"restartPolicyRules", len(c.RestartPolicyRules) > 0},
		{"resources", len(c.Resources.Claims) > 0},
	} {
		if given.is {
			f.addForbidden(at.Child(given.name), "expected none in an ephemeral container")
		}
	}
	for i, m := range c.VolumeMounts {
		at := at.Child("volumeMounts").Index(i)
		if m.SubPath != "" {
			f.addForbidden(at.Child("subPath"), "expected none in an ephemeral container")
		}
		if m.SubPathExpr != "" {
			f.addForbidden(at.Child("subPathExpr"), "expected none in an ephemeral container")
		}
	}
}

// checkEnvOfNewPod checks, in a container of a new pod (one that no earlier process has accepted), the prefixes
// and sources of envFrom, and in env the names and keys of ConfigMaps and Secrets and the divisors of
// resources.
func (f *findings) checkEnvOfNewPod(c *v1.Container, at *field.Path) {
	for i, from := range c.EnvFrom {
		at := at.Child("envFrom").Index(i)
		if from.Prefix != "" {
			f.checkFormat(at.Child("prefix"), from.Prefix, envNameFormat)
		}
		f.requireExactlyOne(at, "a source", map[string]bool{"configMapRef": from.ConfigMapRef != nil, "secretRef": from.SecretRef != nil})
		if r := from.ConfigMapRef; r != nil {
			f.checkObjectName(at.Child("configMapRef", "name"), completeNamePrefix(r.Name))
		}
		if r := from.SecretRef; r != nil {
			f.checkObjectName(at.Child("secretRef", "name"), completeNamePrefix(r.Name))
		}
	}
	for i, e := range c.Env {
		if e.ValueFrom == nil {
			continue
		}
		at := at.Child("env").Index(i).Child("valueFrom")
		if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
			f.checkObjectName(at.Child("configMapKeyRef", "name"), r.Name)
			f.requireName(at.Child("configMapKeyRef", "key"), r.Key, objectKeyFormat)
		}
		if r := e.ValueFrom.SecretKeyRef; r != nil {
			f.checkObjectName(at.Child("secretKeyRef", "name"), r.Name)
			f.requireName(at.Child("secretKeyRef", "key"), r.Key, objectKeyFormat)
		}
		f.checkDivisor(e.ValueFrom.ResourceFieldRef, at.Child("resourceFieldRef"))
	}
}

// checkObjectName adds an error if the name of a ConfigMap or Secret is empty or is not a DNS subdomain.
func (f *findings) checkObjectName(at *field.Path, name string) {
	f.requireName(at, name, dnsSubdomainFormat)
}

// completeNamePrefix appends "a" in place of the '-' at the end of a name, so that the name is valid. An API
// server accepts such a prefix of a name in envFrom. It returns other names unchanged.
func completeNamePrefix(name string) string {
	if begin, ok := strings.CutSuffix(name, "-"); ok && begin != "" && !strings.HasSuffix(begin, ".") {
		return begin + "a"
	}
	return name
}

var objectKeyFormat = textFormat{validation.IsConfigMapKey, "at most 253 letters, digits, '-', '_' and '.', not beginning with '..'"}

// byteDivisors are the allowed divisors for resources that are counted in bytes.
var byteDivisors = []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}

// checkDivisor adds an error if the divisor of a resource field is none of the allowed ones: 1m and 1 for cpu,
// byteDivisors for other resources. A missing divisor is allowed.
func (f *findings) checkDivisor(r *v1.ResourceFieldSelector, at *field.Path) {
	if r == nil || r.Divisor.IsZero() {
		return
	}
	units := byteDivisors
	if r.Resource == "limits.cpu" || r.Resource == "requests.cpu" {
		units = []string{"1m", "1"}
	}
	if got := r.Divisor.String(); !slices.Contains(units, got) {
		f.addNotSupported(at.Child("divisor"), got, "expected one of %s", strings.Join(units, ", "))
	}
}

// checkMountsOfNewPod checks, in a container of a new pod (one that no earlier process has accepted), mount
// propagation and recursive read-only mounts. Bidirectional propagation needs a privileged container. A mount
// must not have the volume or the path of one of the container's volume devices.
func (f *findings) checkMountsOfNewPod(c *v1.Container, at *field.Path) {
	privileged := c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
	for i, m := range c.VolumeMounts {
		at := at.Child("volumeMounts").Index(i)
		checkOneOfIfSet(f, at.Child("mountPropagation"), m.MountPropagation, v1.MountPropagationNone, v1.MountPropagationHostToContainer, v1.MountPropagationBidirectional)
		if m.MountPropagation != nil && *m.MountPropagation == v1.MountPropagationBidirectional && !privileged {
			f.addForbidden(at.Child("mountPropagation"), "expected Bidirectional in a privileged container only")
		}
		f.checkRecursiveReadOnly(m, at)
		for _, d := range c.VolumeDevices {
			if m.Name == d.Name && m.Name != "" {
				f.addInvalid(at.Child("name"), m.Name, "it is one of volumeDevices: expected another volume")
			}
			if m.MountPath == d.DevicePath && m.MountPath != "" {
				f.addInvalid(at.Child("mountPath"), m.MountPath, "it is the path of one of volumeDevices: expected another path")
			}
		}
	}
}

// checkRecursiveReadOnly checks the value of recursiveReadOnly of a mount. IfPossible and Enabled need a mount
// that is read-only and has no mount propagation.
func (f *findings) checkRecursiveReadOnly(m v1.VolumeMount, at *field.Path) {
	mode := m.RecursiveReadOnly
	if mode == nil {
		return
	}
	checkOneOfIfSet(f, at.Child("recursiveReadOnly"), mode, v1.RecursiveReadOnlyDisabled, v1.RecursiveReadOnlyIfPossible, v1.RecursiveReadOnlyEnabled)
	if *mode != v1.RecursiveReadOnlyIfPossible && *mode != v1.RecursiveReadOnlyEnabled {
		return
	}
	if !m.ReadOnly {
		f.onlyIfRead(at.Child("readOnly")).addForbidden(at.Child("recursiveReadOnly"), "expected none without readOnly")
	}
	if m.MountPropagation != nil && *m.MountPropagation != v1.MountPropagationNone {
		f.addForbidden(at.Child("recursiveReadOnly"), "expected none with mountPropagation")
	}
}

// checkResizePolicies checks the resize policies of a container: their resources and restart policies must be
// allowed values, no resource may occur twice, and a pod with restartPolicy Never may not have the resize
// policy RestartContainer.
func (f *findings) checkResizePolicies(spec *v1.PodSpec, policies []v1.ContainerResizePolicy, at *field.Path) {
	seen := map[string]int{}
	for i, p := range policies {
		at := at.Index(i)
		checkOneOf(f, at.Child("resourceName"), p.ResourceName, v1.ResourceCPU, v1.ResourceMemory)
		checkOneOf(f, at.Child("restartPolicy"), p.RestartPolicy, v1.NotRequired, v1.RestartContainer)
		f.checkUniqueOrStoreName(at.Child("resourceName"), string(p.ResourceName), seen, i, "resizePolicy")
		if spec.RestartPolicy == v1.RestartPolicyNever && p.RestartPolicy == v1.RestartContainer {
			f.onlyIfRead(field.NewPath("spec", "restartPolicy")).addInvalid(at.Child("restartPolicy"), string(p.RestartPolicy), "expected NotRequired in a pod with restartPolicy Never")
		}
	}
}

// checkSecurityContextOfNewPod checks, in a container of a new pod (one that no earlier process has accepted),
// the AppArmor profile name and procMount. A container with CAP_SYS_ADMIN must not forbid privilege escalation.
func (f *findings) checkSecurityContextOfNewPod(spec *v1.PodSpec, s *v1.SecurityContext, at *field.Path) {
	if s == nil {
		return
	}
	f.checkAppArmorProfileName(s.AppArmorProfile, at)
	checkOneOfIfSet(f, at.Child("procMount"), s.ProcMount, v1.DefaultProcMount, v1.UnmaskedProcMount)
	if s.ProcMount != nil && *s.ProcMount == v1.UnmaskedProcMount && (spec.HostUsers == nil || *spec.HostUsers) {
		f.onlyIfRead(field.NewPath("spec", "hostUsers")).addInvalid(at.Child("procMount"), string(*s.ProcMount), "expected Default without hostUsers false")
	}
	if s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation && s.Capabilities != nil && slices.Contains(s.Capabilities.Add, "CAP_SYS_ADMIN") {
		f.onlyIfRead(at.Child("capabilities")).addInvalid(at.Child("allowPrivilegeEscalation"), false, "expected true with the capability CAP_SYS_ADMIN")
	}
}

// checkLifecycleOfNewPod checks, in a container of a new pod (one that no earlier process has accepted), that
// no sleep hook is longer than the grace period, and that the stop signal is one of the pod's OS. A stop signal
// needs spec.os.name.
func (f *findings) checkLifecycleOfNewPod(spec *v1.PodSpec, l *v1.Lifecycle, at *field.Path) {
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
			f.onlyIfRead(needs).addInvalid(at.Child(hook.name, "sleep", "seconds"), h.Sleep.Seconds, "expected at most terminationGracePeriodSeconds, %d", *grace)
		}
	}
	if l.StopSignal == nil {
		return
	}
	os := field.NewPath("spec", "os")
	switch at := at.Child("stopSignal"); {
	case spec.OS == nil:
		f.onlyIfRead(os).addForbidden(at, "expected none without spec.os.name")
	case spec.OS.Name == v1.Linux:
		if !isLinuxSignal(*l.StopSignal) {
			f.onlyIfRead(os).addNotSupported(at, string(*l.StopSignal), "expected the name of a signal of Linux, such as SIGTERM")
		}
	case spec.OS.Name == v1.Windows:
		if *l.StopSignal != v1.SIGKILL && *l.StopSignal != v1.SIGTERM {
			f.onlyIfRead(os).addNotSupported(at, string(*l.StopSignal), "expected SIGKILL or SIGTERM")
		}
	}
}

// isLinuxSignal reports whether s is a Linux signal that the Kubernetes API allows, with the prefix SIG.
func isLinuxSignal(s v1.Signal) bool {
	name := strings.TrimPrefix(string(s), "SIG")
	if name == string(s) {
		return false
	}
	if n, ok := strings.CutPrefix(name, "RTMIN+"); ok {
		return isNumberUpTo(n, 15)
	}
	if n, ok := strings.CutPrefix(name, "RTMAX-"); ok {
		return isNumberUpTo(n, 14)
	}
	return slices.Contains(strings.Fields(`ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP
		SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX`), name)
}

// isNumberUpTo reports whether a text is a decimal number from 1 to most without leading zeros.
func isNumberUpTo(text string, most int) bool {
	n := 0
	for _, r := range text {
		if r < '0' || r > '9' || n > most {
			return false
		}
		n = 10*n + int(r-'0')
	}
	return n >= 1 && n <= most && text[0] != '0'
}

// checkResourcesOfNewPod checks, in a new pod (one that no earlier process has accepted), the resource names
// and the units of huge pages. Huge pages need a limit, and cpu or memory beside them. cpuOrMemory is true if a
// container of the pod requests cpu or memory, which then is enough.
func (f *findings) checkResourcesOfNewPod(r *v1.ResourceRequirements, at, limits *field.Path, cpuOrMemory bool) {
	var huge bool
	for _, list := range []struct {
		of v1.ResourceList
		at *field.Path
	}{{r.Limits, limits}, {r.Requests, at.Child("requests")}} {
		for _, name := range sortedKeys(list.of) {
			quantity := list.of[name]
			cpuOrMemory = cpuOrMemory || name == v1.ResourceCPU || name == v1.ResourceMemory
			huge = huge || isHugePages(name)
			f.checkResourceNameAndPageMultiple(name, quantity, list.at.Key(string(name)))
		}
	}
	for _, name := range sortedKeys(r.Requests) {
		if request := r.Requests[name]; isHugePages(name) && !hasResource(r.Limits, name) {
			f.onlyIfRead(limits).addInvalid(at.Child("requests").Key(string(name)), &request, "expected a limit of the same amount")
		}
	}
	if huge && !cpuOrMemory {
		f.addWithoutValue(field.ErrorTypeForbidden, at, "huge pages without cpu and memory: expected a request or a limit of one of them")
	}
}

// checkResourceNameAndPageMultiple checks one resource. For huge pages it checks the page size in the name and
// that the amount is a multiple of it. For an extended resource it checks the length and the beginning of the
// domain.
func (f *findings) checkResourceNameAndPageMultiple(name v1.ResourceName, quantity resource.Quantity, at *field.Path) {
	switch {
	case isHugePages(name):
		page, err := podspec.ParseQuantity(strings.TrimPrefix(string(name), v1.ResourceHugePagesPrefix))
		if err != nil || page.Sign() <= 0 || page.MilliValue()%1000 != 0 {
			f.addWithoutValue(field.ErrorTypeInvalid, at, "expected hugepages- and the size of a page, such as hugepages-2Mi")
		} else if quantity.Value()%page.Value() != 0 {
			f.addInvalid(at, &quantity, "expected a multiple of %s", page.String())
		}
	case !isNativeResource(name):
		counted := v1.DefaultResourceRequestsPrefix + string(name)
		if strings.HasPrefix(string(name), v1.DefaultResourceRequestsPrefix) || len(qualifiedNameFormat.validate(counted)) > 0 {
			f.addWithoutValue(field.ErrorTypeInvalid, at, "expected a domain of at most 244 characters that does not begin with requests.")
		}
	}
}
