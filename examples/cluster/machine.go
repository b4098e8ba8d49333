package main

import (
	"context"
	"net"
	"net/netip"
)

// router knows the address from which the API server is reached.
type router interface {
	LocalAddress(ctx context.Context) (netip.Addr, error)
}

// localIPs are the addresses of a node that has been given none: the one from which the machine
// reaches the API server. If that runs on the machine itself, it is the first one that others can
// reach.
func localIPs(ctx context.Context, server router, interfaces func() ([]net.Addr, error)) []string {
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
