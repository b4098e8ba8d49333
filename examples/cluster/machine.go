package main

import (
	"context"
	"math"
	"net"
	"net/netip"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/examples/internal/command"
	"github.com/podkeel/podkeel/internal/osfile"
)

// machineCapacity returns the capacity of the machine. Its ephemeral storage is the size of the file system
// that contains root. It has no ephemeral storage if the system does not report that size.
func machineCapacity(root string) v1.ResourceList {
	all := command.Capacity()
	if bytes, ok := diskSize(root); ok {
		all[v1.ResourceEphemeralStorage] = *resource.NewQuantity(bytes, resource.BinarySI)
	}
	return all
}

// diskSize returns the size of the file system that contains a directory. If the directory does not exist yet,
// it uses the nearest parent that exists. ok is false if the system does not report the size.
func diskSize(dir string) (bytes int64, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0, false
	}
	for {
		if size, _, ok := osfile.Capacity(dir); ok && size <= math.MaxInt64 {
			return int64(size), true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return 0, false
		}
		dir = above
	}
}

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
