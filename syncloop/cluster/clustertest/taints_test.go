package clustertest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/clustertest"
)

// taintsOf returns taints in one line, without the prefix of Kubernetes.
func taintsOf(taints []v1.Taint) string {
	var all []string
	for _, t := range taints {
		all = append(all, strings.TrimPrefix(t.Key, "node.kubernetes.io/")+":"+string(t.Effect))
	}
	return strings.Join(all, " ")
}

func (h *harness) nodeTaints(node string) string {
	h.Helper()
	return taintsOf(h.server.Admin().Node(node).Spec.Taints)
}

// TestDesiredTaints: the taints follow from the conditions, and the taints of others stay.
func TestDesiredTaints(t *testing.T) {
	for _, c := range []struct{ conditions, taints, want string }{
		{"Ready=True", "", ""},
		{"Ready=True", "not-ready:NoSchedule unreachable:NoSchedule unreachable:NoExecute", ""},
		{"Ready=True", "own:NoSchedule not-ready:NoSchedule own:NoExecute", "own:NoSchedule own:NoExecute"},
		{"Ready=False", "not-ready:NoSchedule", "not-ready:NoSchedule not-ready:NoExecute"},
		{"Ready=Unknown", "not-ready:NoSchedule own:NoSchedule", "own:NoSchedule unreachable:NoSchedule unreachable:NoExecute"},
		{"", "", ""},
		{"Ready=True MemoryPressure=True DiskPressure=True PIDPressure=True NetworkUnavailable=True", "", "memory-pressure:NoSchedule disk-pressure:NoSchedule pid-pressure:NoSchedule network-unavailable:NoSchedule"},
		{"Ready=True MemoryPressure=False DiskPressure=Unknown", "memory-pressure:NoSchedule", ""},
		{"Ready=True unschedulable", "", "unschedulable:NoSchedule"},
	} {
		node := &v1.Node{}
		for word := range strings.FieldsSeq(c.conditions) {
			kind, status, ok := strings.Cut(word, "=")
			if node.Spec.Unschedulable = !ok; ok {
				node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{Type: v1.NodeConditionType(kind), Status: v1.ConditionStatus(status)})
			}
		}
		for word := range strings.FieldsSeq(c.taints) {
			key, effect, _ := strings.Cut(word, ":")
			if key != "own" {
				key = "node.kubernetes.io/" + key
			}
			node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: key, Effect: v1.TaintEffect(effect)})
		}
		got := clustertest.DesiredTaints(node, metav1.Now())
		assert.Equal(t, c.want, taintsOf(got), "%s, %s", c.conditions, c.taints)
		for _, taint := range got {
			had := strings.Contains(c.taints, taintsOf([]v1.Taint{taint}))
			assert.Equal(t, had, taint.TimeAdded == nil, "a taint that the node has stays as it is")
		}
	}
}

// TestTainting, in a bubble: a ready node has no not-ready taint when Start returns, so that a scheduler can bind pods. A lost node is
// unreachable until it is back. A cordoned node is unschedulable. Own taints stay.
func TestTainting(t *testing.T) {
	own := func(c *cluster.Config) {
		c.Node.Scheduling.Taints = []v1.Taint{{Key: "own", Effect: v1.TaintEffectNoSchedule}}
	}
	runInBubble(t, clustertest.Config{Nodes: 2, Binding: clustertest.BindNever, Configure: own}, nil, func(h *harness) {
		n := h.nodes.Node("node-1")
		assert.Equal(h, "own:NoSchedule", h.nodeTaints("node-1"))
		n.Lose()
		assert.Equal(h, "own:NoSchedule unreachable:NoSchedule unreachable:NoExecute", h.nodeTaints("node-1"))
		assert.Equal(h, "own:NoSchedule", h.nodeTaints("node-0"))
		time.Sleep(time.Hour)
		assert.Equal(h, "own:NoSchedule unreachable:NoSchedule unreachable:NoExecute", h.nodeTaints("node-1"))
		n.Start()
		time.Sleep(time.Minute)
		assert.Equal(h, "own:NoSchedule", h.nodeTaints("node-1"))
		require.NoError(h, h.server.Admin().EditNode("node-1", func(node *v1.Node) { node.Spec.Unschedulable = true }))
		time.Sleep(time.Second)
		assert.Equal(h, "own:NoSchedule unschedulable:NoSchedule", h.nodeTaints("node-1"))
	})
}

// TestTainting_Outage, in a bubble: an update that fails is tried again.
func TestTainting_Outage(t *testing.T) {
	runInBubble(t, clustertest.Config{}, nil, func(h *harness) {
		clear := h.server.Inject(apiservertest.Fault{Verb: "patch", Resource: "nodes", Err: apierrors.NewInternalError(errors.New("broken"))})
		require.NoError(h, h.server.Admin().EditNode("node-0", func(node *v1.Node) { node.Spec.Unschedulable = true }))
		time.Sleep(time.Minute)
		assert.Empty(h, h.nodeTaints("node-0"))
		clear()
		time.Sleep(time.Minute)
		assert.Equal(h, "unschedulable:NoSchedule", h.nodeTaints("node-0"))
	})
}

// TestTainting_Controller, in a bubble: the taints are left alone if a controller manager holds its lease, or with TaintNever. Pods are
// bound in spite of the taints from before the node was ready.
func TestTainting_Controller(t *testing.T) {
	for _, c := range []struct {
		tainting clustertest.Tainting
		age      time.Duration
		want     string
	}{
		{clustertest.TaintWithoutController, 10 * time.Second, "not-ready:NoSchedule"},
		{clustertest.TaintWithoutController, 20 * time.Second, ""},
		{clustertest.TaintNever, 20 * time.Second, "not-ready:NoSchedule"},
	} {
		t.Run(fmt.Sprint(c.tainting, c.age), func(t *testing.T) {
			runInBubble(t, clustertest.Config{Tainting: c.tainting}, func(h *harness) {
				lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-controller-manager"}}
				lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = new(int32(15)), &metav1.MicroTime{Time: time.Now().Add(-c.age)}
				_, err := h.server.Admin().Create(context.Background(), lease)
				require.NoError(h, err)
			}, func(h *harness) {
				h.createPods(podtest.Pod("a").Container("c"))
				assert.Equal(h, "a node-0 Running True", h.describePods("a"))
				assert.Equal(h, c.want, h.nodeTaints("node-0"))
			})
		})
	}
}

// TestNode_EvictPods, in a bubble: pods of a lost node are deleted, and stay Terminating until the node is back. A pod that tolerates the
// taint for ever stays. A pod that tolerates it for some time does not.
func TestNode_EvictPods(t *testing.T) {
	tolerating := func(seconds *int64) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Spec.Tolerations = []v1.Toleration{{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: seconds}}
		}
	}
	runInBubble(t, clustertest.Config{}, nil, func(h *harness) {
		h.createPods(podtest.Pod("a").GracePeriod(time.Second).Container("c").Edit(tolerating(new(int64(300)))),
			podtest.Pod("b").GracePeriod(time.Second).Container("c"), podtest.Pod("d").Container("c").Edit(tolerating(nil)))
		n := h.nodes.Node("node-0")
		n.Lose()
		n.EvictPods()
		n.EvictPods()
		time.Sleep(time.Hour)
		for name, terminating := range map[string]bool{"a": true, "b": true, "d": false} {
			pod := h.server.Admin().Pod("default", name)
			require.NotNil(h, pod, name)
			assert.Equal(h, terminating, pod.DeletionTimestamp != nil, name)
			if terminating {
				assert.Equal(h, "DeletionByTaintManager", findCondition(pod, v1.DisruptionTarget).Reason)
			}
		}
		n.Start()
		time.Sleep(time.Minute)
		assert.Equal(h, "a gone, b gone, d node-0 Running True", h.describePods("a", "b", "d"))
	})
}

// TestStart_NotReady: Start does not wait for ever for a node that does not become ready. The node has the taints of its state.
func TestStart_NotReady(t *testing.T) {
	notReady := func(c *cluster.Config) {
		c.Node.Runtime.(*memory.Runtime).SetStatus(runtime.RuntimeStatus{RuntimeMessage: "broken"})
	}
	runInBubble(t, clustertest.Config{Configure: notReady}, nil, func(h *harness) {
		assert.Equal(h, v1.ConditionFalse, nodeCondition(h.server.Admin().Node("node-0"), v1.NodeReady))
		assert.Equal(h, "not-ready:NoSchedule not-ready:NoExecute", h.nodeTaints("node-0"))
		h.createPods(podtest.Pod("a").Container("c"))
		assert.Equal(h, "a Pending", h.describePods("a"))
	})
}
