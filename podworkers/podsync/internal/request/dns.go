package request

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/runtime"
)

// The limits of a resolver configuration. Entries beyond them are left out.
const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchChars = 2048
)

// ParseDNS parses a resolver configuration such as /etc/resolv.conf. The last of several search lines
// counts. Unknown lines are skipped.
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
			d.Options = mergeDNSOptions(d.Options, words[1:])
		}
	}
	return d
}

// UsesHostDNS reports whether the resolver configuration of a pod depends on the one of the host.
func UsesHostDNS(pod *v1.Pod) bool { return pod.Spec.DNSPolicy != v1.DNSNone }

// DNSConfig returns the resolver configuration of a pod. host is the configuration of the host. It is
// used only if UsesHostDNS. The warnings name the entries that were left out or replaced.
func (n *Node) DNSConfig(pod *v1.Pod, host runtime.DNS) (d runtime.DNS, warnings []string, err error) {
	spec := &pod.Spec
	if UsesHostDNS(pod) {
		d = cloneDNS(host)
	}
	switch policy := spec.DNSPolicy; policy {
	case v1.DNSNone, v1.DNSDefault:
	case v1.DNSClusterFirst, "":
		d = n.clusterFirstDNS(pod, !spec.HostNetwork, d)
	case v1.DNSClusterFirstWithHostNet:
		d = n.clusterFirstDNS(pod, true, d)
		if len(n.ClusterDNS) == 0 {
			warnings = append(warnings, fmt.Sprintf("the node has no cluster DNS: the policy %s is treated as %s", policy, v1.DNSDefault))
		}
	default:
		return runtime.DNS{}, nil, fmt.Errorf("spec.dnsPolicy: %q is not known", string(policy))
	}
	if spec.DNSConfig != nil {
		if UsesHostDNS(pod) && len(d.Servers) == 0 && len(spec.DNSConfig.Nameservers) == 0 {
			warnings = append(warnings, "spec.dnsConfig is used alone: the resolver configuration of the host is not known")
		}
		addPodDNSConfig(&d, spec.DNSConfig)
	}
	return d, append(warnings, truncateDNS(&d)...), nil
}

// clusterFirstDNS returns the resolver configuration for dnsPolicy ClusterFirst: the DNS servers and search
// domains of the cluster, followed by the search domains of the host. It returns host unchanged if
// useClusterDNS is false or the node has no cluster DNS.
func (n *Node) clusterFirstDNS(pod *v1.Pod, useClusterDNS bool, host runtime.DNS) runtime.DNS {
	if len(n.ClusterDNS) == 0 || !useClusterDNS {
		return host
	}
	d := runtime.DNS{Servers: slices.Clone(n.ClusterDNS), Options: []string{"ndots:5"}}
	if n.ClusterDomain != "" {
		services := "svc." + n.ClusterDomain
		d.Searches = []string{pod.Namespace + "." + services, services, n.ClusterDomain}
	}
	d.Searches = uniqueStrings(append(d.Searches, host.Searches...))
	return d
}

// addPodDNSConfig adds the servers, search domains and options of spec.dnsConfig to d, without duplicates. An
// option replaces an option of d with the same name.
func addPodDNSConfig(d *runtime.DNS, dnsConfig *v1.PodDNSConfig) {
	d.Servers = uniqueStrings(append(d.Servers, dnsConfig.Nameservers...))
	d.Searches = uniqueStrings(append(d.Searches, dnsConfig.Searches...))
	var options []string
	for _, o := range dnsConfig.Options {
		option := o.Name
		if o.Value != nil && *o.Value != "" {
			option += ":" + *o.Value
		}
		options = append(options, option)
	}
	d.Options = mergeDNSOptions(d.Options, options)
}

// mergeDNSOptions returns options followed by the added ones. An added option takes the place of an option with
// the same name. It may change the slice options.
func mergeDNSOptions(options, added []string) []string {
	name := func(option string) string {
		name, _, _ := strings.Cut(option, ":")
		return name
	}
	for _, option := range added {
		same := func(o string) bool { return name(o) == name(option) }
		if i := slices.IndexFunc(options, same); i >= 0 {
			options[i] = option
			continue
		}
		options = append(options, option)
	}
	return options
}

// truncateDNS removes, in place, the servers and search domains that exceed the limits of a resolver. It
// returns one warning for each list that became shorter.
func truncateDNS(d *runtime.DNS) (warnings []string) {
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

// uniqueStrings returns the strings without duplicates, in the order of their first occurrences.
func uniqueStrings(words []string) []string {
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

// cloneDNS returns a deep copy of a resolver configuration.
func cloneDNS(d runtime.DNS) runtime.DNS {
	return runtime.DNS{Servers: slices.Clone(d.Servers), Searches: slices.Clone(d.Searches), Options: slices.Clone(d.Options)}
}

// The longest host name of the Linux kernel, and the longest label of a DNS name.
const (
	maxHostname = 64
	maxLabel    = 63
)

// Hostnames are the host names of a pod.
type Hostnames struct {
	Host  string   // the host name of the sandbox
	Hosts []string // the names in the hosts file
}

// Hostnames returns the host names of a pod. The error names a field that cannot be honoured. A pod in
// the host network has the name of the host, and the result is empty.
func (n *Node) Hostnames(pod *v1.Pod) (Hostnames, error) {
	spec := &pod.Spec
	if spec.HostNetwork {
		return Hostnames{}, nil
	}
	if o := spec.HostnameOverride; o != nil {
		if bad := validation.IsDNS1123Subdomain(*o); len(bad) > 0 || len(*o) > maxHostname {
			return Hostnames{}, fmt.Errorf("spec.hostnameOverride: %q is no host name of at most %d bytes", *o, maxHostname)
		}
		return Hostnames{*o, []string{*o}}, nil
	}
	host, err := podHostname(pod)
	if err != nil || spec.Subdomain == "" {
		return Hostnames{host, []string{host}}, err
	}
	if bad := validation.IsDNS1123Label(spec.Subdomain); len(bad) > 0 {
		return Hostnames{}, fmt.Errorf("spec.subdomain: %q: %s", spec.Subdomain, bad[0])
	}
	full := strings.TrimSuffix(host+"."+spec.Subdomain+"."+pod.Namespace+".svc."+n.ClusterDomain, ".")
	if !isTrue(spec.SetHostnameAsFQDN) {
		return Hostnames{host, []string{full, host}}, nil
	}
	if len(full) > maxHostname {
		return Hostnames{}, fmt.Errorf("failed to construct FQDN from pod hostname and cluster domain, FQDN %s is too long (%d characters is the max, %d characters requested)", full, maxHostname, len(full))
	}
	return Hostnames{full, []string{full, host}}, nil
}

// podHostname returns spec.hostname or, if that is empty, the pod's name cut to 63 characters, without "-" or
// "." at the end of the cut name. It returns an error if spec.hostname is invalid.
func podHostname(pod *v1.Pod) (string, error) {
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
