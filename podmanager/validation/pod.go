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

// Validate returns every error of a new pod that has its defaults (see [Default]), each with
// the path of its field; none means that a node can run the pod, and that an API server takes
// the fields that a node acts on. What only a scheduler or an API server reads (affinity to
// pods, topology, finalizers, owners) is not checked, nor is the status.
//
// A pod that an earlier process has accepted is checked by [ValidateAccepted].
//
// The pod is not changed. Validate is a function of the pod alone and may be called from
// anywhere. At most 1,000 errors are returned.
func Validate(pod *v1.Pod) field.ErrorList { return ValidatePartial(pod, nil) }

// ValidatePartial is [Validate] for a pod of which some values could not be read, as
// when a file has a number where a name should be: the pod lacks them, and that is an
// error which the caller knows already. unread has their fields, as field.Error has them
// ("spec.containers[0].image"); "" is the whole pod. Errors at such a field, inside it or
// around it, and those that depend on its value, are left out.
func ValidatePartial(pod *v1.Pod, unread []string) field.ErrorList {
	if pod == nil {
		return field.ErrorList{field.Required(field.NewPath("spec"), "expected a pod")}
	}
	return findings{unread: unread}.of(pod, (*findings).ofSpec, (*findings).addNewFaults)
}

// ValidateNotMirror returns an error for a mirror pod. A mirror pod shows a static pod at an API server, and
// no node runs it. A program that takes pods from another place calls ValidateNotMirror beside [Validate],
// from anywhere.
func ValidateNotMirror(pod *v1.Pod) field.ErrorList {
	value, has := pod.Annotations[v1.MirrorPodAnnotationKey]
	if !has {
		return nil
	}
	at := field.NewPath("metadata", "annotations").Key(v1.MirrorPodAnnotationKey)
	return field.ErrorList{field.Invalid(at, value, "expected none, since it marks the mirror pod of a static pod at an API server, which does not run")}
}

// ValidateAccepted is [Validate] for a pod that an earlier process may have accepted: it checks
// what a node can get wrong by running the pod, and leaves out what only an API server rejects.
// A program that refuses new pods by Validate runs those that it knows by ValidateAccepted, so
// that a rule that a new version adds stops no pod.
func ValidateAccepted(pod *v1.Pod) field.ErrorList { return ValidateAcceptedPartial(pod, nil) }

// ValidateAcceptedPartial is [ValidateAccepted] for a pod with values that could not be read, see
// [ValidatePartial].
func ValidateAcceptedPartial(pod *v1.Pod, unread []string) field.ErrorList {
	if pod == nil {
		return ValidatePartial(nil, nil)
	}
	return findings{unread: unread}.of(pod, (*findings).ofSpec)
}

// of returns the errors of a pod that the check of its metadata and the given checks find.
func (f findings) of(pod *v1.Pod, checks ...func(*findings, *v1.Pod)) field.ErrorList {
	if err := podspec.CheckQuantities(pod); err != nil { // Nothing may compare it.
		at, _, _ := strings.Cut(err.Error(), ": ")
		f.whole(field.ErrorTypeInvalid, field.NewPath(at), "%s", podspec.ErrQuantity)
		return f.errs
	}
	f.metadata(pod, field.NewPath("metadata"))
	for _, check := range checks {
		check(&f, pod)
	}
	return f.errs
}

func (f *findings) ofSpec(pod *v1.Pod) { f.spec(&pod.Spec, field.NewPath("spec")) }

// ValidateMetadata is [Validate] for one of many pods of a template whose spec was validated
// with another one: of the spec it checks quantities only.
func ValidateMetadata(pod *v1.Pod) field.ErrorList {
	if pod == nil {
		return Validate(nil)
	}
	return findings{}.of(pod, func(f *findings, pod *v1.Pod) { f.annotations(pod, field.NewPath("metadata", "annotations")) })
}

// maxAnnotations is the total size of annotations, as in the API.
const maxAnnotations = 256 << 10

func (f *findings) metadata(pod *v1.Pod, at *field.Path) {
	f.named(at.Child("name"), pod.Name, dnsSubdomain)
	f.named(at.Child("namespace"), pod.Namespace, dnsLabel)
	if pod.UID != "" && !podspec.IsValidUID(pod.UID) { // None is fine; names of directories are made of any.
		f.invalid(at.Child("uid"), string(pod.UID), podspec.UIDRule)
	}
	for _, key := range sortedKeys(pod.Labels) {
		f.keeps(at.Child("labels").Key(key), key, qualifiedName)
		f.keeps(at.Child("labels").Key(key), pod.Labels[key], labelValue)
	}
	size := 0
	for _, key := range sortedKeys(pod.Annotations) {
		f.keeps(at.Child("annotations").Key(key), strings.ToLower(key), qualifiedName)
		size += len(key) + len(pod.Annotations[key])
	}
	if size > maxAnnotations {
		f.whole(field.ErrorTypeTooLong, at.Child("annotations"), "%d bytes in all: expected at most %d", size, maxAnnotations)
	}
}

func (f *findings) spec(spec *v1.PodSpec, at *field.Path) {
	oneOf(f, at.Child("restartPolicy"), spec.RestartPolicy, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever)
	oneOf(f, at.Child("dnsPolicy"), spec.DNSPolicy, v1.DNSClusterFirst, v1.DNSClusterFirstWithHostNet, v1.DNSDefault, v1.DNSNone)
	inRange(f, at.Child("terminationGracePeriodSeconds"), spec.TerminationGracePeriodSeconds, 0)
	inRange(f, at.Child("activeDeadlineSeconds"), spec.ActiveDeadlineSeconds, 1)
	f.hostNames(spec, at)
	f.podSecurity(spec.SecurityContext, at.Child("securityContext"))
	if spec.Resources != nil {
		f.resources(spec.Resources, at.Child("resources"))
	}
	volumes := f.volumes(spec.Volumes, at.Child("volumes"))
	f.containers(spec, volumes, at)
	f.envFiles(spec, at)
}

// oneOf wants one of the values.
func oneOf[T ~string](f *findings, at *field.Path, got T, allowed ...T) {
	if slices.Contains(allowed, got) {
		return
	}
	var words []string
	for _, a := range allowed {
		if a != "" { // Nothing said is nothing wrong.
			words = append(words, string(a))
		}
	}
	f.unsupported(at, string(got), "expected one of %s", strings.Join(words, ", "))
}

// inRange wants a number that is at least least, and so small that adding it to
// a time or another number cannot overflow. nil is fine.
func inRange[T int32 | int64](f *findings, at *field.Path, got *T, least T) {
	if got != nil && (*got < least || int64(*got) > math.MaxInt32) {
		f.invalid(at, *got, "expected %d to %d", least, math.MaxInt32)
	}
}

func (f *findings) hostNames(spec *v1.PodSpec, at *field.Path) {
	for _, name := range []struct{ field, value string }{{"hostname", spec.Hostname}, {"subdomain", spec.Subdomain}} {
		if name.value != "" {
			f.named(at.Child(name.field), name.value, dnsLabel)
		}
	}
	for i, alias := range spec.HostAliases {
		at := at.Child("hostAliases").Index(i)
		f.ip(at.Child("ip"), alias.IP)
		for j, name := range alias.Hostnames {
			f.named(at.Child("hostnames").Index(j), name, dnsSubdomain)
		}
	}
	if spec.DNSConfig != nil {
		for i, server := range spec.DNSConfig.Nameservers {
			f.ip(at.Child("dnsConfig", "nameservers").Index(i), server)
		}
	}
	if spec.DNSPolicy == v1.DNSNone && (spec.DNSConfig == nil || len(spec.DNSConfig.Nameservers) == 0) {
		f.ifRead(at.Child("dnsPolicy")).required(at.Child("dnsConfig", "nameservers"), "expected at least one with dnsPolicy None")
	}
}

func (f *findings) ip(at *field.Path, ip string) {
	if _, err := netip.ParseAddr(ip); err != nil {
		f.invalid(at, ip, "expected an IP address")
	}
}

func (f *findings) podSecurity(s *v1.PodSecurityContext, at *field.Path) {
	if s == nil {
		return
	}
	inRange(f, at.Child("runAsUser"), s.RunAsUser, 0)
	inRange(f, at.Child("runAsGroup"), s.RunAsGroup, 0)
	inRange(f, at.Child("fsGroup"), s.FSGroup, 0)
	for i := range s.SupplementalGroups {
		inRange(f, at.Child("supplementalGroups").Index(i), &s.SupplementalGroups[i], 0)
	}
	f.profiles(s.SeccompProfile, s.AppArmorProfile, at)
	seen := map[string]int{}
	for i, sysctl := range s.Sysctls {
		at := at.Child("sysctls").Index(i).Child("name")
		if sysctl.Name == "" {
			f.required(at, "expected a name")
		} else if strings.ContainsFunc(sysctl.Name, func(r rune) bool { return r <= ' ' || r > '~' }) || strings.Contains(sysctl.Name, "..") {
			f.invalid(at, sysctl.Name, "expected a name such as net.ipv4.ip_forward")
		}
		f.unique(at, sysctl.Name, seen, i, "sysctls")
	}
}

// profiles checks what a kernel is told to watch for: one of a type that is not
// known would not be the one that was meant.
func (f *findings) profiles(seccomp *v1.SeccompProfile, appArmor *v1.AppArmorProfile, at *field.Path) {
	if s := seccomp; s != nil {
		at := at.Child("seccompProfile")
		oneOf(f, at.Child("type"), s.Type, v1.SeccompProfileTypeRuntimeDefault, v1.SeccompProfileTypeUnconfined, v1.SeccompProfileTypeLocalhost)
		f.localhost(s.Type == v1.SeccompProfileTypeLocalhost, s.LocalhostProfile, at)
		if s.LocalhostProfile != nil {
			f.subPath(at.Child("localhostProfile"), *s.LocalhostProfile)
		}
	}
	if a := appArmor; a != nil {
		at := at.Child("appArmorProfile")
		oneOf(f, at.Child("type"), a.Type, v1.AppArmorProfileTypeRuntimeDefault, v1.AppArmorProfileTypeUnconfined, v1.AppArmorProfileTypeLocalhost)
		f.localhost(a.Type == v1.AppArmorProfileTypeLocalhost, a.LocalhostProfile, at)
	}
}

func (f *findings) localhost(wanted bool, profile *string, from *field.Path) {
	at, needs := from.Child("localhostProfile"), []*field.Path{from.Child("type")}
	if wanted && (profile == nil || *profile == "") {
		f.ifRead(needs...).required(at, "expected one with type Localhost")
	} else if !wanted && profile != nil {
		f.ifRead(needs...).forbidden(at, "expected none without type Localhost")
	}
}

// unique adds a finding for a name that an earlier item has.
func (f *findings) unique(at *field.Path, name string, seen map[string]int, i int, what string) {
	if first, ok := seen[name]; ok && name != "" {
		f.duplicate(at, name, "%s[%d] has the same name", what, first)
		return
	}
	seen[name] = i
}

// sortedKeys is the order in which maps are looked at.
func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
