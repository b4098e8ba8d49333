package manifest

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Validate checks a pod that has its defaults: everything a node can get wrong
// by running it. What only a scheduler or an API server reads (affinity,
// topology, finalizers, owners) is not looked at. The error is [Faults], with
// every fault and its field but no lines.
func Validate(pod *v1.Pod) error {
	found := validate(pod)
	if len(found) == 0 {
		return nil
	}
	faults := make(Faults, 0, len(found))
	for _, f := range found {
		faults = append(faults, Fault{Pod: shorten(pod.Name), Field: f.at.String(), Reason: f.reason})
	}
	return faults.inOrder()
}

// validate finds what is wrong with a pod. The checks are functions of
// findings so that each can add as many as it sees.
func validate(pod *v1.Pod) findings {
	var f findings
	f.metadata(pod, (*fieldPath)(nil).field("metadata"))
	f.spec(&pod.Spec, (*fieldPath)(nil).field("spec"))
	return f
}

// maxAnnotations is the total size of annotations, as in the API (F14).
const maxAnnotations = 256 << 10

// maxUID bounds a UID given in a manifest: it becomes a file name.
const maxUID = 128

func (f *findings) metadata(pod *v1.Pod, at *fieldPath) {
	f.named(at.field("name"), pod.Name, dnsSubdomain)
	f.named(at.field("namespace"), pod.Namespace, dnsLabel)
	if !safeUID(string(pod.UID)) {
		f.add(at.field("uid"), "%s: expected at most %d letters, digits, '-', '_' and '.', beginning with a letter or digit", quote(string(pod.UID)), maxUID)
	}
	for _, key := range sortedKeys(pod.Labels) {
		f.keeps(at.field("labels").entry(key), key, qualifiedName)
		f.keeps(at.field("labels").entry(key), pod.Labels[key], labelValue)
	}
	size := 0
	for _, key := range sortedKeys(pod.Annotations) {
		f.keeps(at.field("annotations").entry(key), strings.ToLower(key), qualifiedName)
		size += len(key) + len(pod.Annotations[key])
	}
	if size > maxAnnotations {
		f.add(at.field("annotations"), "%d bytes in all: expected at most %d", size, maxAnnotations)
	}
	if pod.DeletionTimestamp != nil {
		f.add(at.field("deletionTimestamp"), "set: expected none, since a pod of a manifest ends when the manifest goes")
	}
}

// safeUID keeps a path out of the names of directories (F10). None is fine.
func safeUID(uid string) bool {
	for i := range len(uid) {
		c := uid[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && (i == 0 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return len(uid) <= maxUID
}

func (f *findings) spec(spec *v1.PodSpec, at *fieldPath) {
	oneOf(f, at.field("restartPolicy"), spec.RestartPolicy, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever)
	oneOf(f, at.field("dnsPolicy"), spec.DNSPolicy, v1.DNSClusterFirst, v1.DNSClusterFirstWithHostNet, v1.DNSDefault, v1.DNSNone)
	within(f, at.field("terminationGracePeriodSeconds"), spec.TerminationGracePeriodSeconds, 0)
	within(f, at.field("activeDeadlineSeconds"), spec.ActiveDeadlineSeconds, 1)
	f.hostNames(spec, at)
	f.podSecurity(spec.SecurityContext, at.field("securityContext"))
	if spec.Resources != nil {
		f.resources(spec.Resources, at.field("resources"))
	}
	volumes := f.volumes(spec.Volumes, at.field("volumes"))
	f.containers(spec, volumes, at)
}

// oneOf wants one of the values.
func oneOf[T ~string](f *findings, at *fieldPath, got T, allowed ...T) {
	if slices.Contains(allowed, got) {
		return
	}
	var words []string
	for _, a := range allowed {
		if a != "" { // Nothing said is nothing wrong.
			words = append(words, string(a))
		}
	}
	f.add(at, "%s: expected one of %s", quote(string(got)), strings.Join(words, ", "))
}

// within wants a number that is at least least, and so small that adding it to
// a time or another number cannot overflow (F11). nil is fine.
func within[T int32 | int64](f *findings, at *fieldPath, got *T, least T) {
	if got != nil && (*got < least || int64(*got) > math.MaxInt32) {
		f.add(at, "%d: expected %d to %d", *got, least, math.MaxInt32)
	}
}

func (f *findings) hostNames(spec *v1.PodSpec, at *fieldPath) {
	for _, name := range []struct{ field, value string }{{"hostname", spec.Hostname}, {"subdomain", spec.Subdomain}} {
		if name.value != "" {
			f.named(at.field(name.field), name.value, dnsLabel)
		}
	}
	for i, alias := range spec.HostAliases {
		at := at.field("hostAliases").at(i)
		f.ip(at.field("ip"), alias.IP)
		for j, name := range alias.Hostnames {
			f.named(at.field("hostnames").at(j), name, dnsSubdomain)
		}
	}
	if spec.DNSConfig != nil {
		for i, server := range spec.DNSConfig.Nameservers {
			f.ip(at.fields("dnsConfig", "nameservers").at(i), server)
		}
	}
	if spec.DNSPolicy == v1.DNSNone && (spec.DNSConfig == nil || len(spec.DNSConfig.Nameservers) == 0) {
		f.add(at.fields("dnsConfig", "nameservers"), "missing: expected at least one with dnsPolicy None")
	}
}

func (f *findings) ip(at *fieldPath, ip string) {
	if _, err := netip.ParseAddr(ip); err != nil {
		f.add(at, "%s: expected an IP address", quote(ip))
	}
}

func (f *findings) podSecurity(s *v1.PodSecurityContext, at *fieldPath) {
	if s == nil {
		return
	}
	within(f, at.field("runAsUser"), s.RunAsUser, 0)
	within(f, at.field("runAsGroup"), s.RunAsGroup, 0)
	within(f, at.field("fsGroup"), s.FSGroup, 0)
	for i := range s.SupplementalGroups {
		within(f, at.field("supplementalGroups").at(i), &s.SupplementalGroups[i], 0)
	}
	f.profiles(s.SeccompProfile, s.AppArmorProfile, at)
	seen := map[string]int{}
	for i, sysctl := range s.Sysctls {
		at := at.field("sysctls").at(i).field("name")
		if sysctl.Name == "" {
			f.add(at, "missing: expected a name")
		} else if strings.ContainsFunc(sysctl.Name, func(r rune) bool { return r <= ' ' || r > '~' }) || strings.Contains(sysctl.Name, "..") {
			f.add(at, "%s: expected a name such as net.ipv4.ip_forward", quote(sysctl.Name))
		}
		f.unique(at, sysctl.Name, seen, i, "sysctls")
	}
}

// profiles checks what a kernel is told to watch for: one of a type that is not
// known would not be the one that was meant.
func (f *findings) profiles(seccomp *v1.SeccompProfile, appArmor *v1.AppArmorProfile, at *fieldPath) {
	if s := seccomp; s != nil {
		at := at.field("seccompProfile")
		oneOf(f, at.field("type"), s.Type, v1.SeccompProfileTypeRuntimeDefault, v1.SeccompProfileTypeUnconfined, v1.SeccompProfileTypeLocalhost)
		f.localhost(s.Type == v1.SeccompProfileTypeLocalhost, s.LocalhostProfile, at.field("localhostProfile"))
		if s.LocalhostProfile != nil {
			f.subPath(at.field("localhostProfile"), *s.LocalhostProfile)
		}
	}
	if a := appArmor; a != nil {
		at := at.field("appArmorProfile")
		oneOf(f, at.field("type"), a.Type, v1.AppArmorProfileTypeRuntimeDefault, v1.AppArmorProfileTypeUnconfined, v1.AppArmorProfileTypeLocalhost)
		f.localhost(a.Type == v1.AppArmorProfileTypeLocalhost, a.LocalhostProfile, at.field("localhostProfile"))
	}
}

func (f *findings) localhost(wanted bool, profile *string, at *fieldPath) {
	switch {
	case wanted && (profile == nil || *profile == ""):
		f.add(at, "missing: expected one with type Localhost")
	case !wanted && profile != nil:
		f.add(at, "set: expected none without type Localhost")
	}
}

// unique adds a finding for a name that an earlier item has.
func (f *findings) unique(at *fieldPath, name string, seen map[string]int, i int, what string) {
	if first, ok := seen[name]; ok && name != "" {
		f.add(at, "%s: %s[%d] has the same name", quote(name), what, first)
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
