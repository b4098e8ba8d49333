package nodestatus

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
)

// HostIPs are the addresses by which pods know their node, primary first: the first internal one, or
// external one if there is none, and the first one of the other family, if there is one.
func HostIPs(addresses []v1.NodeAddress) (ips []string) {
	var primary netip.Addr
	for _, kind := range [...]v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, a := range addresses {
			ip, err := netip.ParseAddr(a.Address)
			switch {
			case a.Type != kind || err != nil:
			case len(ips) == 0:
				primary, ips = ip, []string{a.Address}
			case ip.Is4() != primary.Is4():
				return append(ips, a.Address)
			}
		}
	}
	return ips
}
