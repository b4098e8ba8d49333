package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/podkeel/podkeel/runtime/cri"
	"github.com/podkeel/podkeel/syncloop/node"
)

// What --runtime cri has where nothing is said.
const (
	defaultEndpoint = "unix:///run/containerd/containerd.sock"
	defaultStateDir = "/var/lib/podkeel"
	// hello is how long a runtime may take to say its name. One that is not there
	// yet is called containerd.
	hello = 2 * time.Second
)

// onCRI has the runtime behind an endpoint. Nothing of it has to be there yet.
func (o *options) onCRI(c *node.Config) error {
	dir, err := filepath.Abs(o.stateDir)
	if err != nil {
		return fmt.Errorf("--state-dir %q: %w", o.stateDir, err)
	}
	owner, err := cri.OwnerFile(dir)
	if err != nil {
		return fmt.Errorf("--state-dir %q: %w", o.stateDir, err)
	}
	runtime, err := cri.New(cri.Config{Endpoint: o.criEndpoint, Owner: owner, Log: c.Log, Hooks: o.metrics.CRI()})
	if err != nil {
		return fmt.Errorf("--cri-endpoint %q: %w", o.criEndpoint, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hello)
	defer cancel()
	name, _, err := runtime.Version(ctx)
	if err != nil {
		name = "containerd"
	}
	c.Runtime, c.Containers.RuntimeName = runtime, name
	o.logs.Place(c, dir, filepath.Join(dir, "logs"), "")
	if c.Containers.DNS.ReadHost, err = o.hostResolver(); err != nil {
		return err
	}
	c.Containers.SeccompRoot = filepath.Join(dir, "seccomp")
	c.Containers.HostIPs = o.nodeIPs
	if len(c.Containers.HostIPs) == 0 {
		c.Containers.HostIPs = hostIPs()
	}
	return nil
}

// hostIPs is the first address of the machine that others can reach, if it has
// one.
func hostIPs() []string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, address := range addresses {
		prefix, err := netip.ParsePrefix(address.String())
		if err == nil && prefix.Addr().IsGlobalUnicast() && prefix.Addr().Is4() {
			return []string{prefix.Addr().String()}
		}
	}
	return nil
}

// setNodeIPs wants addresses, the primary one first.
func (o *options) setNodeIPs(s string) error {
	o.nodeIPs = nil
	for ip := range strings.SplitSeq(s, ",") {
		if _, err := netip.ParseAddr(ip); err != nil {
			return errors.New("expected addresses, as 192.0.2.1,2001:db8::1")
		}
		o.nodeIPs = append(o.nodeIPs, ip)
	}
	return nil
}

// setEndpoint wants a socket. It may come later.
func (o *options) setEndpoint(s string) error {
	o.criEndpoint = s
	path, isURL := strings.CutPrefix(s, "unix://")
	if (!isURL && strings.Contains(s, "://")) || !filepath.IsAbs(path) {
		return errors.New("expected a socket, as " + defaultEndpoint)
	}
	return nil
}
