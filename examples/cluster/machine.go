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

// capacity is what the machine has, with the size of the disk below which the node keeps its files, so
// that pods can ask for a part of that.
func capacity(root string) v1.ResourceList {
	all := command.Capacity()
	if bytes, ok := diskOf(root); ok {
		all[v1.ResourceEphemeralStorage] = *resource.NewQuantity(bytes, resource.BinarySI)
	}
	return all
}

// diskOf is the size of the file system in which a directory is, or will be. It is false where the
// system does not tell.
func diskOf(dir string) (bytes int64, ok bool) {
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
