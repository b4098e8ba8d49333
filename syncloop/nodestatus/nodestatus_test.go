package nodestatus_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func healthy() nodestatus.Facts {
	return nodestatus.Facts{Now: epoch, RuntimeSeen: epoch, Runtime: runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}}
}

func conditions(s v1.NodeStatus) (all []string) {
	for _, c := range s.Conditions {
		all = append(all, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return all
}

// TestStatus_ND18_ND19_Conditions: Ready follows the runtime and its network. A pressure condition exists only
// if it was measured.
func TestStatus_ND18_ND19_Conditions(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*nodestatus.Facts)
		want   []string
	}{
		{"well", func(*nodestatus.Facts) {}, []string{"Ready=True KubeletReady: kubelet is posting ready status"}},
		{"never seen", func(f *nodestatus.Facts) { f.RuntimeSeen = time.Time{} }, []string{"Ready=False KubeletNotReady: container runtime status check may not have completed yet"}},
		{"seen 30 s ago", func(f *nodestatus.Facts) { f.RuntimeSeen = epoch.Add(-30 * time.Second) }, []string{"Ready=True KubeletReady: kubelet is posting ready status"}},
		{"down", func(f *nodestatus.Facts) { f.RuntimeSeen = epoch.Add(-31 * time.Second) }, []string{"Ready=False KubeletNotReady: container runtime is down"}},
		{"no network", func(f *nodestatus.Facts) {
			f.Runtime.NetworkReady, f.Runtime.NetworkMessage = false, "cni plugin not initialized"
			f.Problems = []string{"pleg is not healthy"}
		}, []string{"Ready=False KubeletNotReady: cni plugin not initialized; pleg is not healthy"}},
		{"not ready", func(f *nodestatus.Facts) { f.Runtime = runtime.RuntimeStatus{} }, []string{"Ready=False KubeletNotReady: container runtime is not ready; container runtime network is not ready"}},
		{"pressure", func(f *nodestatus.Facts) {
			f.Pressure = map[v1.NodeConditionType]bool{v1.NodeDiskPressure: true, v1.NodeMemoryPressure: false}
		}, []string{
			"MemoryPressure=False KubeletHasSufficientMemory: kubelet has sufficient memory available",
			"DiskPressure=True KubeletHasDiskPressure: kubelet has disk pressure",
			"Ready=True KubeletReady: kubelet is posting ready status",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := healthy()
			c.change(&f)
			assert.Equal(t, c.want, conditions(nodestatus.Status(&v1.NodeStatus{}, f)))
		})
	}
}

// TestStatus_ND18_Times: the heartbeat time changes each time, the transition time only with the status of the
// condition.
func TestStatus_ND18_Times(t *testing.T) {
	f := healthy()
	first := nodestatus.Status(&v1.NodeStatus{}, f)
	f.Now = epoch.Add(20 * time.Second)
	second := nodestatus.Status(&first, f)
	assert.Equal(t, f.Now, second.Conditions[0].LastHeartbeatTime.Time)
	assert.Equal(t, epoch, second.Conditions[0].LastTransitionTime.Time)
	f.Runtime.NetworkReady = false
	third := nodestatus.Status(&second, f)
	assert.Equal(t, f.Now, third.Conditions[0].LastTransitionTime.Time)
}

// TestStatus_ND14_ND16_ND17: resources, images and declared features.
func TestStatus_ND14_ND16_ND17(t *testing.T) {
	f := healthy()
	f.Capacity = v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("110")}
	f.Reserved = v1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("2Gi"), "example.com/gpu": resource.MustParse("1")}
	f.Handlers, f.Features, f.Port = []string{"runc", ""}, []string{"b", "a"}, 10250
	for i := range 60 {
		f.Images = append(f.Images, runtime.Image{ID: fmt.Sprintf("%02d", i), SizeBytes: uint64(i), Tags: []string{"t1", "t2", "t3", "t4"}, Digests: []string{"d1", "d2"}})
	}
	s := nodestatus.Status(&v1.NodeStatus{}, f)
	assert.Equal(t, "3500m", s.Allocatable.Cpu().String())
	assert.Equal(t, "0", s.Allocatable.Memory().String())
	assert.Len(t, s.Allocatable, 3)
	given := f
	given.Allocatable = v1.ResourceList{"memory": resource.MustParse("100Mi"), "example.com/gpu": resource.MustParse("1")}
	all := nodestatus.Status(&v1.NodeStatus{}, given).Allocatable
	assert.Equal(t, []string{"4", "100Mi", "110"}, []string{all.Cpu().String(), all.Memory().String(), all.Pods().String()})
	assert.Len(t, all, 3)
	assert.Equal(t, "4", s.Capacity.Cpu().String())
	require.Len(t, s.Images, nodestatus.MaxImages)
	assert.Equal(t, v1.ContainerImage{Names: []string{"d1", "d2", "t1", "t2", "t3"}, SizeBytes: 59}, s.Images[0])
	assert.Equal(t, []v1.NodeRuntimeHandler{{Name: ""}, {Name: "runc"}}, s.RuntimeHandlers)
	assert.Nil(t, s.Features)
	reported := f
	reported.StrictGroups = runtime.SupportFull
	reported.Runtime.Handlers = []runtime.RuntimeHandler{{Name: "runc", UserNamespaces: true}, {RecursiveReadOnlyMounts: true}}
	withFeatures := nodestatus.Status(&v1.NodeStatus{}, reported)
	assert.Equal(t, []v1.NodeRuntimeHandler{
		{Name: "", Features: &v1.NodeRuntimeHandlerFeatures{RecursiveReadOnlyMounts: new(true), UserNamespaces: new(false)}},
		{Name: "runc", Features: &v1.NodeRuntimeHandlerFeatures{RecursiveReadOnlyMounts: new(false), UserNamespaces: new(true)}},
	}, withFeatures.RuntimeHandlers)
	assert.Equal(t, &v1.NodeFeatures{SupplementalGroupsPolicy: new(true)}, withFeatures.Features)
	assert.Equal(t, "runc", reported.Runtime.Handlers[0].Name, "the facts are not changed")
	assert.Equal(t, []string{"a", "b"}, s.DeclaredFeatures)
	assert.Equal(t, int32(10250), s.DaemonEndpoints.KubeletEndpoint.Port)
	assert.Equal(t, "00", f.Images[0].ID, "the facts are not changed")
}

// TestShouldSendStatus_ND24: on change, or after five minutes.
func TestShouldSendStatus_ND24(t *testing.T) {
	f := healthy()
	f.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "192.0.2.1"}}
	f.Capacity = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
	sent := nodestatus.Status(&v1.NodeStatus{}, f)
	f.Now = epoch.Add(10 * time.Second)
	now := nodestatus.Status(&sent, f)
	assert.True(t, nodestatus.ShouldSendStatus(nil, nil, now, 0))
	assert.False(t, nodestatus.ShouldSendStatus(&sent, &sent, now, nodestatus.ReportPeriod-1))
	assert.True(t, nodestatus.ShouldSendStatus(&sent, &sent, now, nodestatus.ReportPeriod))
	for name, write := range map[string]func(*v1.NodeStatus){
		"port":        func(s *v1.NodeStatus) { s.DaemonEndpoints.KubeletEndpoint.Port = 6666 },
		"capacity":    func(s *v1.NodeStatus) { s.Capacity[v1.ResourceCPU] = resource.MustParse("0") },
		"allocatable": func(s *v1.NodeStatus) { delete(s.Allocatable, v1.ResourceCPU) },
	} {
		server := sent.DeepCopy()
		write(server)
		assert.True(t, nodestatus.ShouldSendStatus(&sent, server, now, 0), "another writer has changed the %s", name)
	}
	server := sent.DeepCopy()
	server.Capacity["example.com/added"], server.Addresses = resource.MustParse("1"), nil
	assert.False(t, nodestatus.ShouldSendStatus(&sent, server, now, 0))
	f.Port = 1
	assert.True(t, nodestatus.ShouldSendStatus(&sent, &sent, nodestatus.Status(&sent, f), 0))
	server = sent.DeepCopy()
	server.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}
	assert.True(t, nodestatus.ShouldSendStatus(&sent, server, now, 0), "others have written")
}

// TestReconcile_ND6_ND7_KB30: labels that the node no longer sets are removed, and labels of others stay.
func TestReconcile_ND6_ND7_KB30(t *testing.T) {
	spec := nodestatus.Spec{Name: "n1", OS: "linux", Arch: "arm64", Labels: map[string]string{"zone": "a", v1.LabelHostname: "other"}, Taints: []v1.Taint{{Key: "k"}}}
	existing := nodestatus.Node(spec, v1.NodeStatus{})
	assert.Equal(t, map[string]string{
		"zone": "a", v1.LabelHostname: "other", v1.LabelOSStable: "linux", v1.LabelArchStable: "arm64", "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm64",
	}, existing.Labels)
	assert.Equal(t, spec.Taints, existing.Spec.Taints)
	patch, err := nodestatus.Reconcile(existing, nodestatus.Node(spec, v1.NodeStatus{}))
	require.NoError(t, err)
	assert.Nil(t, patch)

	existing.Labels["theirs"] = "x"
	spec.Labels = map[string]string{"disk": "ssd"}
	patch, err = nodestatus.Reconcile(existing, nodestatus.Node(spec, v1.NodeStatus{}))
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"labels":{"disk":"ssd","kubernetes.io/hostname":"n1","zone":null},"annotations":{
		"podkeel.dev/labels":"beta.kubernetes.io/arch,beta.kubernetes.io/os,disk,kubernetes.io/arch,kubernetes.io/hostname,kubernetes.io/os"}}}`, string(patch))
}

// TestLease_ND32_KB20: the renew time increases, and the owner is the current node object.
func TestLease_ND32_KB20(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u1"}}
	first := nodestatus.Lease(nil, node, epoch)
	assert.Equal(t, "kube-node-lease/n1 n1 40 2026-01-01T00:00:00Z", text(first))
	first.ResourceVersion, node.UID = "7", "u2"
	second := nodestatus.Lease(first, node, epoch.Add(-time.Hour))
	assert.Equal(t, "kube-node-lease/n1 n1 40 2026-01-01T00:00:00.000001Z", text(second))
	assert.Equal(t, "7", second.ResourceVersion)
	assert.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "u2"}}, second.OwnerReferences)
}

func text(l *coordinationv1.Lease) string {
	return fmt.Sprintf("%s/%s %s %d %s", l.Namespace, l.Name, *l.Spec.HolderIdentity, *l.Spec.LeaseDurationSeconds, l.Spec.RenewTime.Format(time.RFC3339Nano))
}

// TestEvents_EB6: each change of the node is one event, with the kubelet's reason. Unknown and unchanged
// conditions, and conditions of others, cause no event.
func TestEvents_EB6(t *testing.T) {
	node := func(boot string, cordoned bool, conditions ...string) *v1.Node {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: v1.NodeSpec{Unschedulable: cordoned}}
		n.Status.NodeInfo.BootID = boot
		for _, c := range conditions {
			name, status, _ := strings.Cut(c, "=")
			n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: v1.NodeConditionType(name), Status: v1.ConditionStatus(status)})
		}
		return n
	}
	for _, c := range []struct {
		before, after *v1.Node
		want          string
	}{
		{node("", false), node("b", false, "MemoryPressure=False", "DiskPressure=False", "PIDPressure=False", "Ready=True", "Other=True"),
			"[{Normal NodeHasSufficientMemory Node n1 status is now: NodeHasSufficientMemory} {Normal NodeHasNoDiskPressure Node n1 status is now: NodeHasNoDiskPressure} " +
				"{Normal NodeHasSufficientPID Node n1 status is now: NodeHasSufficientPID} {Normal NodeReady Node n1 status is now: NodeReady}]"},
		{node("b", false, "Ready=True"), node("b", false, "Ready=True"), "[]"},
		{node("b", false, "Ready=True"), node("b", false, "Ready=Unknown"), "[]"},
		{node("b", false, "Ready=Unknown"), node("b", false, "Ready=True"), "[{Normal NodeReady Node n1 status is now: NodeReady}]"},
		{node("b", false, "Ready=True"), node("b", false, "Ready=False"), "[{Normal NodeNotReady Node n1 status is now: NodeNotReady}]"},
		{node("b", false, "MemoryPressure=False"), node("b", false, "MemoryPressure=True"), "[{Normal NodeHasInsufficientMemory Node n1 status is now: NodeHasInsufficientMemory}]"},
		{node("b", false, "DiskPressure=False", "PIDPressure=False"), node("b", false, "DiskPressure=True", "PIDPressure=True"),
			"[{Normal NodeHasDiskPressure Node n1 status is now: NodeHasDiskPressure} {Normal NodeHasInsufficientPID Node n1 status is now: NodeHasInsufficientPID}]"},
		{node("b", false), node("c", true), "[{Warning Rebooted Node n1 has been rebooted, boot id: c} {Normal NodeNotSchedulable Node n1 status is now: NodeNotSchedulable}]"},
		{node("c", true), node("c", false), "[{Normal NodeSchedulable Node n1 status is now: NodeSchedulable}]"},
	} {
		assert.Equal(t, c.want, fmt.Sprint(nodestatus.Events(c.before, c.after)))
	}
}

// TestHostIPs_VC29: internal addresses before external ones, one of each family.
func TestHostIPs_VC29(t *testing.T) {
	internal := func(ip string) v1.NodeAddress { return v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip} }
	external := func(ip string) v1.NodeAddress { return v1.NodeAddress{Type: v1.NodeExternalIP, Address: ip} }
	name := v1.NodeAddress{Type: v1.NodeHostName, Address: "192.0.2.77"}
	for _, c := range []struct {
		addresses []v1.NodeAddress
		want      []string
	}{
		{nil, nil},
		{[]v1.NodeAddress{name}, nil},
		{[]v1.NodeAddress{external("192.0.2.9"), name, internal("192.0.2.1"), internal("192.0.2.2")}, []string{"192.0.2.1"}},
		{[]v1.NodeAddress{external("192.0.2.9"), external("2001:db8::9")}, []string{"192.0.2.9", "2001:db8::9"}},
		{[]v1.NodeAddress{external("192.0.2.9"), internal("2001:db8::1"), internal("2001:db8::2")}, []string{"2001:db8::1", "192.0.2.9"}},
		{[]v1.NodeAddress{internal("nonsense"), internal("192.0.2.1")}, []string{"192.0.2.1"}},
	} {
		assert.Equal(t, c.want, nodestatus.HostIPs(c.addresses))
	}
}
