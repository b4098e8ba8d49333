package request

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
)

// sandboxSecurity returns the security settings for the sandbox of a pod. It leaves out a group without a user,
// because runtimes reject it. The sandbox is privileged if an init or regular container is.
func sandboxSecurity(pod *v1.Pod) runtime.Security {
	out := usersGroupsAndSELinuxOfPod(pod.Spec.SecurityContext)
	if out.User == nil {
		out.Group = nil
	}
	out.Seccomp, out.AppArmor = seccompProfile(podspec.Seccomp(pod, nil)), appArmorProfile(podspec.PodAppArmor(pod))
	out.Privileged = hasPrivilegedContainer(&pod.Spec)
	return out
}

// usersGroupsAndSELinuxOfPod converts the user, the groups and the SELinux options of a pod's security context.
// It leaves out seccomp and AppArmor. The fsGroup becomes the first supplemental group, as in the kubelet: the status of
// a container shows the order. A nil context gives the zero value.
func usersGroupsAndSELinuxOfPod(p *v1.PodSecurityContext) runtime.Security {
	var out runtime.Security
	if p == nil {
		return out
	}
	out.User, out.Group = p.RunAsUser, p.RunAsGroup
	if p.FSGroup != nil {
		out.SupplementalGroups = []int64{*p.FSGroup} // The group of the volumes.
	}
	out.SupplementalGroups = append(out.SupplementalGroups, p.SupplementalGroups...)
	out.StrictGroups = hasStrictGroups(p)
	out.SELinux = seLinuxOptions(p.SELinuxOptions)
	return out
}

// hasStrictGroups reports whether supplementalGroupsPolicy is Strict. Then the runtime must not add the groups
// that the image defines for the user.
func hasStrictGroups(p *v1.PodSecurityContext) bool {
	return p.SupplementalGroupsPolicy != nil && *p.SupplementalGroupsPolicy == v1.SupplementalGroupsPolicyStrict
}

// hasPrivilegedContainer reports whether an init or regular container of the pod is privileged. Runtimes create
// such a container only in a privileged sandbox.
func hasPrivilegedContainer(spec *v1.PodSpec) bool {
	for _, containers := range [...][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			if own := containers[i].SecurityContext; own != nil && isTrue(own.Privileged) {
				return true
			}
		}
	}
	return false
}

// ContainerSecurity returns the security settings of a container: its own, or else the pod's. The error
// says why the container must not run, for example as root or with an invalid profile.
func (n *Node) ContainerSecurity(pod *v1.Pod, c *v1.Container, image Image) (runtime.Security, error) {
	out := usersGroupsAndSELinuxOfPod(pod.Spec.SecurityContext)
	if own := c.SecurityContext; own != nil {
		overrideWithContainerSecurity(&out, own)
	}
	out.Seccomp, out.AppArmor = seccompProfile(podspec.Seccomp(pod, c)), appArmorProfile(podspec.AppArmor(pod, c))
	if !out.Privileged { // Runtimes hide and protect only the requested paths.
		out.MaskedPaths, out.ReadOnlyPaths = slices.Clone(maskedPaths), slices.Clone(readOnlyPaths)
	}
	if err := checkRunAsNonRoot(pod, c, &out, image); err != nil {
		return out, err
	}
	if out.Group != nil && out.User == nil {
		out.User, out.Username = imageUser(image)
	}
	if out.AppArmor.Type == string(v1.AppArmorProfileTypeLocalhost) && strings.TrimSpace(out.AppArmor.Path) == "" {
		return out, errors.New("the AppArmor profile has type Localhost and no name, so the container must not run")
	}
	return out, n.resolveSeccompPath(&out.Seccomp)
}

// Files of the kernel that show or change the host. Root in a container could use them. This is the
// kubelet's list for procMount Default, without the thermal counters of each processor.
var (
	maskedPaths = []string{
		"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
		"/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap",
	}
	readOnlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// NeedsImageUser reports whether the security settings of a container depend on the user of its image.
// This is so if it must not run as root, or if it has a group and no user, because runtimes accept a
// group only with a user.
func NeedsImageUser(pod *v1.Pod, c *v1.Container) bool {
	out := usersGroupsAndSELinuxOfPod(pod.Spec.SecurityContext)
	if c.SecurityContext != nil {
		overrideWithContainerSecurity(&out, c.SecurityContext)
	}
	return mustRunAsNonRoot(pod, c) || out.Group != nil && out.User == nil
}

// imageUser returns the user of an image. A numeric user is returned in id. Any other user is returned as a
// name with a nil id. It leaves out a group after ":". An image without a user runs as 0.
func imageUser(image Image) (id *int64, name string) {
	name, _, _ = strings.Cut(image.User, ":")
	if name == "" {
		return new(int64), ""
	}
	if n, err := strconv.ParseInt(name, 10, 64); err == nil {
		return &n, ""
	}
	return nil, name
}

// overrideWithContainerSecurity changes security, which has the settings of the pod, to the settings of a container.
// User, group, SELinux options and capabilities change only if the container sets them. Privileged,
// ReadOnlyRoot and NoNewPrivileges are always set.
func overrideWithContainerSecurity(security *runtime.Security, own *v1.SecurityContext) {
	if own.RunAsUser != nil {
		security.User = own.RunAsUser
	}
	if own.RunAsGroup != nil {
		security.Group = own.RunAsGroup
	}
	if own.SELinuxOptions != nil {
		security.SELinux = seLinuxOptions(own.SELinuxOptions)
	}
	security.Privileged = isTrue(own.Privileged)
	security.ReadOnlyRoot = isTrue(own.ReadOnlyRootFilesystem)
	// Only an explicit false denies privilege escalation.
	security.NoNewPrivileges = own.AllowPrivilegeEscalation != nil && !*own.AllowPrivilegeEscalation
	if own.Capabilities != nil {
		security.AddCapabilities = capabilityNames(own.Capabilities.Add)
		security.DropCapabilities = capabilityNames(own.Capabilities.Drop)
	}
}

// isTrue reports whether b is not nil and true.
func isTrue(b *bool) bool { return b != nil && *b }

// capabilityNames returns the names of capabilities as strings.
func capabilityNames(capabilities []v1.Capability) []string {
	var out []string
	for _, c := range capabilities {
		out = append(out, string(c))
	}
	return out
}

// mustRunAsNonRoot reports whether runAsNonRoot is true for a container. The pod's value applies if the
// container has none.
func mustRunAsNonRoot(pod *v1.Pod, c *v1.Container) bool {
	if own := c.SecurityContext; own != nil && own.RunAsNonRoot != nil {
		return *own.RunAsNonRoot
	}
	return pod.Spec.SecurityContext != nil && isTrue(pod.Spec.SecurityContext.RunAsNonRoot)
}

// checkRunAsNonRoot returns an error if runAsNonRoot is true and the container would run as root. A user name
// from the image that is not numeric is an error too, because it may be root.
func checkRunAsNonRoot(pod *v1.Pod, c *v1.Container, security *runtime.Security, image Image) error {
	if !mustRunAsNonRoot(pod, c) {
		return nil
	}
	if security.User != nil {
		if *security.User == 0 {
			return errors.New("the user of the container is root and runAsNonRoot is set")
		}
		return nil
	}
	user, _, _ := strings.Cut(image.User, ":")
	id, err := strconv.ParseInt(user, 10, 64)
	switch {
	case user == "" || (err == nil && id == 0):
		return errors.New("the image runs as root and runAsNonRoot is set")
	case err != nil:
		return fmt.Errorf("the image runs as %q and runAsNonRoot is set: only a numeric user can be checked", user)
	}
	return nil
}

// seccompProfile converts a seccomp profile to a runtime Profile. Nil gives the zero Profile.
func seccompProfile(p *v1.SeccompProfile) runtime.Profile {
	if p == nil {
		return runtime.Profile{}
	}
	return newProfile(string(p.Type), p.LocalhostProfile)
}

// resolveSeccompPath changes the path of a Localhost seccomp profile, in place, to an absolute path in
// SeccompRoot. It returns an error if the path is empty, is absolute or has an element "..". Profiles of other
// types do not change.
func (n *Node) resolveSeccompPath(p *runtime.Profile) error {
	if p.Type != string(v1.SeccompProfileTypeLocalhost) {
		return nil
	}
	if p.Path == "" || path.IsAbs(p.Path) || slices.Contains(strings.Split(p.Path, "/"), "..") {
		return fmt.Errorf("the seccomp profile %q is no path below the directory of profiles", p.Path)
	}
	p.Path = path.Join(n.SeccompRoot, p.Path)
	return nil
}

// appArmorProfile converts an AppArmor profile to a runtime Profile. Nil gives the zero Profile.
func appArmorProfile(p *v1.AppArmorProfile) runtime.Profile {
	if p == nil {
		return runtime.Profile{}
	}
	return newProfile(string(p.Type), p.LocalhostProfile)
}

// newProfile returns a runtime Profile with the type kind and, if path is not nil, the path.
func newProfile(kind string, path *string) runtime.Profile {
	out := runtime.Profile{Type: kind}
	if path != nil {
		out.Path = *path
	}
	return out
}

// seLinuxOptions converts SELinux options to the runtime's form. Nil gives nil.
func seLinuxOptions(o *v1.SELinuxOptions) *runtime.SELinux {
	if o == nil {
		return nil
	}
	return &runtime.SELinux{User: o.User, Role: o.Role, Type: o.Type, Level: o.Level}
}
