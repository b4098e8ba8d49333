package volume

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Hosts is the content of a pod's hosts file: its own addresses by its names,
// or, with the network of the host, what the host has; and then its aliases. The first line is the
// kubelet's: tools find by it that a hosts file is not the image's.
func Hosts(pod *v1.Pod, ips, names []string, host []byte) ([]byte, error) {
	var b strings.Builder
	if pod.Spec.HostNetwork {
		b.WriteString("# Kubernetes-managed hosts file (host network).\n")
		b.Write(host)
		if len(host) > 0 && host[len(host)-1] != '\n' {
			b.WriteByte('\n')
		}
	} else {
		b.WriteString("# Kubernetes-managed hosts file.\n" +
			"127.0.0.1\tlocalhost\n" +
			"::1\tlocalhost ip6-localhost ip6-loopback\n" +
			"fe00::0\tip6-localnet\n" +
			"fe00::0\tip6-mcastprefix\n" +
			"fe00::1\tip6-allnodes\n" +
			"fe00::2\tip6-allrouters\n")
		for _, ip := range ips {
			if err := entry(&b, ip, names); err != nil {
				return nil, err
			}
		}
	}
	if len(pod.Spec.HostAliases) == 0 {
		return []byte(b.String()), nil
	}
	b.WriteString("\n# The pod's hostAliases.\n")
	for i, alias := range pod.Spec.HostAliases {
		if err := entry(&b, alias.IP, alias.Hostnames); err != nil {
			return nil, fmt.Errorf("spec.hostAliases[%d]: %w", i, err)
		}
	}
	return []byte(b.String()), nil
}

// entry writes one line, and nothing that would become two.
func entry(b *strings.Builder, ip string, names []string) error {
	if len(validation.IsValidIP(nil, ip)) > 0 {
		return fmt.Errorf("%q is no address", ip)
	}
	if len(names) == 0 {
		return errors.New("it has no names")
	}
	for _, name := range names {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '#' || r == 0x7f }) {
			return fmt.Errorf("%q is no host name", name)
		}
	}
	b.WriteString(ip + "\t" + strings.Join(names, "\t") + "\n")
	return nil
}
