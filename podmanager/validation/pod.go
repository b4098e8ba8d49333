package validation

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Validate returns every error of a new pod that has its defaults (see [Default]), each with the
// path of its field. No error means that a node can run the pod, and that an API server accepts the
// fields that a node acts on. Validate does not check the status and the fields that only a
// scheduler or an API server reads: affinity to pods, topology, finalizers, owners.
//
// [ValidateAccepted] checks a pod that an earlier process has accepted.
//
// Validate does not change the pod and depends on the pod alone. It returns at most 1,000 errors.
func Validate(pod *v1.Pod) field.ErrorList { return ValidatePartial(pod, nil) }

// ValidatePartial is [Validate] for a pod with values that could not be read, for example because a
// file has a number where a name should be. The caller has reported that. unread has the paths of
// these fields, as in field.Error ("spec.containers[0].image"); "" is the whole pod.
// ValidatePartial leaves out errors at such a field, inside it or around it, and errors that depend
// on its value.
func ValidatePartial(pod *v1.Pod, unread []string) field.ErrorList {
	if pod == nil {
		return field.ErrorList{field.Required(field.NewPath("spec"), "expected a pod")}
	}
	return findings{unread: unread}.collectErrors(pod, (*findings).checkPodSpec, (*findings).addFaultsOfNewPod)
}

// ValidateNotMirror returns an error for a mirror pod. A mirror pod shows a static pod at an API
// server, and no node runs it. A program that reads pods from elsewhere calls it in addition to
// [Validate].
func ValidateNotMirror(pod *v1.Pod) field.ErrorList {
	value, has := pod.Annotations[v1.MirrorPodAnnotationKey]
	if !has {
		return nil
	}
	at := field.NewPath("metadata", "annotations").Key(v1.MirrorPodAnnotationKey)
	return field.ErrorList{field.Invalid(at, value, "expected none, since it marks the mirror pod of a static pod at an API server, which does not run")}
}

// ValidateAccepted is [Validate] for a pod that an earlier process may have accepted. It leaves out
// the checks that only an API server makes. A program rejects new pods by Validate and runs known
// pods by ValidateAccepted, so that a rule that a new version adds stops no running pod.
func ValidateAccepted(pod *v1.Pod) field.ErrorList { return ValidateAcceptedPartial(pod, nil) }

// ValidateAcceptedPartial is [ValidateAccepted] for a pod with values that could not be read, see
// [ValidatePartial].
func ValidateAcceptedPartial(pod *v1.Pod, unread []string) field.ErrorList {
	if pod == nil {
		return ValidatePartial(nil, nil)
	}
	return findings{unread: unread}.collectErrors(pod, (*findings).checkPodSpec)
}

// collectErrors returns the errors that the metadata check and the given checks find. If a quantity of the pod
// is too extreme to compare, such as 1e2000000000, it returns only that error.
func (f findings) collectErrors(pod *v1.Pod, checks ...func(*findings, *v1.Pod)) field.ErrorList {
	if err := podspec.CheckQuantities(pod); err != nil { // Comparing such a quantity panics or takes too long.
		at, _, _ := strings.Cut(err.Error(), ": ")
		f.addWithoutValue(field.ErrorTypeInvalid, field.NewPath(at), "%s", podspec.ErrQuantity)
		return f.errs
	}
	f.checkMetadata(pod, field.NewPath("metadata"))
	for _, check := range checks {
		check(&f, pod)
	}
	return f.errs
}

// checkPodSpec checks the spec of a pod with the rules for new and accepted pods.
func (f *findings) checkPodSpec(pod *v1.Pod) { f.checkSpec(&pod.Spec, field.NewPath("spec")) }

// ValidateMetadata is [Validate] for one of many pods of a template, after the spec of another one
// was validated. Of the spec it checks only quantities.
func ValidateMetadata(pod *v1.Pod) field.ErrorList {
	if pod == nil {
		return Validate(nil)
	}
	return findings{}.collectErrors(pod, func(f *findings, pod *v1.Pod) { f.checkAnnotations(pod, field.NewPath("metadata", "annotations")) })
}

// maxAnnotations is the maximum total size of annotations, as in the API.
const maxAnnotations = 256 << 10

// checkMetadata checks the name, namespace, UID, labels and annotations of a pod. An empty UID is allowed.
func (f *findings) checkMetadata(pod *v1.Pod, at *field.Path) {
	f.requireName(at.Child("name"), pod.Name, dnsSubdomainFormat)
	f.requireName(at.Child("namespace"), pod.Namespace, dnsLabelFormat)
	if pod.UID != "" && !podspec.IsValidUID(pod.UID) { // The UID becomes the name of directories.
		f.addInvalid(at.Child("uid"), string(pod.UID), podspec.UIDRule)
	}
	for _, key := range sortedKeys(pod.Labels) {
		f.checkFormat(at.Child("labels").Key(key), key, qualifiedNameFormat)
		f.checkFormat(at.Child("labels").Key(key), pod.Labels[key], labelValueFormat)
	}
	size := 0
	for _, key := range sortedKeys(pod.Annotations) {
		f.checkFormat(at.Child("annotations").Key(key), strings.ToLower(key), qualifiedNameFormat)
		size += len(key) + len(pod.Annotations[key])
	}
	if size > maxAnnotations {
		f.addWithoutValue(field.ErrorTypeTooLong, at.Child("annotations"), "%d bytes in all: expected at most %d", size, maxAnnotations)
	}
}

// checkSpec checks the spec of a pod with the rules for new and accepted pods: policies, host names, security
// context, resources, volumes, containers and environment files.
func (f *findings) checkSpec(spec *v1.PodSpec, at *field.Path) {
	checkOneOf(f, at.Child("restartPolicy"), spec.RestartPolicy, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever)
	checkOneOf(f, at.Child("dnsPolicy"), spec.DNSPolicy, v1.DNSClusterFirst, v1.DNSClusterFirstWithHostNet, v1.DNSDefault, v1.DNSNone)
	checkAtLeastAndInt32(f, at.Child("terminationGracePeriodSeconds"), spec.TerminationGracePeriodSeconds, 0)
	checkAtLeastAndInt32(f, at.Child("activeDeadlineSeconds"), spec.ActiveDeadlineSeconds, 1)
	f.checkHostNames(spec, at)
	f.checkPodSecurityContext(spec.SecurityContext, at.Child("securityContext"))
	if spec.Resources != nil {
		f.checkResources(spec.Resources, at.Child("resources"))
	}
	volumes := f.checkVolumesAndCollectNames(spec.Volumes, at.Child("volumes"))
	f.checkContainers(spec, volumes, at)
	f.checkEnvFiles(spec, at)
}

// checkOneOf adds an error if got is none of the allowed values. The error lists them.
func checkOneOf[T ~string](f *findings, at *field.Path, got T, allowed ...T) {
	if slices.Contains(allowed, got) {
		return
	}
	var words []string
	for _, a := range allowed {
		if a != "" { // An empty value is allowed.
			words = append(words, string(a))
		}
	}
	f.addNotSupported(at, string(got), "expected one of %s", strings.Join(words, ", "))
}

// checkAtLeastAndInt32 adds an error if a number is less than least or greater than the largest int32, so that
// no sum can overflow. Nil is allowed.
func checkAtLeastAndInt32[T int32 | int64](f *findings, at *field.Path, got *T, least T) {
	if got != nil && (*got < least || int64(*got) > math.MaxInt32) {
		f.addInvalid(at, *got, "expected %d to %d", least, math.MaxInt32)
	}
}

// checkHostNames checks the host name, subdomain, host aliases and name servers of the pod. The DNS policy None
// needs a name server.
func (f *findings) checkHostNames(spec *v1.PodSpec, at *field.Path) {
	for _, name := range []struct{ field, value string }{{"hostname", spec.Hostname}, {"subdomain", spec.Subdomain}} {
		if name.value != "" {
			f.requireName(at.Child(name.field), name.value, dnsLabelFormat)
		}
	}
	for i, alias := range spec.HostAliases {
		at := at.Child("hostAliases").Index(i)
		f.checkIP(at.Child("ip"), alias.IP)
		for j, name := range alias.Hostnames {
			f.requireName(at.Child("hostnames").Index(j), name, dnsSubdomainFormat)
		}
	}
	if spec.DNSConfig != nil {
		for i, server := range spec.DNSConfig.Nameservers {
			f.checkIP(at.Child("dnsConfig", "nameservers").Index(i), server)
		}
	}
	if spec.DNSPolicy == v1.DNSNone && (spec.DNSConfig == nil || len(spec.DNSConfig.Nameservers) == 0) {
		f.onlyIfRead(at.Child("dnsPolicy")).addRequired(at.Child("dnsConfig", "nameservers"), "expected at least one with dnsPolicy None")
	}
}

// checkIP adds an error if a text is not an IP address. An empty text is an error too.
func (f *findings) checkIP(at *field.Path, ip string) {
	if _, err := netip.ParseAddr(ip); err != nil {
		f.addInvalid(at, ip, "expected an IP address")
	}
}

// checkPodSecurityContext checks the users, groups, profiles and sysctl names in the security context of the
// pod. No sysctl may occur twice.
func (f *findings) checkPodSecurityContext(s *v1.PodSecurityContext, at *field.Path) {
	if s == nil {
		return
	}
	checkAtLeastAndInt32(f, at.Child("runAsUser"), s.RunAsUser, 0)
	checkAtLeastAndInt32(f, at.Child("runAsGroup"), s.RunAsGroup, 0)
	checkAtLeastAndInt32(f, at.Child("fsGroup"), s.FSGroup, 0)
	for i := range s.SupplementalGroups {
		checkAtLeastAndInt32(f, at.Child("supplementalGroups").Index(i), &s.SupplementalGroups[i], 0)
	}
	f.checkProfiles(s.SeccompProfile, s.AppArmorProfile, at)
	seen := map[string]int{}
	for i, sysctl := range s.Sysctls {
		at := at.Child("sysctls").Index(i).Child("name")
		if sysctl.Name == "" {
			f.addRequired(at, "expected a name")
		} else if strings.ContainsFunc(sysctl.Name, func(r rune) bool { return r <= ' ' || r > '~' }) || strings.Contains(sysctl.Name, "..") {
			f.addInvalid(at, sysctl.Name, "expected a name such as net.ipv4.ip_forward")
		}
		f.checkUniqueOrStoreName(at, sysctl.Name, seen, i, "sysctls")
	}
}

// checkProfiles checks seccomp and AppArmor profiles, if they are set. A profile of an unknown type is an
// error, because the runtime would apply another profile than the author wanted.
func (f *findings) checkProfiles(seccomp *v1.SeccompProfile, appArmor *v1.AppArmorProfile, at *field.Path) {
	if s := seccomp; s != nil {
		at := at.Child("seccompProfile")
		checkOneOf(f, at.Child("type"), s.Type, v1.SeccompProfileTypeRuntimeDefault, v1.SeccompProfileTypeUnconfined, v1.SeccompProfileTypeLocalhost)
		f.checkLocalhostProfile(s.Type == v1.SeccompProfileTypeLocalhost, s.LocalhostProfile, at)
		if s.LocalhostProfile != nil {
			f.checkSubPath(at.Child("localhostProfile"), *s.LocalhostProfile)
		}
	}
	if a := appArmor; a != nil {
		at := at.Child("appArmorProfile")
		checkOneOf(f, at.Child("type"), a.Type, v1.AppArmorProfileTypeRuntimeDefault, v1.AppArmorProfileTypeUnconfined, v1.AppArmorProfileTypeLocalhost)
		f.checkLocalhostProfile(a.Type == v1.AppArmorProfileTypeLocalhost, a.LocalhostProfile, at)
	}
}

// checkLocalhostProfile checks the localhostProfile of a profile. A profile of the type Localhost must have
// one, and a profile of any other type must have none. It adds a finding for a violation.
func (f *findings) checkLocalhostProfile(isTypeLocalhost bool, profile *string, from *field.Path) {
	at, needs := from.Child("localhostProfile"), []*field.Path{from.Child("type")}
	if isTypeLocalhost && (profile == nil || *profile == "") {
		f.onlyIfRead(needs...).addRequired(at, "expected one with type Localhost")
	} else if !isTypeLocalhost && profile != nil {
		f.onlyIfRead(needs...).addForbidden(at, "expected none without type Localhost")
	}
}

// checkUniqueOrStoreName adds an error if an earlier item of the list has the same name. It stores a new name
// in seen with the item's index. An empty name is never a duplicate.
func (f *findings) checkUniqueOrStoreName(at *field.Path, name string, seen map[string]int, index int, list string) {
	if first, ok := seen[name]; ok && name != "" {
		f.addDuplicate(at, name, "%s[%d] has the same name", list, first)
		return
	}
	seen[name] = index
}

// sortedKeys returns the keys of a map in ascending order.
func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
