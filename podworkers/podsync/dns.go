package podsync

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Resolver is what pods are told about the names of others. The zero value is a
// node without a cluster: pods use the resolver of the host as it is.
type Resolver struct {
	// ClusterDNS are the addresses of the cluster's name servers.
	ClusterDNS []string
	// ClusterDomain is what the names of the cluster end in, as "cluster.local".
	ClusterDomain string
	// Host is the resolver configuration of the host, see ParseResolver. Where it
	// is empty, a runtime that is told nothing uses the host's own.
	Host runtime.DNS
	// ReadHost, if it is set, takes the place of Host, which may change while pods
	// run. It is called before each sandbox whose pod goes by the host, by several
	// goroutines, and should not block. With an error the sandbox is not made, and
	// tried again.
	ReadHost func() (runtime.DNS, error)
}

// host is the resolver configuration of the host, as it is now.
func (r *Resolver) host() (runtime.DNS, error) {
	if r.ReadHost == nil {
		return cloneDNS(r.Host), nil
	}
	d, err := r.ReadHost()
	if err != nil {
		return runtime.DNS{}, fmt.Errorf("the host's resolver configuration: %w", err)
	}
	return cloneDNS(d), nil
}

// What a resolver takes; the rest is left out.
const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchChars = 2048
)

// ParseResolver reads a resolver configuration, as that in /etc/resolv.conf. Of
// several search lines the last one counts. What it does not know it skips.
func ParseResolver(text string) runtime.DNS {
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

// resolver is what a pod's names are resolved with. The warnings say what was
// left out, or had to be replaced.
func (r *Resolver) resolver(pod *v1.Pod) (d runtime.DNS, warnings []string, err error) {
	spec := &pod.Spec
	if spec.DNSPolicy != v1.DNSNone {
		if d, err = r.host(); err != nil {
			return runtime.DNS{}, nil, err
		}
	}
	switch policy := spec.DNSPolicy; policy {
	case v1.DNSNone, v1.DNSDefault:
	case v1.DNSClusterFirst, "":
		d = r.clusterFirst(pod, !spec.HostNetwork, d)
	case v1.DNSClusterFirstWithHostNet:
		d = r.clusterFirst(pod, true, d)
		if len(r.ClusterDNS) == 0 {
			warnings = append(warnings, fmt.Sprintf("the node has no cluster DNS: the policy %s is taken for %s", policy, v1.DNSDefault))
		}
	default:
		return runtime.DNS{}, nil, fmt.Errorf("spec.dnsPolicy: %q is not known", string(policy))
	}
	if spec.DNSConfig != nil {
		if spec.DNSPolicy != v1.DNSNone && len(d.Servers) == 0 && len(spec.DNSConfig.Nameservers) == 0 {
			warnings = append(warnings, "spec.dnsConfig is added to nothing: what the host resolves names with is not known")
		}
		addOwn(&d, spec.DNSConfig)
	}
	return d, append(warnings, cutToFit(&d)...), nil
}

// clusterFirst asks the cluster, if there is one and the pod asks for it.
func (r *Resolver) clusterFirst(pod *v1.Pod, wanted bool, host runtime.DNS) runtime.DNS {
	if len(r.ClusterDNS) == 0 || !wanted {
		return host
	}
	d := runtime.DNS{Servers: slices.Clone(r.ClusterDNS), Options: []string{"ndots:5"}}
	if r.ClusterDomain != "" {
		services := "svc." + r.ClusterDomain
		d.Searches = []string{pod.Namespace + "." + services, services, r.ClusterDomain}
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
