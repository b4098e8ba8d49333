package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/examples/internal/command"
	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/node"
)

// TestConfig_System: the node reports the boot ID and the capacity of the machine.
func TestConfig_System(t *testing.T) {
	o := &options{name: "n1", runtime: "memory", ips: []string{"127.0.0.1"}}
	config, err := o.nodeConfigAndLockRoot(apiservertest.New(apiservertest.Config{}).Client("n1"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	assert.Equal(t, command.SystemInfo(), config.Info)
	assert.NotEmpty(t, config.Info.BootID)
	assert.NotEmpty(t, config.Info.KernelVersion)
	assert.Equal(t, "Debian", command.LineValue("A=1\nPRETTY_NAME=Debian\n", "PRETTY_NAME="))
	assert.Empty(t, command.LineValue("A=1\n", "PRETTY_NAME="))
	assert.Equal(t, command.CapacityWithDisk(o.root), config.Node.Scheduling.Capacity)
	assert.Positive(t, config.Node.Scheduling.Capacity.Memory().Value())
	assert.Equal(t, []string{"InPlacePodLevelResourcesVerticalScaling", "ExtendWebSocketsToKubelet"}, config.Features)
	dir := t.TempDir()
	whole, _, known := osfile.Capacity(dir)
	disk, ok := command.CapacityWithDisk(filepath.Join(dir, "none", "yet"))[v1.ResourceEphemeralStorage]
	assert.Equal(t, known, ok)
	assert.Equal(t, int64(whole), disk.Value())
}

// route returns a fixed local address.
type route struct {
	ip  netip.Addr
	err error
}

func (r route) LocalAddress(context.Context) (netip.Addr, error) { return r.ip, r.err }

// TestLocalIPs: the node has the address from which the machine reaches the API server, and a loopback address only if
// there is no other.
func TestLocalIPs(t *testing.T) {
	machine := []net.Addr{
		&net.IPNet{IP: net.ParseIP("127.0.0.1"), Mask: net.CIDRMask(8, 32)}, &net.IPNet{IP: net.ParseIP("fe80::1"), Mask: net.CIDRMask(64, 128)},
		&net.IPNet{IP: net.ParseIP("192.0.2.7"), Mask: net.CIDRMask(24, 32)},
	}
	remote, loopback, lost := route{ip: netip.MustParseAddr("192.0.2.1")}, route{ip: netip.MustParseAddr("127.0.0.1")}, route{err: errors.New("no route")}
	for _, c := range []struct {
		server     addressFinder
		interfaces []net.Addr
		want       []string
	}{
		{remote, machine, []string{"192.0.2.1"}},
		{loopback, machine, []string{"192.0.2.7"}},
		{lost, machine, []string{"192.0.2.7"}},
		{loopback, machine[:2], nil},
	} {
		got := primaryIPs(t.Context(), c.server, func() ([]net.Addr, error) { return c.interfaces, nil })
		assert.Equal(t, c.want, got)
	}
}

// TestConfig_Flags: the flags set the configuration of the node, and a faulty manifest is reported.
func TestConfig_Flags(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("kind: Pod\napiVersion: v1\nspec: {restartPolicy: Sometimes}\n"), 0o600))
	o, err := parse([]string{
		"--kubeconfig", "x", "--hostname-override", "N1", "--max-pods", "7", "--cluster-dns", "192.0.2.53,192.0.2.54", "--cluster-domain", "Cluster.local.",
		"--pod-manifest-path", dir,
	})
	require.NoError(t, err)
	var logs bytes.Buffer
	config, err := o.nodeConfigAndLockRoot(apiservertest.New(apiservertest.Config{}).Client("n1"), slog.New(newRateLimitedHandler(&logs)))
	require.NoError(t, err)
	assert.Equal(t, "n1", config.Node.Name)
	assert.Equal(t, int32(10250), config.Port)
	assert.Equal(t, 7, config.Node.Scheduling.MaxPods)
	assert.Equal(t, podsync.Resolver{ClusterDNS: []string{"192.0.2.53", "192.0.2.54"}, ClusterDomain: "cluster.local"}, config.Node.Containers.DNS)
	_, err = config.Node.Pods.Sources["file"].(*manifest.Source).Scan(t.Context())
	require.NoError(t, err)
	assert.Contains(t, logs.String(), "Sometimes")
}

// TestAllowedUnsafeSysctls: with a CRI runtime, a pod may set the safe sysctls and the sysctls of the flag.
func TestAllowedUnsafeSysctls(t *testing.T) {
	_, err := parse([]string{"--kubeconfig", "x", "--allowed-unsafe-sysctls", "net.core.*,vm.swappiness"})
	require.ErrorContains(t, err, `the unsafe sysctl "vm.swappiness" belongs to no known namespace of a pod`)
	for flag, want := range map[string]string{"": "SysctlForbidden", "net.core.*,kernel.msgmax": ""} {
		o, err := parse([]string{"--kubeconfig", "x", "--allowed-unsafe-sysctls", flag})
		require.NoError(t, err)
		var c node.SchedulingConfig
		require.NoError(t, o.configureAdmission(&c))
		pod := &v1.Pod{Spec: v1.PodSpec{SecurityContext: &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "net.core.somaxconn"}}}}}
		assert.Equal(t, want, c.Admit[0].Admit(syncloop.PodAdmitAttributes{Pod: pod}).Reason, flag)
		assert.Len(t, c.Admit, 2)
	}
}
