package request

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/runtime"
)

// What a resolver takes; the rest is left out.
const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchChars = 2048
)

// ParseDNS reads a resolver configuration, as that in /etc/resolv.conf. Of
// several search lines the last one counts. What it does not know it skips.
func ParseDNS(text string) runtime.DNS {
	var d runtime.DNS
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		line, _, _ = strings.Cut(line, ";")
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "nameserver":
			d.Servers = append(d.Servers, words[1])
		case "search", "domain":
			d.Searches = nil
			for _, domain := range words[1:] {
				if domain != "." {
					domain = strings.TrimSuffix(domain, ".")
				}
				d.Searches = append(d.Searches, domain)
			}
		case "options":
			d.Options = withOptions(d.Options, words[1:])
		}
	}
	return d
}

// UsesHostDNS reports whether the resolver of a pod depends on that of the host.
func UsesHostDNS(pod *v1.Pod) bool { return pod.Spec.DNSPolicy != v1.DNSNone }

// DNS is the resolver configuration of a pod. host is that of the host; it is not used
// unless UsesHostDNS. The warnings say what was left out, or had to be replaced.
func (n *Node) DNS(pod *v1.Pod, host runtime.DNS) (d runtime.DNS, warnings []string, err error) {
	spec := &pod.Spec
	if UsesHostDNS(pod) {
		d = cloneDNS(host)
	}
	switch policy := spec.DNSPolicy; policy {
	case v1.DNSNone, v1.DNSDefault:
	case v1.DNSClusterFirst, "":
		d = n.clusterFirst(pod, !spec.HostNetwork, d)
	case v1.DNSClusterFirstWithHostNet:
		d = n.clusterFirst(pod, true, d)
		if len(n.ClusterDNS) == 0 {
			warnings = append(warnings, fmt.Sprintf("the node has no cluster DNS: the policy %s is taken for %s", policy, v1.DNSDefault))
		}
	default:
		return runtime.DNS{}, nil, fmt.Errorf("spec.dnsPolicy: %q is not known", string(policy))
	}
	if spec.DNSConfig != nil {
		if UsesHostDNS(pod) && len(d.Servers) == 0 && len(spec.DNSConfig.Nameservers) == 0 {
			warnings = append(warnings, "spec.dnsConfig is added to nothing: what the host resolves names with is not known")
		}
		addOwn(&d, spec.DNSConfig)
	}
	return d, append(warnings, cutToFit(&d)...), nil
}

// clusterFirst asks the cluster, if there is one and it is wanted.
func (n *Node) clusterFirst(pod *v1.Pod, wanted bool, host runtime.DNS) runtime.DNS {
	if len(n.ClusterDNS) == 0 || !wanted {
		return host
	}
	d := runtime.DNS{Servers: slices.Clone(n.ClusterDNS), Options: []string{"ndots:5"}}
	if n.ClusterDomain != "" {
		services := "svc." + n.ClusterDomain
		d.Searches = []string{pod.Namespace + "." + services, services, n.ClusterDomain}
	}
	d.Searches = unique(append(d.Searches, host.Searches...))
	return d
}

// addOwn puts the words of a pod to what holds for it anyway.
func addOwn(d *runtime.DNS, own *v1.PodDNSConfig) {
	d.Servers = unique(append(d.Servers, own.Nameservers...))
	d.Searches = unique(append(d.Searches, own.Searches...))
	var options []string
	for _, o := range own.Options {
		option := o.Name
		if o.Value != nil && *o.Value != "" {
			option += ":" + *o.Value
		}
		options = append(options, option)
	}
	d.Options = withOptions(d.Options, options)
}

// withOptions adds options, each in the place of one that has its name.
func withOptions(options, more []string) []string {
	name := func(option string) string {
		name, _, _ := strings.Cut(option, ":")
		return name
	}
	for _, option := range more {
		same := func(o string) bool { return name(o) == name(option) }
		if i := slices.IndexFunc(options, same); i >= 0 {
			options[i] = option
			continue
		}
		options = append(options, option)
	}
	return options
}

// cutToFit leaves out what a resolver does not take.
func cutToFit(d *runtime.DNS) (warnings []string) {
	if len(d.Servers) > maxNameservers {
		d.Servers = d.Servers[:maxNameservers]
		warnings = append(warnings, fmt.Sprintf("some name servers were left out: %d are used, %s", maxNameservers, strings.Join(d.Servers, " ")))
	}
	n, chars := 0, 0
	for _, domain := range d.Searches {
		chars += len(domain) + 1
		if n == maxSearches || chars-1 > maxSearchChars {
			d.Searches = d.Searches[:n]
			warnings = append(warnings, fmt.Sprintf("some search domains were left out: the first %d are used", n))
			break
		}
		n++
	}
	return warnings
}

// unique leaves each word once, where it is first.
func unique(words []string) []string {
	seen := make(map[string]bool, len(words))
	var out []string
	for _, word := range words {
		if !seen[word] {
			seen[word] = true
			out = append(out, word)
		}
	}
	return out
}

func cloneDNS(d runtime.DNS) runtime.DNS {
	return runtime.DNS{Servers: slices.Clone(d.Servers), Searches: slices.Clone(d.Searches), Options: slices.Clone(d.Options)}
}

// What a kernel takes as a host name, and what a name server takes as a label of
// one.
const (
	maxHostname = 64
	maxLabel    = 63
)

// Names are how a pod calls itself.
type Names struct {
	Host  string   // for the kernel
	Hosts []string // for its hosts file
}

// Names are how a pod calls itself; an error says which field cannot be honoured.
// A pod with the network of the host has the host's name, which is empty here.
func (n *Node) Names(pod *v1.Pod) (Names, error) {
	spec := &pod.Spec
	if spec.HostNetwork {
		return Names{}, nil
	}
	if o := spec.HostnameOverride; o != nil {
		if bad := validation.IsDNS1123Subdomain(*o); len(bad) > 0 || len(*o) > maxHostname {
			return Names{}, fmt.Errorf("spec.hostnameOverride: %q is no host name of at most %d bytes", *o, maxHostname)
		}
		return Names{*o, []string{*o}}, nil
	}
	host, err := shortName(pod)
	if err != nil || spec.Subdomain == "" {
		return Names{host, []string{host}}, err
	}
	if bad := validation.IsDNS1123Label(spec.Subdomain); len(bad) > 0 {
		return Names{}, fmt.Errorf("spec.subdomain: %q: %s", spec.Subdomain, bad[0])
	}
	full := strings.TrimSuffix(host+"."+spec.Subdomain+"."+pod.Namespace+".svc."+n.ClusterDomain, ".")
	if !isSet(spec.SetHostnameAsFQDN) {
		return Names{host, []string{full, host}}, nil
	}
	if len(full) > maxHostname {
		return Names{}, fmt.Errorf("spec.setHostnameAsFQDN: %q has %d bytes, and a kernel takes %d", full, len(full), maxHostname)
	}
	return Names{full, []string{full, host}}, nil
}

// shortName is the name that the pod asks for, or its own, cut to a label.
func shortName(pod *v1.Pod) (string, error) {
	if name := pod.Spec.Hostname; name != "" {
		if bad := validation.IsDNS1123Label(name); len(bad) > 0 {
			return "", fmt.Errorf("spec.hostname: %q: %s", name, bad[0])
		}
		return name, nil
	}
	name := pod.Name
	if len(name) > maxLabel {
		name = strings.TrimRight(name[:maxLabel], "-.")
	}
	return name, nil
}
