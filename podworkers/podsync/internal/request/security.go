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

// sandboxSecurity is what holds for the sandbox of a pod. A group without a user
// is no matter of it: its image is the runtime's own.
func sandboxSecurity(pod *v1.Pod) runtime.Security {
	out := podSecurity(pod.Spec.SecurityContext)
	if out.User == nil {
		out.Group = nil
	}
	out.Seccomp, out.AppArmor = seccomp(podspec.Seccomp(pod, nil)), appArmor(podspec.PodAppArmor(pod))
	out.Privileged = hasPrivileged(&pod.Spec)
	return out
}

// podSecurity is what holds for the containers of a pod that say nothing else. Profiles are not
// part of it, see podspec.
func podSecurity(p *v1.PodSecurityContext) runtime.Security {
	var out runtime.Security
	if p == nil {
		return out
	}
	out.User, out.Group = p.RunAsUser, p.RunAsGroup
	out.SupplementalGroups = slices.Clone(p.SupplementalGroups)
	out.StrictGroups = isStrict(p)
	if p.FSGroup != nil {
		out.SupplementalGroups = append(out.SupplementalGroups, *p.FSGroup) // To whom its volumes belong.
	}
	out.SELinux = seLinux(p.SELinuxOptions)
	return out
}

// isStrict reports whether processes have only the groups that the pod names.
func isStrict(p *v1.PodSecurityContext) bool {
	return p.SupplementalGroupsPolicy != nil && *p.SupplementalGroupsPolicy == v1.SupplementalGroupsPolicyStrict
}

// hasPrivileged reports whether a container of the pod is privileged: runtimes
// make none in a sandbox that is not.
func hasPrivileged(spec *v1.PodSpec) bool {
	for _, containers := range [...][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			if own := containers[i].SecurityContext; own != nil && isSet(own.Privileged) {
				return true
			}
		}
	}
	return false
}

// Security is what holds for a container: its own word, else its pod's. Its error says
// why the container must not run: as root, or with a profile that is none.
func (n *Node) Security(pod *v1.Pod, c *v1.Container, image Image) (runtime.Security, error) {
	out := podSecurity(pod.Spec.SecurityContext)
	if own := c.SecurityContext; own != nil {
		override(&out, own)
	}
	out.Seccomp, out.AppArmor = seccomp(podspec.Seccomp(pod, c)), appArmor(podspec.AppArmor(pod, c))
	if !out.Privileged { // Runtimes hide and protect what they are told, and nothing else.
		out.MaskedPaths, out.ReadOnlyPaths = slices.Clone(maskedPaths), slices.Clone(readOnlyPaths)
	}
	if err := checkRoot(pod, c, &out, image); err != nil {
		return out, err
	}
	if out.Group != nil && out.User == nil {
		out.User, out.Username = userOf(image)
	}
	if out.AppArmor.Type == string(v1.AppArmorProfileTypeLocalhost) && strings.TrimSpace(out.AppArmor.Path) == "" {
		return out, errors.New("the AppArmor profile has type Localhost and no name, so the container must not run")
	}
	return out, n.locate(&out.Seccomp)
}

// What a container sees of the kernel that would tell of the host or let it be
// changed: root in a container is root to these files. It is the kubelet's list
// for procMount Default, but for the thermal counters of each processor.
var (
	maskedPaths = []string{
		"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
		"/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap",
	}
	readOnlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// WantsUser reports whether a container needs to know the user of its image: it
// must not be root, or has a group and no user of its own, and runtimes take a
// group only with a user.
func WantsUser(pod *v1.Pod, c *v1.Container) bool {
	out := podSecurity(pod.Spec.SecurityContext)
	if c.SecurityContext != nil {
		override(&out, c.SecurityContext)
	}
	return mustNotBeRoot(pod, c) || out.Group != nil && out.User == nil
}

// userOf is as whom an image runs: by number or by name. One that does not say
// runs as root.
func userOf(image Image) (id *int64, name string) {
	name, _, _ = strings.Cut(image.User, ":")
	if name == "" {
		return new(int64), ""
	}
	if n, err := strconv.ParseInt(name, 10, 64); err == nil {
		return &n, ""
	}
	return nil, name
}

// override puts a container's words over its pod's.
func override(out *runtime.Security, own *v1.SecurityContext) {
	if own.RunAsUser != nil {
		out.User = own.RunAsUser
	}
	if own.RunAsGroup != nil {
		out.Group = own.RunAsGroup
	}
	if own.SELinuxOptions != nil {
		out.SELinux = seLinux(own.SELinuxOptions)
	}
	out.Privileged = isSet(own.Privileged)
	out.ReadOnlyRoot = isSet(own.ReadOnlyRootFilesystem)
	// Only an explicit no is one, and a privileged container has the power anyway.
	out.NoNewPrivileges = own.AllowPrivilegeEscalation != nil && !*own.AllowPrivilegeEscalation
	if own.Capabilities != nil {
		out.AddCapabilities = names(own.Capabilities.Add)
		out.DropCapabilities = names(own.Capabilities.Drop)
	}
}

func isSet(b *bool) bool { return b != nil && *b }

func names(capabilities []v1.Capability) []string {
	var out []string
	for _, c := range capabilities {
		out = append(out, string(c))
	}
	return out
}

// mustNotBeRoot reports whether the spec forbids a container to run as root.
func mustNotBeRoot(pod *v1.Pod, c *v1.Container) bool {
	if own := c.SecurityContext; own != nil && own.RunAsNonRoot != nil {
		return *own.RunAsNonRoot
	}
	return pod.Spec.SecurityContext != nil && isSet(pod.Spec.SecurityContext.RunAsNonRoot)
}

// checkRoot fails if the container would run as root and must not, or if
// nobody can tell.
func checkRoot(pod *v1.Pod, c *v1.Container, out *runtime.Security, image Image) error {
	if !mustNotBeRoot(pod, c) {
		return nil
	}
	if out.User != nil {
		if *out.User == 0 {
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
		return fmt.Errorf("the image runs as %q and runAsNonRoot is set: only a number tells that it is not root", user)
	}
	return nil
}

func seccomp(p *v1.SeccompProfile) runtime.Profile {
	if p == nil {
		return runtime.Profile{}
	}
	return profile(string(p.Type), p.LocalhostProfile)
}

// locate makes the path of a seccomp profile, which is below a directory of the
// node, one of the node.
func (n *Node) locate(p *runtime.Profile) error {
	if p.Type != string(v1.SeccompProfileTypeLocalhost) {
		return nil
	}
	if p.Path == "" || path.IsAbs(p.Path) || slices.Contains(strings.Split(p.Path, "/"), "..") {
		return fmt.Errorf("the seccomp profile %q is no path below the directory of profiles", p.Path)
	}
	p.Path = path.Join(n.SeccompRoot, p.Path)
	return nil
}

func appArmor(p *v1.AppArmorProfile) runtime.Profile {
	if p == nil {
		return runtime.Profile{}
	}
	return profile(string(p.Type), p.LocalhostProfile)
}

func profile(kind string, path *string) runtime.Profile {
	out := runtime.Profile{Type: kind}
	if path != nil {
		out.Path = *path
	}
	return out
}

func seLinux(o *v1.SELinuxOptions) *runtime.SELinux {
	if o == nil {
		return nil
	}
	return &runtime.SELinux{User: o.User, Role: o.Role, Type: o.Type, Level: o.Level}
}
