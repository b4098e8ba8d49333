package clustertest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/clustertest"
)

// harness is a server in memory with nodes.
type harness struct {
	*testing.T
	server *apiservertest.Server
	nodes  *clustertest.Nodes
}

// runInBubble runs a test in a bubble, where time passes only while all goroutines wait. prepare, if set, runs before the
// nodes start.
func runInBubble(t *testing.T, config clustertest.Config, prepare func(h *harness), test func(h *harness)) {
	synctest.Test(t, func(t *testing.T) {
		h := &harness{T: t, server: apiservertest.New(apiservertest.Config{})}
		if prepare != nil {
			prepare(h)
		}
		config.Server = restConfig(h.server)
		h.nodes = clustertest.Start(t, config)
		test(h)
	})
}

func restConfig(server *apiservertest.Server) *rest.Config {
	return &rest.Config{Host: "http://memory", Transport: server.RoundTripper()}
}

// createPods creates pods and waits a minute of virtual time, in a bubble.
func (h *harness) createPods(pods ...*podtest.PodBuilder) {
	h.Helper()
	for _, b := range pods {
		_, err := h.server.Admin().CreatePod(b.Build(h))
		require.NoError(h, err)
	}
	time.Sleep(time.Minute)
}

// describePods returns the node, phase and readiness of each pod.
func (h *harness) describePods(names ...string) string {
	h.Helper()
	var all []string
	for _, name := range names {
		pod := h.server.Admin().Pod("default", name)
		if pod == nil {
			all = append(all, name+" gone")
			continue
		}
		all = append(all, strings.Join(strings.Fields(fmt.Sprint(name, " ", pod.Spec.NodeName, " ", pod.Status.Phase, " ", findCondition(pod, v1.PodReady).Status)), " "))
	}
	return strings.Join(all, ", ")
}

func findCondition(pod *v1.Pod, kind v1.PodConditionType) (c v1.PodCondition) {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return c
}

func oneCPU(config *cluster.Config) {
	config.Node.Scheduling.Capacity[v1.ResourceCPU] = resource.MustParse("1")
}

// podWithRequest returns a pod that requests 800m CPU.
func podWithRequest(name string) *podtest.PodBuilder {
	return podtest.Pod(name).GracePeriod(time.Second).Container("c", podtest.Requests("cpu=800m"))
}

// TestStartNodes: pods are spread over the nodes, each node runs only its own pods, and the nodes are ready.
func TestStartNodes(t *testing.T) {
	runInBubble(t, clustertest.Config{Nodes: 2}, nil, func(h *harness) {
		h.createPods(podtest.Pod("a").Container("c"), podtest.Pod("b").Container("c"), podtest.Pod("d").Container("c", podtest.Exits(1)))
		assert.Equal(h, "a node-0 Running True, b node-1 Running True, d node-0 Running False", h.describePods("a", "b", "d"))
		for i, want := range [][]string{{"a", "d"}, {"b"}} {
			n := h.nodes.All()[i]
			var names []string
			for _, pod := range n.Cluster().Node().Pods() {
				names = append(names, pod.Name)
			}
			slices.Sort(names)
			assert.Equal(h, want, names)
			conditions := h.server.Admin().Node(n.Name()).Status.Conditions
			i := slices.IndexFunc(conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady })
			assert.Equal(h, v1.ConditionTrue, conditions[i].Status)
		}
		assert.Equal(h, "node-1", h.nodes.Node("node-1").Name())
	})
}

// TestBind_Unschedulable, in a bubble: a pod that fits on no node says why, and is bound when there is room. Two pods that are
// created at once do not get the same room.
func TestBind_Unschedulable(t *testing.T) {
	runInBubble(t, clustertest.Config{Configure: oneCPU}, nil, func(h *harness) {
		h.createPods(podWithRequest("a"), podWithRequest("b"))
		cordon := func(on bool) {
			require.NoError(h, h.server.Admin().EditNode("node-0", func(node *v1.Node) { node.Spec.Unschedulable = on }))
		}
		assert.Equal(h, "a node-0 Running True, b Pending", h.describePods("a", "b"))
		scheduled := findCondition(h.server.Admin().Pod("default", "b"), v1.PodScheduled)
		assert.Equal(h, v1.PodReasonUnschedulable, scheduled.Reason)
		assert.Regexp(h, "^0/1 nodes are available: .* OutOfcpu: ", scheduled.Message)
		writes := 0
		for _, r := range h.server.Requests() {
			if r.Node == "" && r.Verb == "patch" && r.Resource == "pods/status" {
				writes++
			}
		}
		assert.Equal(h, 1, writes, "the same reason is written once")
		require.NoError(h, h.server.Admin().DeletePod("default", "a", -1))
		time.Sleep(time.Minute)
		assert.Equal(h, "a gone, b node-0 Running True", h.describePods("a", "b"))
		cordon(true)
		time.Sleep(time.Second) // The node sees it.
		h.createPods(podtest.Pod("c").Container("c"))
		assert.Equal(h, "c Pending", h.describePods("c"))
		cordon(false)
		time.Sleep(time.Minute)
		assert.Equal(h, "c node-0 Running True", h.describePods("c"), "no event of a pod wakes the binder")
	})
}

// TestBind_NotOurs: a pod of another scheduler, with a gate, or that is being deleted is not bound.
func TestBind_NotOurs(t *testing.T) {
	runInBubble(t, clustertest.Config{}, nil, func(h *harness) {
		h.createPods(
			podtest.Pod("other").Container("c").Edit(func(pod *v1.Pod) { pod.Spec.SchedulerName = "other" }),
			podtest.Pod("gated").Container("c").Edit(func(pod *v1.Pod) { pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "x/y"}} }),
		)
		assert.Equal(h, "other Pending, gated Pending", h.describePods("other", "gated"))
		assert.Empty(h, h.server.Admin().Pod("default", "gated").Status.Conditions)
	})
}

// TestBind_Scheduler: a scheduler that renews its lease binds the pods. A lease that has expired is no scheduler.
func TestBind_Scheduler(t *testing.T) {
	for _, c := range []struct {
		binding clustertest.Binding
		age     time.Duration
		want    string
	}{
		{clustertest.BindWithoutScheduler, 10 * time.Second, "a Pending"},
		{clustertest.BindWithoutScheduler, 20 * time.Second, "a node-0 Running True"},
		{clustertest.BindAlways, 10 * time.Second, "a node-0 Running True"},
		{clustertest.BindNever, time.Hour, "a Pending"},
	} {
		runInBubble(t, clustertest.Config{Binding: c.binding}, func(h *harness) {
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-scheduler"}}
			lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = new(int32(15)), &metav1.MicroTime{Time: time.Now().Add(-c.age)}
			_, err := h.server.Admin().Create(context.Background(), lease)
			require.NoError(h, err)
		}, func(h *harness) {
			h.createPods(podtest.Pod("a").Container("c"))
			assert.Equal(h, c.want, h.describePods("a"))
		})
	}
}

// TestNode_Stop, in a bubble: while the agent is stopped, containers run on and the server hears nothing. The next agent finds them.
func TestNode_Stop(t *testing.T) {
	runInBubble(t, clustertest.Config{}, nil, func(h *harness) {
		h.createPods(podtest.Pod("a").Container("c", podtest.Runs(10*time.Minute)))
		n := h.nodes.All()[0]
		n.Stop()
		n.Stop()
		assert.Nil(h, n.Cluster())
		h.createPods(podtest.Pod("b").Container("c"))
		assert.Equal(h, "a node-0 Running True, b Pending", h.describePods("a", "b"), "no node is left for b")
		n.Start()
		n.Start()
		time.Sleep(time.Minute)
		assert.Equal(h, "a node-0 Running True, b node-0 Running True", h.describePods("a", "b"))
		assert.Zero(h, h.server.Admin().Pod("default", "a").Status.ContainerStatuses[0].RestartCount)
		assert.Len(h, n.Machine().Snapshot(), 2)
	})
}

// TestNode_Lose: a lost node is unreachable and its pods are not ready. New pods are bound to the other node.
func TestNode_Lose(t *testing.T) {
	runInBubble(t, clustertest.Config{Nodes: 2, Prefix: "n"}, nil, func(h *harness) {
		h.createPods(podtest.Pod("a").Container("c"), podtest.Pod("b").Container("c"))
		h.nodes.Node("n0").Lose()
		h.createPods(podtest.Pod("d").Container("c"))
		assert.Equal(h, "a n0 Running False, b n1 Running True, d n1 Running True", h.describePods("a", "b", "d"))
		lost := h.server.Admin().Node("n0")
		taints := map[v1.TaintEffect]string{}
		for _, taint := range lost.Spec.Taints {
			taints[taint.Effect] += taint.Key + " "
		}
		assert.Equal(h, map[v1.TaintEffect]string{v1.TaintEffectNoSchedule: "node.kubernetes.io/unreachable ", v1.TaintEffectNoExecute: "node.kubernetes.io/unreachable "}, maps.Clone(taints))
		i := slices.IndexFunc(lost.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady })
		assert.Equal(h, v1.ConditionUnknown, lost.Status.Conditions[i].Status)
	})
}

// TestNode_PowerCut, in a bubble: after Lose and LoseAll a node comes back with Start, and its pods run in new containers. No call
// changes the API objects before Start.
func TestNode_PowerCut(t *testing.T) {
	runInBubble(t, clustertest.Config{}, nil, func(h *harness) {
		h.createPods(podtest.Pod("a").Container("c"))
		n := h.nodes.Node("node-0")
		n.Lose()
		before := h.server.Admin().Pod("default", "a")
		n.Machine().LoseAll()
		time.Sleep(time.Hour)
		assert.Equal(h, before, h.server.Admin().Pod("default", "a"))
		assert.Empty(h, n.Machine().Snapshot())
		n.Start()
		time.Sleep(time.Minute)
		assert.Equal(h, "a node-0 Running True", h.describePods("a"))
		after := h.server.Admin().Pod("default", "a").Status.ContainerStatuses[0]
		assert.NotEqual(h, before.Status.ContainerStatuses[0].ContainerID, after.ContainerID)
		assert.EqualValues(h, 1, after.RestartCount)
	})
}

// failing is a testing.TB whose failures end the goroutine by a panic.
type failing struct {
	*testing.T
	message string
}

func (f *failing) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }
func (f *failing) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	panic(f)
}

// TestStart_Failures: a Config that cannot be used, a server that refuses, and an unknown name fail the test with one
// sentence.
func TestStart_Failures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.New(apiservertest.Config{})
		f := &failing{T: t}
		assert.Panics(t, func() { clustertest.Start(f, clustertest.Config{}) })
		assert.Equal(t, "clustertest: Config.Server is nil: it is the rest.Config of a client with all rights", f.message)
		assert.Panics(t, func() { clustertest.StartNodes(f, &rest.Config{Host: "ftp://x"}, 1) })
		assert.Contains(t, f.message, "clustertest: ")
		assert.Panics(t, func() { clustertest.StartNodes(f, restConfig(server), 2).Node("node-2") })
		assert.Equal(t, `clustertest: there is no node "node-2": the names are node-0 to node-1`, f.message)
		server.Down()
		assert.Panics(t, func() { clustertest.StartNodes(f, restConfig(server), 1) })
		assert.Contains(t, f.message, "clustertest: node node-0 is not registered at the API server after 1m0s: ")
		server.Up()
	})
}

// TestStart_FailedWatch, in a bubble: after an outage of lists and watches, pods are bound again. An error of client-go
// before the bubble does not make the informers wait in it.
func TestStart_FailedWatch(t *testing.T) {
	utilruntime.HandleError(errors.New("an error before the bubble"))
	runInBubble(t, clustertest.Config{}, nil, func(h *harness) {
		var clears []func()
		for _, verb := range []string{"list", "watch"} {
			clears = append(clears, h.server.Inject(apiservertest.Fault{Verb: verb, Err: apierrors.NewInternalError(errors.New("broken"))}))
		}
		h.server.Break(nil)
		time.Sleep(time.Minute)
		for _, clear := range clears {
			clear()
		}
		time.Sleep(time.Minute)
		h.createPods(podtest.Pod("a").Container("web"))
		assert.Equal(h, "a node-0 Running True", h.describePods("a"))
	})
}

// TestMachine_SetScript, in a bubble: a script of one machine has precedence over the scripts of pods, until it is removed.
func TestMachine_SetScript(t *testing.T) {
	runInBubble(t, clustertest.Config{Nodes: 2}, nil, func(h *harness) {
		web := memory.Selector{Namespace: "default", Container: "web"}
		h.nodes.Node("node-0").Machine().SetScript(web, memory.Script{Runs: []memory.Run{{Exit: 1}}})
		once := func(name string) *podtest.PodBuilder {
			return podtest.Pod(name).RestartPolicy(v1.RestartPolicyNever).Container("web")
		}
		h.createPods(once("a"), once("b"))
		assert.Equal(h, "a node-0 Failed False, b node-1 Running True", h.describePods("a", "b"))
		h.nodes.Node("node-0").Machine().SetScript(web, memory.Script{})
		h.createPods(once("d"))
		assert.Equal(h, "d node-0 Running True", h.describePods("d"))
	})
}
