package manifest

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/document"
	"github.com/podkeel/podkeel/internal/poduid"
)

// Validate checks a pod that has its defaults: everything a node can get wrong
// by running it. What only a scheduler or an API server reads (affinity,
// topology, finalizers, owners) is not checked. The error is [Faults], with
// every fault and its field but no lines.
func Validate(pod *v1.Pod) error {
	found := validate(pod)
	if len(found) == 0 {
		return nil
	}
	faults := make(Faults, 0, len(found))
	for _, f := range found {
		faults = append(faults, Fault{Pod: document.Shorten(pod.Name), Field: f.at.String(), Reason: f.reason})
	}
	return faults.inOrder()
}

// validate finds what is wrong with a pod. The checks are functions of
// findings so that each can add as many as it sees.
func validate(pod *v1.Pod) findings {
	var f findings
	f.metadata(pod, (*document.Path)(nil).Field("metadata"))
	f.spec(&pod.Spec, (*document.Path)(nil).Field("spec"))
	return f
}

// maxAnnotations is the total size of annotations, as in the API (F14).
const maxAnnotations = 256 << 10

func (f *findings) metadata(pod *v1.Pod, at *document.Path) {
	f.named(at.Field("name"), pod.Name, dnsSubdomain)
	f.named(at.Field("namespace"), pod.Namespace, dnsLabel)
	if pod.UID != "" && !poduid.Valid(pod.UID) { // None is fine; names of directories are made of any (F10).
		f.add(at.Field("uid"), "%s: %s", document.Quote(string(pod.UID)), poduid.Rule)
	}
	for _, key := range sortedKeys(pod.Labels) {
		f.keeps(at.Field("labels").Entry(key), key, qualifiedName)
		f.keeps(at.Field("labels").Entry(key), pod.Labels[key], labelValue)
	}
	size := 0
	for _, key := range sortedKeys(pod.Annotations) {
		f.keeps(at.Field("annotations").Entry(key), strings.ToLower(key), qualifiedName)
		size += len(key) + len(pod.Annotations[key])
	}
	if size > maxAnnotations {
		f.add(at.Field("annotations"), "%d bytes in all: expected at most %d", size, maxAnnotations)
	}
	if pod.DeletionTimestamp != nil {
		f.add(at.Field("deletionTimestamp"), "set: expected none, since a pod of a manifest ends when the manifest goes")
	}
}

func (f *findings) spec(spec *v1.PodSpec, at *document.Path) {
	oneOf(f, at.Field("restartPolicy"), spec.RestartPolicy, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever)
	oneOf(f, at.Field("dnsPolicy"), spec.DNSPolicy, v1.DNSClusterFirst, v1.DNSClusterFirstWithHostNet, v1.DNSDefault, v1.DNSNone)
	within(f, at.Field("terminationGracePeriodSeconds"), spec.TerminationGracePeriodSeconds, 0)
	within(f, at.Field("activeDeadlineSeconds"), spec.ActiveDeadlineSeconds, 1)
	f.hostNames(spec, at)
	f.podSecurity(spec.SecurityContext, at.Field("securityContext"))
	if spec.Resources != nil {
		f.resources(spec.Resources, at.Field("resources"))
	}
	volumes := f.volumes(spec.Volumes, at.Field("volumes"))
	f.containers(spec, volumes, at)
}

// oneOf wants one of the values.
func oneOf[T ~string](f *findings, at *document.Path, got T, allowed ...T) {
	if slices.Contains(allowed, got) {
		return
	}
	var words []string
	for _, a := range allowed {
		if a != "" { // Nothing said is nothing wrong.
			words = append(words, string(a))
		}
	}
	f.add(at, "%s: expected one of %s", document.Quote(string(got)), strings.Join(words, ", "))
}

// within wants a number that is at least least, and so small that adding it to
// a time or another number cannot overflow (F11). nil is fine.
func within[T int32 | int64](f *findings, at *document.Path, got *T, least T) {
	if got != nil && (*got < least || int64(*got) > math.MaxInt32) {
		f.add(at, "%d: expected %d to %d", *got, least, math.MaxInt32)
	}
}

func (f *findings) hostNames(spec *v1.PodSpec, at *document.Path) {
	for _, name := range []struct{ field, value string }{{"hostname", spec.Hostname}, {"subdomain", spec.Subdomain}} {
		if name.value != "" {
			f.named(at.Field(name.field), name.value, dnsLabel)
		}
	}
	for i, alias := range spec.HostAliases {
		at := at.Field("hostAliases").At(i)
		f.ip(at.Field("ip"), alias.IP)
		for j, name := range alias.Hostnames {
			f.named(at.Field("hostnames").At(j), name, dnsSubdomain)
		}
	}
	if spec.DNSConfig != nil {
		for i, server := range spec.DNSConfig.Nameservers {
			f.ip(at.Fields("dnsConfig", "nameservers").At(i), server)
		}
	}
	if spec.DNSPolicy == v1.DNSNone && (spec.DNSConfig == nil || len(spec.DNSConfig.Nameservers) == 0) {
		f.addFor([]*document.Path{at.Field("dnsPolicy")}, at.Fields("dnsConfig", "nameservers"), "missing: expected at least one with dnsPolicy None")
	}
}

func (f *findings) ip(at *document.Path, ip string) {
	if _, err := netip.ParseAddr(ip); err != nil {
		f.add(at, "%s: expected an IP address", document.Quote(ip))
	}
}

func (f *findings) podSecurity(s *v1.PodSecurityContext, at *document.Path) {
	if s == nil {
		return
	}
	within(f, at.Field("runAsUser"), s.RunAsUser, 0)
	within(f, at.Field("runAsGroup"), s.RunAsGroup, 0)
	within(f, at.Field("fsGroup"), s.FSGroup, 0)
	for i := range s.SupplementalGroups {
		within(f, at.Field("supplementalGroups").At(i), &s.SupplementalGroups[i], 0)
	}
	f.profiles(s.SeccompProfile, s.AppArmorProfile, at)
	seen := map[string]int{}
	for i, sysctl := range s.Sysctls {
		at := at.Field("sysctls").At(i).Field("name")
		if sysctl.Name == "" {
			f.add(at, "missing: expected a name")
		} else if strings.ContainsFunc(sysctl.Name, func(r rune) bool { return r <= ' ' || r > '~' }) || strings.Contains(sysctl.Name, "..") {
			f.add(at, "%s: expected a name such as net.ipv4.ip_forward", document.Quote(sysctl.Name))
		}
		f.unique(at, sysctl.Name, seen, i, "sysctls")
	}
}

// profiles checks what a kernel is told to watch for: one of a type that is not
// known would not be the one that was meant.
func (f *findings) profiles(seccomp *v1.SeccompProfile, appArmor *v1.AppArmorProfile, at *document.Path) {
	if s := seccomp; s != nil {
		at := at.Field("seccompProfile")
		oneOf(f, at.Field("type"), s.Type, v1.SeccompProfileTypeRuntimeDefault, v1.SeccompProfileTypeUnconfined, v1.SeccompProfileTypeLocalhost)
		f.localhost(s.Type == v1.SeccompProfileTypeLocalhost, s.LocalhostProfile, at)
		if s.LocalhostProfile != nil {
			f.subPath(at.Field("localhostProfile"), *s.LocalhostProfile)
		}
	}
	if a := appArmor; a != nil {
		at := at.Field("appArmorProfile")
		oneOf(f, at.Field("type"), a.Type, v1.AppArmorProfileTypeRuntimeDefault, v1.AppArmorProfileTypeUnconfined, v1.AppArmorProfileTypeLocalhost)
		f.localhost(a.Type == v1.AppArmorProfileTypeLocalhost, a.LocalhostProfile, at)
	}
}

func (f *findings) localhost(wanted bool, profile *string, from *document.Path) {
	at, needs := from.Field("localhostProfile"), []*document.Path{from.Field("type")}
	switch {
	case wanted && (profile == nil || *profile == ""):
		f.addFor(needs, at, "missing: expected one with type Localhost")
	case !wanted && profile != nil:
		f.addFor(needs, at, "set: expected none without type Localhost")
	}
}

// unique adds a finding for a name that an earlier item has.
func (f *findings) unique(at *document.Path, name string, seen map[string]int, i int, what string) {
	if first, ok := seen[name]; ok && name != "" {
		f.add(at, "%s: %s[%d] has the same name", document.Quote(name), what, first)
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
