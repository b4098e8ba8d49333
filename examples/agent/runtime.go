package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/podkeel/podkeel/runtime/cri"
	"github.com/podkeel/podkeel/syncloop/node"
)

// Defaults of --runtime cri.
const (
	defaultEndpoint = "unix:///run/containerd/containerd.sock"
	defaultStateDir = "/var/lib/podkeel"
	// versionTimeout is how long a runtime may take to return its name. A runtime that does not answer yet is called
	// containerd.
	versionTimeout = 2 * time.Second
)

// configureCRI creates the client of the CRI runtime, and sets it and all settings that need a real runtime:
// logs, DNS, seccomp profiles and the node's addresses. The runtime need not be running yet.
func (o *options) configureCRI(c *node.Config) error {
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
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	name, _, err := runtime.Version(ctx)
	if err != nil {
		name = "containerd"
	}
	c.Runtime, c.Containers.RuntimeName = runtime, name
	if err := o.cgroups.Configure(c, runtime, owner); err != nil {
		return err
	}
	o.logs.Configure(c, dir, filepath.Join(dir, "logs"), "")
	if err := o.eviction.Configure(c, dir, runtime); err != nil {
		return err
	}
	if c.Containers.DNS.ReadHost, err = o.newReaderOfResolverFileOrDefault(); err != nil {
		return err
	}
	c.Containers.SeccompRoot = filepath.Join(dir, "seccomp")
	c.Containers.HostIPs = o.nodeIPs
	if len(c.Containers.HostIPs) == 0 {
		c.Containers.HostIPs = firstGlobalIPv4()
	}
	return nil
}

// configureEvictionsInMemory lets the node evict simulated pods if a flag sets thresholds. It measures this host.
func (o *options) configureEvictionsInMemory(c *node.Config) error {
	if !o.eviction.HasThresholds() {
		return nil
	}
	return o.eviction.Configure(c, cmp.Or(o.stateDir, os.TempDir()), nil)
}

// firstGlobalIPv4 returns a list with the machine's first global unicast IPv4 address, or an empty list.
func firstGlobalIPv4() []string {
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

// setNodeIPs parses IP addresses, separated by commas, and stores them as the addresses of the node, the
// primary one first. It returns an error if one is no IP address.
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

// setCRIEndpoint stores the endpoint. It returns an error unless the endpoint is an absolute path, with or
// without unix://. The socket need not exist yet.
func (o *options) setCRIEndpoint(s string) error {
	o.criEndpoint = s
	path, isURL := strings.CutPrefix(s, "unix://")
	if (!isURL && strings.Contains(s, "://")) || !filepath.IsAbs(path) {
		return errors.New("expected a socket, as " + defaultEndpoint)
	}
	return nil
}
