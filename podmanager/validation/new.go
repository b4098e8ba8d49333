package validation

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/podspec"
)

// addNewFaults adds the errors for which only a new pod is refused: an API server rejects such a pod,
// and a node could run it. A pod that an earlier version of this package has accepted goes on: see
// ValidateAccepted.
func (f *findings) addNewFaults(pod *v1.Pod) {
	known := make(map[string]bool, len(f.errs))
	for _, err := range f.errs {
		known[err.Field] = true
	}
	before := len(f.errs)
	f.checkNewPod(pod)
	added := slices.DeleteFunc(f.errs[before:], func(err *field.Error) bool { return known[err.Field] }) // One is enough.
	f.errs = f.errs[:before+len(added)]
}

func (f *findings) checkNewPod(pod *v1.Pod) {
	f.annotations(pod, field.NewPath("metadata", "annotations"))
	spec, at := &pod.Spec, field.NewPath("spec")
	f.newPod(spec, at)
	f.placement(spec, at)
	f.newVolumes(spec, at)
	for i := range spec.InitContainers {
		c, at := &spec.InitContainers[i], at.Child("initContainers").Index(i)
		f.newContainer(spec, c, at)
		f.newInitContainer(c, at)
	}
	for i := range spec.Containers {
		f.newContainer(spec, &spec.Containers[i], at.Child("containers").Index(i))
	}
	for i := range spec.EphemeralContainers {
		c, at := v1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon), at.Child("ephemeralContainers").Index(i)
		f.newContainer(spec, &c, at)
		f.newEphemeralContainer(&c, at)
	}
	f.podResources(spec, at.Child("resources"))
}

// annotations checks the annotations that confine a pod. If both an annotation and a field have a
// profile, the profiles must be the same.
func (f *findings) annotations(pod *v1.Pod, at *field.Path) {
	for _, key := range sortedKeys(pod.Annotations) {
		value, at := pod.Annotations[key], at.Key(key)
		if name, ok := strings.CutPrefix(key, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix); ok {
			f.appArmorAnnotation(pod, name, value, at)
		}
		if name, ok := strings.CutPrefix(key, v1.SeccompContainerAnnotationKeyPrefix); ok {
			c := podspec.FindContainer(podspec.AllAndEphemeralContainers(pod), name)
			f.seccompAnnotation(value, containerSeccomp(c), at)
		}
		if key == v1.SeccompPodAnnotationKey {
			f.seccompAnnotation(value, podSeccomp(pod), at)
		}
	}
}

func (f *findings) appArmorAnnotation(pod *v1.Pod, name, value string, at *field.Path) {
	c := podspec.FindContainer(podspec.AllAndEphemeralContainers(pod), name)
	if c == nil {
		f.ifRead(field.NewPath("spec")).notFound(at, name, "the pod has no container of this name")
	}
	profile := podspec.ParseAppArmor(value)
	if profile == nil {
		if value != "" {
			f.invalid(at, value, "expected runtime/default, unconfined, or localhost/ and the name of a profile")
		}
		return
	}
	if profile.LocalhostProfile != nil && strings.TrimSpace(*profile.LocalhostProfile) == "" {
		f.invalid(at, value, "expected the name of a profile after localhost/")
	}
	if c == nil {
		return
	}
	given := podspec.PodAppArmor(pod)
	if own := c.SecurityContext; own != nil && own.AppArmorProfile != nil {
		given = own.AppArmorProfile
	}
	if given != nil && !(given.Type == profile.Type && podspec.EqualText(given.LocalhostProfile, profile.LocalhostProfile)) {
		f.ifRead(field.NewPath("spec")).forbidden(at, "expected the same profile as the field appArmorProfile of the container, or of the pod")
	}
}

func (f *findings) seccompAnnotation(value string, given *v1.SeccompProfile, at *field.Path) {
	profile := podspec.ParseSeccomp(value)
	if profile == nil {
		f.invalid(at, value, "expected runtime/default, unconfined, or localhost/ and the path of a profile")
		return
	}
	if profile.LocalhostProfile != nil {
		f.subPath(at, *profile.LocalhostProfile)
	}
	if given != nil && !(given.Type == profile.Type && podspec.EqualText(given.LocalhostProfile, profile.LocalhostProfile)) {
		f.ifRead(field.NewPath("spec")).forbidden(at, "expected the same profile as the field seccompProfile")
	}
}

func containerSeccomp(c *v1.Container) *v1.SeccompProfile {
	if c == nil || c.SecurityContext == nil {
		return nil
	}
	return c.SecurityContext.SeccompProfile
}

func podSeccomp(pod *v1.Pod) *v1.SeccompProfile {
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	return pod.Spec.SecurityContext.SeccompProfile
}

// newPod checks the fields of the pod as a whole.
func (f *findings) newPod(spec *v1.PodSpec, at *field.Path) {
	if spec.HostPID && spec.ShareProcessNamespace != nil && *spec.ShareProcessNamespace {
		f.ifRead(at.Child("hostPID")).invalid(at.Child("shareProcessNamespace"), true, "expected false with hostPID")
	}
	f.hostNameOverride(spec, at)
	f.dnsConfig(spec.DNSConfig, at.Child("dnsConfig"))
	for i, gate := range spec.ReadinessGates {
		f.keeps(at.Child("readinessGates").Index(i).Child("conditionType"), string(gate.ConditionType), qualifiedName)
	}
	if class := spec.RuntimeClassName; class != nil {
		f.keeps(at.Child("runtimeClassName"), *class, dnsSubdomain)
	}
	if spec.OS != nil {
		oneOf(f, at.Child("os", "name"), spec.OS.Name, v1.Linux, v1.Windows)
	}
	if spec.HostUsers != nil && !*spec.HostUsers {
		for _, shared := range []struct {
			name string
			is   bool
		}{{"hostPID", spec.HostPID}, {"hostIPC", spec.HostIPC}, {"hostNetwork", spec.HostNetwork}} {
			if shared.is {
				f.forbidden(at.Child(shared.name), "expected false with hostUsers false")
			}
		}
	}
	for _, name := range sortedKeys(spec.Overhead) {
		quantity, at := spec.Overhead[name], at.Child("overhead").Key(string(name))
		f.resourceName(name, at)
		if quantity.Sign() < 0 {
			f.invalid(at, &quantity, "expected zero or more")
		} else if whole := quantity.DeepCopy(); !native(name) && !whole.RoundUp(0) {
			f.invalid(at, &quantity, "expected a whole number")
		}
	}
	f.newResources(&v1.ResourceRequirements{Limits: spec.Overhead}, at.Child("overhead"), at.Child("overhead"), false)
	f.newPodSecurity(spec, at.Child("securityContext"))
}

func (f *findings) hostNameOverride(spec *v1.PodSpec, at *field.Path) {
	if spec.HostnameOverride == nil {
		return
	}
	name := at.Child("hostnameOverride")
	if spec.SetHostnameAsFQDN != nil && *spec.SetHostnameAsFQDN {
		f.ifRead(at.Child("setHostnameAsFQDN")).forbidden(name, "expected none with setHostnameAsFQDN")
	}
	if spec.HostNetwork {
		f.ifRead(at.Child("hostNetwork")).forbidden(name, "expected none with hostNetwork")
	}
	if len(*spec.HostnameOverride) > 64 {
		f.whole(field.ErrorTypeTooLong, name, "%d characters: expected at most 64", len(*spec.HostnameOverride))
	}
	f.keeps(name, *spec.HostnameOverride, dnsSubdomain)
}

// What the resolver of a C library takes.
const (
	mostNameservers = 3
	mostSearches    = 32
	longestSearches = 2048
)

func (f *findings) dnsConfig(c *v1.PodDNSConfig, at *field.Path) {
	if c == nil {
		return
	}
	if len(c.Nameservers) > mostNameservers {
		f.whole(field.ErrorTypeTooMany, at.Child("nameservers"), "%d servers: expected at most %d", len(c.Nameservers), mostNameservers)
	}
	if len(c.Searches) > mostSearches {
		f.whole(field.ErrorTypeTooMany, at.Child("searches"), "%d domains: expected at most %d", len(c.Searches), mostSearches)
	}
	if size := len(strings.Join(c.Searches, " ")); size > longestSearches {
		f.whole(field.ErrorTypeTooLong, at.Child("searches"), "%d characters in all: expected at most %d", size, longestSearches)
	}
	for i, search := range c.Searches {
		if search != "." {
			f.keeps(at.Child("searches").Index(i), strings.TrimSuffix(search, "."), searchDomain)
		}
	}
	for i, option := range c.Options {
		if option.Name == "" {
			f.required(at.Child("options").Index(i).Child("name"), "expected a name")
		}
	}
}

var searchDomain = rule{validation.IsDNS1123SubdomainWithUnderscore,
	"at most 253 lower case letters, digits, '-', '_' and '.', with a letter or digit at both ends of each part"}

func (f *findings) newPodSecurity(spec *v1.PodSpec, at *field.Path) {
	s := spec.SecurityContext
	if s == nil {
		return
	}
	allowed(f, at.Child("fsGroupChangePolicy"), s.FSGroupChangePolicy, v1.FSGroupChangeOnRootMismatch, v1.FSGroupChangeAlways)
	allowed(f, at.Child("supplementalGroupsPolicy"), s.SupplementalGroupsPolicy, v1.SupplementalGroupsPolicyMerge, v1.SupplementalGroupsPolicyStrict)
	allowed(f, at.Child("seLinuxChangePolicy"), s.SELinuxChangePolicy, v1.SELinuxChangePolicyRecursive, v1.SELinuxChangePolicyMountOption)
	f.newProfiles(s.AppArmorProfile, at)
	for i, sysctl := range s.Sysctls {
		at := at.Child("sysctls").Index(i).Child("name")
		if sysctl.Name != "" {
			f.keeps(at, sysctl.Name, sysctlName)
		}
		switch namespace := sysctlNamespace(sysctl.Name); {
		case namespace == "net" && spec.HostNetwork:
			f.ifRead(field.NewPath("spec", "hostNetwork")).invalid(at, sysctl.Name, "it is one of the host with hostNetwork: expected none of the network")
		case namespace == "ipc" && spec.HostIPC:
			f.ifRead(field.NewPath("spec", "hostIPC")).invalid(at, sysctl.Name, "it is one of the host with hostIPC: expected none of IPC")
		}
	}
}

// allowed adds an error if there is a value and it is none of values.
func allowed[T ~string](f *findings, at *field.Path, got *T, values ...T) {
	if got != nil {
		oneOf(f, at, *got, values...)
	}
}

var sysctlName = rule{func(name string) []string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '/' })
	if len(name) > 253 || len(parts) != 1+strings.Count(name, ".")+strings.Count(name, "/") || slices.ContainsFunc(parts, badSysctlPart) {
		return []string{"bad"}
	}
	return nil
}, "at most 253 lower case letters, digits, '-', '_', '.' and '/', with a letter or digit at both ends of each part"}

func badSysctlPart(part string) bool {
	plain := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	for i := range len(part) {
		if !plain(part[i]) && part[i] != '-' && part[i] != '_' {
			return true
		}
	}
	return !plain(part[0]) || !plain(part[len(part)-1])
}

// sysctlNamespace returns the namespace of the pod that a sysctl belongs to: net, ipc, or none. The
// first '.' or '/' of a name is the separator; the other character is then a part of names.
func sysctlNamespace(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '/' {
		name = strings.NewReplacer("/", ".", ".", "/").Replace(name)
	}
	switch {
	case strings.HasPrefix(name, "net."):
		return "net"
	case name == "kernel.sem", strings.HasPrefix(name, "kernel.shm"), strings.HasPrefix(name, "kernel.msg"), strings.HasPrefix(name, "fs.mqueue."):
		return "ipc"
	}
	return ""
}

// longestProfile bounds the name of an AppArmor profile: it is a path.
const longestProfile = 4095

func (f *findings) newProfiles(a *v1.AppArmorProfile, at *field.Path) {
	if a == nil || a.LocalhostProfile == nil {
		return
	}
	at = at.Child("appArmorProfile", "localhostProfile")
	if name := *a.LocalhostProfile; strings.TrimSpace(name) != name {
		f.invalid(at, name, "expected a name without spaces around it")
	} else if len(name) > longestProfile {
		f.whole(field.ErrorTypeTooLong, at, "%d characters: expected at most %d", len(name), longestProfile)
	}
}
