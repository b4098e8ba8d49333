package convert

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

func TestSelector(t *testing.T) {
	assert.Equal(t, map[string]string{LabelOwner: "me"}, Selector("me", ""))
	assert.Equal(t, map[string]string{LabelOwner: "me", LabelPodUID: "u"}, Selector("me", "u"))
}

// A runtime that is ready needs no reason. One that is not gives a reason, a message or
// both.
func TestRuntimeStatus_Why(t *testing.T) {
	for _, c := range []struct {
		condition *cri.RuntimeCondition
		want      string
	}{
		{&cri.RuntimeCondition{Status: true, Reason: "r", Message: "m"}, ""},
		{&cri.RuntimeCondition{Reason: "r", Message: "m"}, "r: m"},
		{&cri.RuntimeCondition{Reason: "r"}, "r"},
		{&cri.RuntimeCondition{Message: "m"}, "m"},
		{&cri.RuntimeCondition{}, ""},
	} {
		c.condition.Type = cri.RuntimeReady
		got := RuntimeStatus(&cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{c.condition}}})
		want := runtime.RuntimeStatus{RuntimeReady: c.condition.Status, RuntimeMessage: c.want, NetworkMessage: noConditionMessage}
		assert.Equal(t, want, got, "%v", c.condition)
	}
}

// Mountpoint returns the first file system that has a path.
func TestMountpoint(t *testing.T) {
	at, used := Mountpoint([]*cri.FilesystemUsage{
		nil, {UsedBytes: &cri.UInt64Value{Value: 1}},
		{FsId: &cri.FilesystemIdentifier{Mountpoint: "/first"}, UsedBytes: &cri.UInt64Value{Value: 2}},
		{FsId: &cri.FilesystemIdentifier{Mountpoint: "/second"}, UsedBytes: &cri.UInt64Value{Value: 3}},
	})
	assert.Equal(t, "/first", at)
	assert.Equal(t, uint64(2), used)
	at, used = Mountpoint(nil)
	assert.Empty(t, at)
	assert.Zero(t, used)
}

func TestWhen(t *testing.T) {
	for ns, want := range map[int64]time.Time{-1: {}, 0: {}, 1: time.Unix(0, 1)} {
		assert.Equal(t, want, timeFromNanos(ns), "%d", ns)
	}
}

// Capabilities are there if any is added or dropped.
func TestSecurity_Capabilities(t *testing.T) {
	for _, c := range []struct {
		asked runtime.Security
		want  *cri.Capability
	}{
		{runtime.Security{}, nil},
		{runtime.Security{AddCapabilities: []string{"A"}}, &cri.Capability{AddCapabilities: []string{"A"}}},
		{runtime.Security{DropCapabilities: []string{"D"}}, &cri.Capability{DropCapabilities: []string{"D"}}},
		{
			runtime.Security{AddCapabilities: []string{"A"}, DropCapabilities: []string{"D"}},
			&cri.Capability{AddCapabilities: []string{"A"}, DropCapabilities: []string{"D"}},
		},
	} {
		assert.Equal(t, c.want, toCRIContainerSecurity(&c.asked, runtime.Namespaces{}).Capabilities)
	}
}

// DNS settings are there if there is any of the three kinds.
func TestDNS(t *testing.T) {
	assert.Nil(t, toCRIDNS(runtime.DNS{}))
	for _, d := range []runtime.DNS{
		{Servers: []string{"s"}}, {Searches: []string{"d"}}, {Options: []string{"o"}},
		{Servers: []string{"s"}, Searches: []string{"d"}}, {Servers: []string{"s"}, Options: []string{"o"}},
	} {
		assert.Equal(t, &cri.DNSConfig{Servers: d.Servers, Searches: d.Searches, Options: d.Options}, toCRIDNS(d))
	}
}

// Zero asks for nothing; a limit of nothing but processes is one.
func TestResources_Bounds(t *testing.T) {
	for _, c := range []struct {
		asked runtime.Resources
		want  *cri.LinuxContainerResources
	}{
		{runtime.Resources{PIDs: 1}, &cri.LinuxContainerResources{Unified: map[string]string{"pids.max": "1"}}},
		{runtime.Resources{CPUShares: 1}, &cri.LinuxContainerResources{CpuShares: 1}},
		{runtime.Resources{CPUShares: math.MaxUint64}, &cri.LinuxContainerResources{CpuShares: math.MaxInt64}},
		{runtime.Resources{CPUQuota: time.Microsecond}, &cri.LinuxContainerResources{CpuQuota: 1}},
		{runtime.Resources{MemoryBytes: 1}, &cri.LinuxContainerResources{MemoryLimitInBytes: 1}},
		{runtime.Resources{SwapBytes: 1}, &cri.LinuxContainerResources{MemorySwapLimitInBytes: 1}},
		{runtime.Resources{MemoryBytes: -1, SwapBytes: 1}, &cri.LinuxContainerResources{MemoryLimitInBytes: -1, MemorySwapLimitInBytes: -1}},
	} {
		assert.Equal(t, c.want.String(), Resources(c.asked).String(), "%+v", c.asked)
	}
}

func TestPageSize(t *testing.T) {
	for size, want := range map[string]string{
		"0": "0B", "1": "1B", "1023": "1023B", "1024": "1KB", "1025": "1025B", "1Mi": "1MB", "1Gi": "1GB", "1Ti": "1024GB", "-1Ki": "-1024B", "x": "x",
	} {
		assert.Equal(t, want, formatPageSize(size), size)
	}
}

// A status without a time keeps the time of the list. Each address occurs once.
func TestSandboxStatus_Bounds(t *testing.T) {
	listed := runtime.Sandbox{ID: "s", CreatedAt: time.Unix(0, 5)}
	got := SandboxStatus(listed, &cri.PodSandboxStatus{Network: &cri.PodSandboxNetworkStatus{
		AdditionalIps: []*cri.PodIP{nil, {Ip: "192.0.2.1"}, {Ip: "192.0.2.1"}, {Ip: "2001:db8::1"}},
	}})
	assert.Equal(t, runtime.SandboxStatus{Sandbox: listed, IPs: []string{"192.0.2.1", "2001:db8::1"}}.IPs, got.IPs)
	assert.Equal(t, time.Unix(0, 5), got.CreatedAt)
	assert.Equal(t, time.Unix(0, 6), SandboxStatus(listed, &cri.PodSandboxStatus{CreatedAt: 6}).CreatedAt)
}

// An image pull for a pod says for which, and for which of its containers.
func TestPullImage_For(t *testing.T) {
	got := PullImage(runtime.PullImageRequest{Image: "i"})
	assert.Nil(t, got.SandboxConfig)
	assert.Nil(t, got.Auth)
	pod := runtime.PodRef{UID: "u", Name: "n", Namespace: "ns"}
	got = PullImage(runtime.PullImageRequest{Image: "i", Pod: pod})
	assert.Equal(t, &cri.PodSandboxConfig{Metadata: toCRISandboxMetadata(pod, 0)}, got.SandboxConfig)
	got = PullImage(runtime.PullImageRequest{Image: "i", Pod: pod, Container: "c", Auth: &runtime.Auth{Username: "a", Password: "b", Token: "t"}})
	assert.Equal(t, map[string]string{LabelContainerName: "c"}, got.SandboxConfig.Annotations)
	assert.Equal(t, &cri.AuthConfig{Username: "a", Password: "b", IdentityToken: "t"}, got.Auth)
}
