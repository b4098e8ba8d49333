package main

import (
	"context"
	"net"
	"net/netip"
)

// addressFinder finds the address from which the machine reaches the API server.
type addressFinder interface {
	LocalAddress(ctx context.Context) (netip.Addr, error)
}

// primaryIPs returns the address from which the machine reaches the API server. If that is unknown or a
// loopback address, it returns the first global unicast address of the interfaces, or nil.
func primaryIPs(ctx context.Context, server addressFinder, interfaces func() ([]net.Addr, error)) []string {
	if ip, err := server.LocalAddress(ctx); err == nil && !ip.IsLoopback() {
		return []string{ip.String()}
	}
	addresses, _ := interfaces()
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil && prefix.Addr().IsGlobalUnicast() {
			return []string{prefix.Addr().String()}
		}
	}
	return nil
}
