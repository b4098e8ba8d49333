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

// sandboxSecurity returns the security settings of a sandbox. A group without a user is left out, because
// runtimes reject it. The sandbox is privileged if one of the containers is.
func sandboxSecurity(pod *v1.Pod) runtime.Security {
	out := podLevelSecurity(pod.Spec.SecurityContext)
	if out.User == nil {
		out.Group = nil
	}
	out.Seccomp, out.AppArmor = seccompProfile(podspec.Seccomp(pod, nil)), appArmorProfile(podspec.PodAppArmor(pod))
	out.Privileged = hasPrivilegedContainer(&pod.Spec)
	return out
}

// podLevelSecurity returns the settings of the pod's security context, without seccomp and AppArmor profiles.
// The fsGroup is one of the supplemental groups.
func podLevelSecurity(p *v1.PodSecurityContext) runtime.Security {
	var out runtime.Security
	if p == nil {
		return out
	}
	out.User, out.Group = p.RunAsUser, p.RunAsGroup
	out.SupplementalGroups = slices.Clone(p.SupplementalGroups)
	out.StrictGroups = hasStrictGroups(p)
	if p.FSGroup != nil {
		out.SupplementalGroups = append(out.SupplementalGroups, *p.FSGroup) // The group of the volumes.
	}
	out.SELinux = seLinuxOptions(p.SELinuxOptions)
	return out
}

// hasStrictGroups reports whether supplementalGroupsPolicy is Strict. Processes then have only the groups that
// the pod names, without the groups of the image.
func hasStrictGroups(p *v1.PodSecurityContext) bool {
	return p.SupplementalGroupsPolicy != nil && *p.SupplementalGroupsPolicy == v1.SupplementalGroupsPolicyStrict
}

// hasPrivilegedContainer reports whether a container of the pod is privileged. Runtimes create
// privileged containers only in a privileged sandbox.
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
	out := podLevelSecurity(pod.Spec.SecurityContext)
	if own := c.SecurityContext; own != nil {
		applyContainerSecurity(&out, own)
	}
	out.Seccomp, out.AppArmor = seccompProfile(podspec.Seccomp(pod, c)), appArmorProfile(podspec.AppArmor(pod, c))
	if !out.Privileged { // Runtimes hide and protect only the requested paths.
		out.MaskedPaths, out.ReadOnlyPaths = slices.Clone(maskedPaths), slices.Clone(readOnlyPaths)
	}
	if err := checkNotRoot(pod, c, &out, image); err != nil {
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
	out := podLevelSecurity(pod.Spec.SecurityContext)
	if c.SecurityContext != nil {
		applyContainerSecurity(&out, c.SecurityContext)
	}
	return mustRunAsNonRoot(pod, c) || out.Group != nil && out.User == nil
}

// imageUser returns the user of an image as a number or, if it is not a number, as a name. An image without a
// user runs as root, 0.
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

// applyContainerSecurity replaces the security settings of the pod by the settings of a container: user, group
// and SELinux options if the container sets them, and always privileges and capabilities.
func applyContainerSecurity(security *runtime.Security, own *v1.SecurityContext) {
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

// isTrue reports whether b is set and true.
func isTrue(b *bool) bool { return b != nil && *b }

// capabilityNames converts capabilities to strings.
func capabilityNames(capabilities []v1.Capability) []string {
	var out []string
	for _, c := range capabilities {
		out = append(out, string(c))
	}
	return out
}

// mustRunAsNonRoot reports whether runAsNonRoot is true for a container. The container's setting overrides the
// pod's setting.
func mustRunAsNonRoot(pod *v1.Pod, c *v1.Container) bool {
	if own := c.SecurityContext; own != nil && own.RunAsNonRoot != nil {
		return *own.RunAsNonRoot
	}
	return pod.Spec.SecurityContext != nil && isTrue(pod.Spec.SecurityContext.RunAsNonRoot)
}

// checkNotRoot returns an error if runAsNonRoot is true and the container runs as root, or as an image user
// that is not a number.
func checkNotRoot(pod *v1.Pod, c *v1.Container, security *runtime.Security, image Image) error {
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

// seccompProfile converts a seccomp profile for the runtime. It converts nil to the zero Profile.
func seccompProfile(p *v1.SeccompProfile) runtime.Profile {
	if p == nil {
		return runtime.Profile{}
	}
	return newProfile(string(p.Type), p.LocalhostProfile)
}

// resolveSeccompPath makes the path of a Localhost seccomp profile absolute, below SeccompRoot. It returns an
// error if the path is empty, absolute or contains "..". It does not change a profile of another type.
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

// appArmorProfile converts an AppArmor profile for the runtime. It converts nil to the zero Profile.
func appArmorProfile(p *v1.AppArmorProfile) runtime.Profile {
	if p == nil {
		return runtime.Profile{}
	}
	return newProfile(string(p.Type), p.LocalhostProfile)
}

// newProfile returns a Profile with a type, and with a path unless path is nil.
func newProfile(kind string, path *string) runtime.Profile {
	out := runtime.Profile{Type: kind}
	if path != nil {
		out.Path = *path
	}
	return out
}

// seLinuxOptions converts SELinux options for the runtime. It returns nil for nil.
func seLinuxOptions(o *v1.SELinuxOptions) *runtime.SELinux {
	if o == nil {
		return nil
	}
	return &runtime.SELinux{User: o.User, Role: o.Role, Type: o.Type, Level: o.Level}
}
