package nodestatus

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
)

// HostIPs returns the host IPs for the status of pods, the primary IP first. The primary IP is the first
// internal address, or the first external one if the node has no internal address. The second IP is the
// first address of the other IP family.
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
