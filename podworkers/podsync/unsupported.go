package podsync

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Problem is a field of a pod that this agent does not honour.
type Problem struct {
	Field string // as "spec.containers[0].livenessProbe"
	Why   string // for people
}

// String is the problem in one line.
func (p Problem) String() string { return p.Field + ": " + p.Why }

// Unsupported lists the fields of a pod that a Syncer does not honour. Those in
// rejected change what the pod means: it must not be run without them. Those in
// ignored are missed by nobody but people, and may be warned about. It is pure,
// and called when a pod is admitted.
func Unsupported(pod *v1.Pod) (rejected, ignored []Problem) {
	var u unsupported
	u.pod(&pod.Spec)
	u.podSecurity(pod.Spec.SecurityContext)
	for i := range pod.Spec.InitContainers {
		u.container(fmt.Sprintf("spec.initContainers[%d]", i), &pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		u.container(fmt.Sprintf("spec.containers[%d]", i), &pod.Spec.Containers[i])
	}
	return u.rejected, u.ignored
}

// unsupported collects problems.
type unsupported struct{ rejected, ignored []Problem }

func (u *unsupported) reject(found bool, field, why string) {
	if found {
		u.rejected = append(u.rejected, Problem{field, why})
	}
}

func (u *unsupported) ignore(found bool, field, why string) {
	if found {
		u.ignored = append(u.ignored, Problem{field, why})
	}
}

func (u *unsupported) pod(s *v1.PodSpec) {
	u.reject(len(s.EphemeralContainers) > 0, "spec.ephemeralContainers", "ephemeral containers are not run")
	u.reject(len(s.Volumes) > 0, "spec.volumes", "volumes are not mounted")
	u.reject(s.ActiveDeadlineSeconds != nil, "spec.activeDeadlineSeconds", "deadlines are not watched")
	u.reject(s.HostUsers != nil && !*s.HostUsers, "spec.hostUsers", "user namespaces are not made")
	u.reject(s.RuntimeClassName != nil, "spec.runtimeClassName", "runtime classes are not known")
	u.reject(len(s.ResourceClaims) > 0, "spec.resourceClaims", "resources are not claimed")
	u.reject(s.Resources != nil, "spec.resources", "resources are not limited for a pod as a whole")
	u.reject(len(s.HostAliases) > 0, "spec.hostAliases", "the hosts file is not written")
	u.reject(s.HostnameOverride != nil, "spec.hostnameOverride", "the host name is not replaced")

	u.ignore(len(s.ImagePullSecrets) > 0, "spec.imagePullSecrets", "images are pulled without credentials")
	u.ignore(s.Subdomain != "", "spec.subdomain", "pods have no domain")
	u.ignore(isSet(s.SetHostnameAsFQDN), "spec.setHostnameAsFQDN", "pods have no domain")
	u.ignore(len(s.Overhead) > 0, "spec.overhead", "nothing is reserved for the sandbox")
	u.ignore(s.DNSPolicy == v1.DNSClusterFirstWithHostNet, "spec.dnsPolicy", "there is no cluster DNS, the host's is used")
	u.ignore(s.DNSPolicy != v1.DNSNone && s.DNSConfig != nil, "spec.dnsConfig", "is only used with the policy None")
}

func (u *unsupported) podSecurity(s *v1.PodSecurityContext) {
	if s == nil {
		return
	}
	const field = "spec.securityContext."
	u.reject(s.SupplementalGroupsPolicy != nil && *s.SupplementalGroupsPolicy != v1.SupplementalGroupsPolicyMerge,
		field+"supplementalGroupsPolicy", "only Merge is known")
	u.reject(s.WindowsOptions != nil, field+"windowsOptions", "Windows containers are not run")
	u.ignore(s.FSGroup != nil, field+"fsGroup", "there are no volumes")
	u.ignore(s.SELinuxChangePolicy != nil, field+"seLinuxChangePolicy", "there are no volumes")
}

func (u *unsupported) container(field string, c *v1.Container) {
	field += "."
	u.reject(c.RestartPolicy != nil, field+"restartPolicy", "containers follow the pod's policy, and sidecars are not run")
	u.reject(len(c.RestartPolicyRules) > 0, field+"restartPolicyRules", "exit codes are not looked at")
	u.reject(c.LivenessProbe != nil, field+"livenessProbe", "probes are not run")
	u.reject(c.ReadinessProbe != nil, field+"readinessProbe", "probes are not run")
	u.reject(c.StartupProbe != nil, field+"startupProbe", "probes are not run")
	u.lifecycle(field+"lifecycle.", c.Lifecycle)
	u.reject(len(c.VolumeMounts) > 0, field+"volumeMounts", "volumes are not mounted")
	u.reject(len(c.VolumeDevices) > 0, field+"volumeDevices", "volumes are not mounted")
	u.reject(len(c.EnvFrom) > 0, field+"envFrom", "variables are not read from elsewhere")
	u.reject(len(c.Resources.Claims) > 0, field+"resources.claims", "resources are not claimed")
	u.ignore(len(c.ResizePolicy) > 0, field+"resizePolicy", "resources of a running container are not changed")
	u.ignore(c.TerminationMessagePath != "" && c.TerminationMessagePath != v1.TerminationMessagePathDefault,
		field+"terminationMessagePath", "termination messages are not read")
	u.ignore(c.TerminationMessagePolicy == v1.TerminationMessageFallbackToLogsOnError,
		field+"terminationMessagePolicy", "termination messages are not read")
	u.environment(field, c)
	if s := c.SecurityContext; s != nil {
		u.reject(s.WindowsOptions != nil, field+"securityContext.windowsOptions", "Windows containers are not run")
		u.reject(s.ProcMount != nil && *s.ProcMount != v1.DefaultProcMount, field+"securityContext.procMount", "only Default is known")
	}
}

func (u *unsupported) lifecycle(field string, l *v1.Lifecycle) {
	if l == nil {
		return
	}
	u.reject(l.PostStart != nil, field+"postStart", "hooks are not run")
	u.reject(l.PreStop != nil, field+"preStop", "hooks are not run")
}

// environment finds what would have to be looked up or expanded: references to
// variables of the same container, and the escape of one.
func (u *unsupported) environment(field string, c *v1.Container) {
	known := make(map[string]bool, len(c.Env))
	for i := range c.Env {
		name := fmt.Sprintf("%senv[%d].", field, i)
		u.reject(c.Env[i].ValueFrom != nil, name+"valueFrom", "variables are not read from elsewhere")
		u.reject(expands(c.Env[i].Value, known), name+"value", "references are not expanded")
		known[c.Env[i].Name] = true
	}
	for i, word := range c.Command {
		u.reject(expands(word, known), fmt.Sprintf("%scommand[%d]", field, i), "references are not expanded")
	}
	for i, word := range c.Args {
		u.reject(expands(word, known), fmt.Sprintf("%sargs[%d]", field, i), "references are not expanded")
	}
}

// expands reports whether an expansion would change a text: it holds $$, which
// stands for a dollar, or $(name) of a variable that is known. Any other $(...)
// is left alone by an expansion too, and belongs to a shell.
func expands(text string, known map[string]bool) bool {
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 || i+1 == len(text) {
			return false
		}
		text = text[i+1:]
		name, _, closed := strings.Cut(text[1:], ")")
		if text[0] == '$' || (text[0] == '(' && closed && known[name]) {
			return true
		}
	}
}
