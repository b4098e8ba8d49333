package validation

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/podspec"
)

// addFaultsOfNewPod adds the errors for which an API server rejects a new pod although a node could run it. It
// adds none for a field that has an error already. A pod that an earlier process has accepted keeps running in
// spite of them: see ValidateAccepted.
func (f *findings) addFaultsOfNewPod(pod *v1.Pod) {
	known := make(map[string]bool, len(f.errs))
	for _, err := range f.errs {
		known[err.Field] = true
	}
	before := len(f.errs)
	f.checkNewPod(pod)
	added := slices.DeleteFunc(f.errs[before:], func(err *field.Error) bool { return known[err.Field] }) // A field with an error needs no second one.
	f.errs = f.errs[:before+len(added)]
}

// checkNewPod runs the checks that only new pods must pass (pods that no earlier process has accepted). It
// covers annotations, spec, placement, volumes, containers of all kinds and pod resources.
func (f *findings) checkNewPod(pod *v1.Pod) {
	f.checkAnnotations(pod, field.NewPath("metadata", "annotations"))
	spec, at := &pod.Spec, field.NewPath("spec")
	f.checkPodLevelFieldsOfNewPod(spec, at)
	f.checkPlacement(spec, at)
	f.checkVolumesOfNewPod(spec, at)
	for i := range spec.InitContainers {
		c, at := &spec.InitContainers[i], at.Child("initContainers").Index(i)
		f.checkContainerOfNewPod(spec, c, at)
		f.checkInitContainerOfNewPod(c, at)
	}
	for i := range spec.Containers {
		f.checkContainerOfNewPod(spec, &spec.Containers[i], at.Child("containers").Index(i))
	}
	for i := range spec.EphemeralContainers {
		c, at := v1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon), at.Child("ephemeralContainers").Index(i)
		f.checkContainerOfNewPod(spec, &c, at)
		f.checkEphemeralContainerOfNewPod(&c, at)
	}
	f.checkPodResources(spec, at.Child("resources"))
}

// checkAnnotations checks the AppArmor and seccomp annotations. If an annotation and a field both set a
// profile, the profiles must be equal.
func (f *findings) checkAnnotations(pod *v1.Pod, at *field.Path) {
	for _, key := range sortedKeys(pod.Annotations) {
		value, at := pod.Annotations[key], at.Key(key)
		if name, ok := strings.CutPrefix(key, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix); ok {
			f.checkAppArmorAnnotation(pod, name, value, at)
		}
		if name, ok := strings.CutPrefix(key, v1.SeccompContainerAnnotationKeyPrefix); ok {
			c := podspec.FindContainer(podspec.AllAndEphemeralContainers(pod), name)
			f.checkSeccompAnnotation(value, containerSeccompProfile(c), at)
		}
		if key == v1.SeccompPodAnnotationKey {
			f.checkSeccompAnnotation(value, podSeccompProfile(pod), at)
		}
	}
}

// checkAppArmorAnnotation checks the AppArmor annotation with this value for the container with this name. The
// container must exist, the value must be a profile or empty, and it must equal the profile of the container's
// or pod's security context, if one is set.
func (f *findings) checkAppArmorAnnotation(pod *v1.Pod, name, value string, at *field.Path) {
	c := podspec.FindContainer(podspec.AllAndEphemeralContainers(pod), name)
	if c == nil {
		f.onlyIfRead(field.NewPath("spec")).addNotFound(at, name, "the pod has no container of this name")
	}
	profile := podspec.ParseAppArmor(value)
	if profile == nil {
		if value != "" {
			f.addInvalid(at, value, "expected runtime/default, unconfined, or localhost/ and the name of a profile")
		}
		return
	}
	if profile.LocalhostProfile != nil && strings.TrimSpace(*profile.LocalhostProfile) == "" {
		f.addInvalid(at, value, "expected the name of a profile after localhost/")
	}
	if c == nil {
		return
	}
	given := podspec.PodAppArmor(pod)
	if own := c.SecurityContext; own != nil && own.AppArmorProfile != nil {
		given = own.AppArmorProfile
	}
	if given != nil && !(given.Type == profile.Type && podspec.EqualText(given.LocalhostProfile, profile.LocalhostProfile)) {
		f.onlyIfRead(field.NewPath("spec")).addForbidden(at, "expected the same profile as the field appArmorProfile of the container, or of the pod")
	}
}

// checkSeccompAnnotation adds an error if the value of a seccomp annotation is no valid profile or differs from
// given, the profile in the security context. If given is nil, any valid profile is allowed.
func (f *findings) checkSeccompAnnotation(value string, given *v1.SeccompProfile, at *field.Path) {
	profile := podspec.ParseSeccomp(value)
	if profile == nil {
		f.addInvalid(at, value, "expected runtime/default, unconfined, or localhost/ and the path of a profile")
		return
	}
	if profile.LocalhostProfile != nil {
		f.checkSubPath(at, *profile.LocalhostProfile)
	}
	if given != nil && !(given.Type == profile.Type && podspec.EqualText(given.LocalhostProfile, profile.LocalhostProfile)) {
		f.onlyIfRead(field.NewPath("spec")).addForbidden(at, "expected the same profile as the field seccompProfile")
	}
}

func containerSeccompProfile(c *v1.Container) *v1.SeccompProfile {
	if c == nil || c.SecurityContext == nil {
		return nil
	}
	return c.SecurityContext.SeccompProfile
}

func podSeccompProfile(pod *v1.Pod) *v1.SeccompProfile {
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	return pod.Spec.SecurityContext.SeccompProfile
}

// checkPodLevelFieldsOfNewPod checks, in a new pod (one that no earlier process has accepted), spec fields
// outside containers, volumes and placement: host name, DNS, readiness gates, runtime class, OS, host
// namespaces, overhead and the pod's security context.
func (f *findings) checkPodLevelFieldsOfNewPod(spec *v1.PodSpec, at *field.Path) {
	if spec.HostPID && spec.ShareProcessNamespace != nil && *spec.ShareProcessNamespace {
		f.onlyIfRead(at.Child("hostPID")).addInvalid(at.Child("shareProcessNamespace"), true, "expected false with hostPID")
	}
	f.checkHostnameOverride(spec, at)
	f.checkDNSConfig(spec.DNSConfig, at.Child("dnsConfig"))
	for i, gate := range spec.ReadinessGates {
		f.checkFormat(at.Child("readinessGates").Index(i).Child("conditionType"), string(gate.ConditionType), qualifiedNameFormat)
	}
	if class := spec.RuntimeClassName; class != nil {
		f.checkFormat(at.Child("runtimeClassName"), *class, dnsSubdomainFormat)
	}
	if spec.OS != nil {
		checkOneOf(f, at.Child("os", "name"), spec.OS.Name, v1.Linux, v1.Windows)
	}
	if spec.HostUsers != nil && !*spec.HostUsers {
		for _, shared := range []struct {
			name string
			is   bool
		}{{"hostPID", spec.HostPID}, {"hostIPC", spec.HostIPC}, {"hostNetwork", spec.HostNetwork}} {
			if shared.is {
				f.addForbidden(at.Child(shared.name), "expected false with hostUsers false")
			}
		}
	}
	for _, name := range sortedKeys(spec.Overhead) {
		quantity, at := spec.Overhead[name], at.Child("overhead").Key(string(name))
		f.checkResourceName(name, at)
		if quantity.Sign() < 0 {
			f.addInvalid(at, &quantity, "expected zero or more")
		} else if whole := quantity.DeepCopy(); !isNativeResource(name) && !whole.RoundUp(0) {
			f.addInvalid(at, &quantity, "expected a whole number")
		}
	}
	f.checkResourcesOfNewPod(&v1.ResourceRequirements{Limits: spec.Overhead}, at.Child("overhead"), at.Child("overhead"), false)
	f.checkPodSecurityOfNewPod(spec, at.Child("securityContext"))
}

// checkHostnameOverride checks that hostnameOverride is a DNS name of at most 64 characters, and that neither
// setHostnameAsFQDN nor hostNetwork is set with it.
func (f *findings) checkHostnameOverride(spec *v1.PodSpec, at *field.Path) {
	if spec.HostnameOverride == nil {
		return
	}
	name := at.Child("hostnameOverride")
	if spec.SetHostnameAsFQDN != nil && *spec.SetHostnameAsFQDN {
		f.onlyIfRead(at.Child("setHostnameAsFQDN")).addForbidden(name, "expected none with setHostnameAsFQDN")
	}
	if spec.HostNetwork {
		f.onlyIfRead(at.Child("hostNetwork")).addForbidden(name, "expected none with hostNetwork")
	}
	if len(*spec.HostnameOverride) > 64 {
		f.addWithoutValue(field.ErrorTypeTooLong, name, "%d characters: expected at most 64", len(*spec.HostnameOverride))
	}
	f.checkFormat(name, *spec.HostnameOverride, dnsSubdomainFormat)
}

// The limits of the resolver of a C library.
const (
	maxNameservers   = 3
	maxSearchDomains = 32
	maxSearchLength  = 2048
)

// checkDNSConfig checks the numbers of name servers and search domains in the pod's dnsConfig, the format and
// length of the search domains, and that every option has a name.
func (f *findings) checkDNSConfig(c *v1.PodDNSConfig, at *field.Path) {
	if c == nil {
		return
	}
	if len(c.Nameservers) > maxNameservers {
		f.addWithoutValue(field.ErrorTypeTooMany, at.Child("nameservers"), "%d servers: expected at most %d", len(c.Nameservers), maxNameservers)
	}
	if len(c.Searches) > maxSearchDomains {
		f.addWithoutValue(field.ErrorTypeTooMany, at.Child("searches"), "%d domains: expected at most %d", len(c.Searches), maxSearchDomains)
	}
	if size := len(strings.Join(c.Searches, " ")); size > maxSearchLength {
		f.addWithoutValue(field.ErrorTypeTooLong, at.Child("searches"), "%d characters in all: expected at most %d", size, maxSearchLength)
	}
	for i, search := range c.Searches {
		if search != "." {
			f.checkFormat(at.Child("searches").Index(i), strings.TrimSuffix(search, "."), searchDomainFormat)
		}
	}
	for i, option := range c.Options {
		if option.Name == "" {
			f.addRequired(at.Child("options").Index(i).Child("name"), "expected a name")
		}
	}
}

var searchDomainFormat = textFormat{validation.IsDNS1123SubdomainWithUnderscore,
	"at most 253 lower case letters, digits, '-', '_' and '.', with a letter or digit at both ends of each part"}

// checkPodSecurityOfNewPod checks, in a new pod (one that no earlier process has accepted), the change
// policies, the AppArmor profile name and the sysctls of the pod's security context. A sysctl of a namespace
// that the pod shares with the host is an error.
func (f *findings) checkPodSecurityOfNewPod(spec *v1.PodSpec, at *field.Path) {
	s := spec.SecurityContext
	if s == nil {
		return
	}
	checkOneOfIfSet(f, at.Child("fsGroupChangePolicy"), s.FSGroupChangePolicy, v1.FSGroupChangeOnRootMismatch, v1.FSGroupChangeAlways)
	checkOneOfIfSet(f, at.Child("supplementalGroupsPolicy"), s.SupplementalGroupsPolicy, v1.SupplementalGroupsPolicyMerge, v1.SupplementalGroupsPolicyStrict)
	checkOneOfIfSet(f, at.Child("seLinuxChangePolicy"), s.SELinuxChangePolicy, v1.SELinuxChangePolicyRecursive, v1.SELinuxChangePolicyMountOption)
	f.checkAppArmorProfileName(s.AppArmorProfile, at)
	for i, sysctl := range s.Sysctls {
		at := at.Child("sysctls").Index(i).Child("name")
		if sysctl.Name != "" {
			f.checkFormat(at, sysctl.Name, sysctlFormat)
		}
		switch namespace := sysctlNamespace(sysctl.Name); {
		case namespace == "net" && spec.HostNetwork:
			f.onlyIfRead(field.NewPath("spec", "hostNetwork")).addInvalid(at, sysctl.Name, "it is one of the host with hostNetwork: expected none of the network")
		case namespace == "ipc" && spec.HostIPC:
			f.onlyIfRead(field.NewPath("spec", "hostIPC")).addInvalid(at, sysctl.Name, "it is one of the host with hostIPC: expected none of IPC")
		}
	}
}

// checkOneOfIfSet adds an error if a value is set and is none of the allowed values.
func checkOneOfIfSet[T ~string](f *findings, at *field.Path, got *T, values ...T) {
	if got != nil {
		checkOneOf(f, at, *got, values...)
	}
}

var sysctlFormat = textFormat{func(name string) []string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '/' })
	if len(name) > 253 || len(parts) != 1+strings.Count(name, ".")+strings.Count(name, "/") || slices.ContainsFunc(parts, isInvalidSysctlPart) {
		return []string{"bad"}
	}
	return nil
}, "at most 253 lower case letters, digits, '-', '_', '.' and '/', with a letter or digit at both ends of each part"}

// isInvalidSysctlPart reports whether one part of a sysctl name has other characters than lower case letters,
// digits, '-' and '_', or has no letter or digit at either end. It panics if part is empty.
func isInvalidSysctlPart(part string) bool {
	plain := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	for i := range len(part) {
		if !plain(part[i]) && part[i] != '-' && part[i] != '_' {
			return true
		}
	}
	return !plain(part[0]) || !plain(part[len(part)-1])
}

// sysctlNamespace returns the pod namespace to which a sysctl belongs: "net", "ipc", or "" for any other. The
// first '.' or '/' in the name is its separator. The other character is then part of a name, as in
// net/ipv4/conf/eth0.1.
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

// maxProfileLength is the maximum length of an AppArmor profile name, which is a path.
const maxProfileLength = 4095

// checkAppArmorProfileName adds an error if the localhost profile of an AppArmor profile begins or ends with a
// space or is too long.
func (f *findings) checkAppArmorProfileName(a *v1.AppArmorProfile, at *field.Path) {
	if a == nil || a.LocalhostProfile == nil {
		return
	}
	at = at.Child("appArmorProfile", "localhostProfile")
	if name := *a.LocalhostProfile; strings.TrimSpace(name) != name {
		f.addInvalid(at, name, "expected a name without spaces around it")
	} else if len(name) > maxProfileLength {
		f.addWithoutValue(field.ErrorTypeTooLong, at, "%d characters: expected at most %d", len(name), maxProfileLength)
	}
}
