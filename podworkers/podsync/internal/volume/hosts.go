package volume

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// HostsFile returns the content of a pod's hosts file: the addresses of the pod with its names, and
// then its hostAliases. With the host network it has the hosts file of the node instead of the
// addresses. The first line is the kubelet's, because tools use it to recognise a managed hosts file.
func HostsFile(pod *v1.Pod, ips, names []string, host []byte) ([]byte, error) {
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
			if err := writeHostsEntry(&b, ip, names); err != nil {
				return nil, err
			}
		}
	}
	if len(pod.Spec.HostAliases) == 0 {
		return []byte(b.String()), nil
	}
	b.WriteString("\n# The pod's hostAliases.\n")
	for i, alias := range pod.Spec.HostAliases {
		if err := writeHostsEntry(&b, alias.IP, alias.Hostnames); err != nil {
			return nil, fmt.Errorf("spec.hostAliases[%d]: %w", i, err)
		}
	}
	return []byte(b.String()), nil
}

// writeHostsEntry writes one line of a hosts file with an address and its names. It returns an error, and
// writes nothing, if the address or a name is invalid or there are no names.
func writeHostsEntry(b *strings.Builder, ip string, names []string) error {
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
