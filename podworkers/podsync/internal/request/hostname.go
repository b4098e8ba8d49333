package request

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

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
