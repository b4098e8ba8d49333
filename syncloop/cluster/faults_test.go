package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/node"
)

// fault is a trouble that lasts, or is done again at each step, while pods come and go.
type fault struct {
	name   string
	begin  func(h *harness) (end func())
	step   func(h *harness)
	offset time.Duration // of the server's clock
	byHand bool          // statuses at the server are not the node's alone
}

func inject(f apiservertest.Fault) func(h *harness) func() {
	return func(h *harness) func() { return h.server.Inject(f) }
}

var pods = schema.GroupResource{Resource: "pods"}

func faults() []fault {
	return []fault{
		{name: "slow", begin: inject(apiservertest.Fault{Latency: 2 * time.Second})},
		{name: "429", begin: inject(apiservertest.Fault{Err: apierrors.NewTooManyRequests("busy", 1)})},
		{name: "some 429", step: func(h *harness) {
			h.server.Inject(apiservertest.Fault{Times: 1 + int(h.Float64()*10), Err: apierrors.NewTooManyRequests("busy", int(h.Float64()*5))})
		}},
		{name: "410", begin: inject(apiservertest.Fault{Verb: "watch", Err: apierrors.NewResourceExpired("too old")})},
		{name: "410 later", step: func(h *harness) {
			h.server.Compact()
			h.server.Break(apierrors.NewResourceExpired("too old"))
		}},
		{name: "401", begin: inject(apiservertest.Fault{Err: apierrors.NewUnauthorized("unknown")})},
		{name: "403", begin: inject(apiservertest.Fault{Err: apierrors.NewForbidden(pods, "", errors.New("no right"))})},
		{name: "node not found", begin: inject(apiservertest.Fault{Resource: "nodes/status", Err: apierrors.NewNotFound(pods, "")})},
		{name: "500", begin: inject(apiservertest.Fault{Err: apierrors.NewInternalError(errors.New("etcd"))})},
		{name: "lost answers", begin: inject(apiservertest.Fault{Lost: true})},
		{name: "frozen", begin: func(h *harness) func() {
			h.server.Freeze()
			return h.server.Thaw
		}},
		{name: "silent watches", begin: inject(apiservertest.Fault{Verb: "watch", Hang: true})},
		{name: "node deleted", step: func(h *harness) { _ = h.server.Admin().DeleteNode("n1") }},
		{name: "node recreated", step: func(h *harness) {
			_ = h.server.Admin().DeleteNode("n1")
			_, err := h.server.Admin().Create(context.Background(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"by": "hand"}}})
			require.NoError(h, err)
		}},
		{name: "mirrors deleted", step: func(h *harness) { _ = h.server.Admin().DeletePod("default", "dns-n1", int64(h.Float64()*3)-1) }},
		{name: "statuses edited", byHand: true, step: func(h *harness) {
			for _, pod := range h.server.Admin().Pods("n1") {
				if pod.DeletionTimestamp != nil || h.Float64() < 0.5 {
					continue // A terminal phase would end the deletion at the server.
				}
				require.NoError(h, h.server.Admin().EditPod(pod.Namespace, pod.Name, func(p *v1.Pod) {
					p.Status.Phase = []v1.PodPhase{v1.PodPending, v1.PodFailed, v1.PodSucceeded, v1.PodUnknown}[int(h.Float64()*4)]
					p.Status.ContainerStatuses, p.Status.PodIP = nil, "6.6.6.6"
				}))
			}
		}},
		{name: "force-deleted and recreated", step: func(h *harness) {
			for range 3 {
				_ = h.server.Admin().DeletePod("default", "quick", 0)
				h.bind("quick")
				h.after(time.Duration(h.Float64() * float64(300*time.Millisecond)))
			}
		}},
		{name: "removals cut short", step: func(h *harness) {
			h.server.CutRemovals(int(h.Float64() * 3))
			if h.server.Admin().Pod("default", "quick") == nil {
				h.bind("quick")
			}
			h.after(time.Duration(h.Float64() * float64(2*time.Second)))
			_ = h.server.Admin().DeletePod("default", "quick", 0)
		}},
		{name: "server an hour ahead", offset: time.Hour},
		{name: "server an hour behind", offset: -time.Hour},
	}
}

// TestCluster_Faults: pods are created and deleted during a fault, and the node is killed at times. No desired pod is
// stopped or restarted. In the end the machine runs each bound pod once, and the server shows that. No status goes backwards at the server.
func TestCluster_Faults(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			for seed := range uint64(longtest.Count(1, 3)) {
				if !t.Run(fmt.Sprint(seed), func(t *testing.T) { f.run(t, seed) }) {
					return
				}
			}
		})
	}
}

func (f fault) run(t *testing.T, seed uint64) {
	h := simulateAt(t, seed, f.offset)
	h.start()
	h.bind("stay-0")
	h.bind("stay-1")
	require.NoError(t, h.static.Apply(dns()))
	h.after(5 * time.Second)
	steady := []string{"dns-n1/c attempt 0", "stay-0/c attempt 0", "stay-1/c attempt 0"}
	w := newWatcher(f.byHand)
	end := func() {}
	if f.begin != nil {
		end = f.begin(h)
	}
	for i := range 15 {
		if f.step != nil {
			f.step(h)
		}
		h.churn()
		if !f.byHand && h.Float64() < 0.15 { // A node that has just started believes a terminal phase.
			h.crash()
			h.start()
			require.NoError(t, h.static.Apply(dns()))
		}
		for range 5 {
			h.after(time.Duration(h.Float64() * float64(3*time.Second)))
			running := strings.Split(h.running(), ", ")
			require.Subset(t, running, steady, "step %d", i)
			for _, c := range running {
				require.Contains(t, c, "attempt 0", "step %d: a needless restart", i)
			}
			w.look(t, h, i)
		}
	}
	end()
	h.server.ClearFaults()
	h.after(2 * time.Minute)
	w.look(t, h, -1)
	want := []string{}
	for _, pod := range h.server.Admin().Pods("n1") {
		assert.Equal(t, v1.PodRunning, pod.Status.Phase, pod.Name)
		assert.Nil(t, pod.DeletionTimestamp, pod.Name)
		assert.Len(t, pod.Status.ContainerStatuses, 1, pod.Name)
		assert.NotEqual(t, "6.6.6.6", pod.Status.PodIP, pod.Name)
		want = append(want, pod.Name+"/c attempt 0")
	}
	assert.Subset(t, want, steady)
	assert.ElementsMatch(t, want, strings.Split(h.running(), ", "))
	assert.NotNil(t, h.server.Admin().Node("n1"))
	assert.True(t, podmanager.IsMirrorPod(h.server.Admin().Pod("default", "dns-n1")))
	assert.NoError(t, h.node.Node().Health().Err)
	h.server.TakeRequests()
	h.after(time.Minute)
	for _, r := range h.server.TakeRequests() {
		if r.Verb != "watch" {
			assert.NotContains(t, []string{"pods", "pods/status", "events"}, r.Resource, "it settles: %s", r)
		}
	}
}

// churn makes or ends a pod.
func (h *harness) churn() {
	name := fmt.Sprint("p", int(h.Float64()*4))
	switch roll, pod := h.Float64(), h.server.Admin().Pod("default", name); {
	case pod == nil:
		h.bind(name)
	case roll < 0.5:
		_ = h.server.Admin().DeletePod("default", name, -1)
	case roll < 0.7:
		if h.server.Admin().DeletePod("default", name, 0) == nil {
			h.bind(name)
		}
	}
}

// watcher looks for statuses that go backwards at the server.
type watcher struct {
	byHand bool
	seen   map[types.UID]v1.PodPhase
}

func newWatcher(byHand bool) *watcher { return &watcher{byHand, map[types.UID]v1.PodPhase{}} }

func (w *watcher) look(t *testing.T, h *harness, step int) {
	order := map[v1.PodPhase]int{v1.PodRunning: 1, v1.PodSucceeded: 2, v1.PodFailed: 2}
	for _, pod := range h.server.Admin().Pods("n1") {
		before, now := order[w.seen[pod.UID]], order[pod.Status.Phase]
		if !w.byHand {
			require.GreaterOrEqual(t, now, before, "step %d: %s is %s after %s", step, pod.Name, pod.Status.Phase, w.seen[pod.UID])
		}
		w.seen[pod.UID] = pod.Status.Phase
	}
}

// TestCluster_AnotherNodeOfTheName: a second machine joins under the node's name. Neither stops
// or restarts what it runs, and the two do not fight at full speed. When it goes again, all is
// as before.
func TestCluster_AnotherNodeOfTheName(t *testing.T) {
	h := simulate(t, 1)
	h.start()
	h.bind("web")
	h.after(5 * time.Second)
	other := memory.New(memory.Config{Clock: h.NewProcess().Clock()})
	process := h.NewProcess()
	t.Cleanup(process.Crash)
	second, err := cluster.New(cluster.Config{Server: h.server.Client("n1"), Node: node.Config{
		Name: "n1", Runtime: other, Clock: process.Clock(), Jitter: func() float64 { return 0 }, Pods: node.PodsConfig{OrphanGrace: -1},
	}})
	require.NoError(t, err)
	process.Go(func() { _ = second.Run(context.Background()) })
	h.after(30 * time.Second)
	h.server.TakeRequests()
	h.after(10 * time.Minute)
	writes := map[string]int{}
	for _, r := range h.server.TakeRequests() {
		if r.Verb != "watch" {
			writes[r.Verb+" "+r.Resource]++
		}
	}
	t.Log(writes)
	assert.LessOrEqual(t, writes["patch pods/status"], 2*61, "each at most every ten seconds")
	assert.Equal(t, "web/c attempt 0", h.running())
	process.Crash()
	h.after(time.Minute)
	assert.Equal(t, "web/c attempt 0", h.running())
	h.bind("late")
	h.after(5 * time.Second)
	assert.Equal(t, v1.PodRunning, h.phase("late"))
	h.delete("web", nil)
	h.after(20 * time.Second)
	assert.Equal(t, v1.PodPhase("gone"), h.phase("web"))
	assert.Equal(t, "late/c attempt 0", h.running())
}

// TestCluster_RightsGivenBack: a node without rights sends few requests and stops no pod. When it has its rights
// again, it reports all statuses within seconds, after any time.
func TestCluster_RightsGivenBack(t *testing.T) {
	const count = 20
	for _, lasts := range []time.Duration{15 * time.Second, 10 * time.Minute} {
		h := simulate(t, 1)
		h.disk()
		var containers []string
		for i := range count {
			h.configMap(fmt.Sprint("conf-", i), "1")
			h.bind(fmt.Sprint("web-", i), mount(fmt.Sprint("conf-", i), ""))
		}
		h.start()
		h.after(20 * time.Second)
		list, err := h.machine.ListPods(t.Context())
		require.NoError(t, err)
		for _, pod := range list {
			containers = append(containers, pod.Containers[0].ID)
		}
		require.Len(t, containers, count)
		back := h.server.Inject(apiservertest.Fault{Err: apierrors.NewForbidden(pods, "", nil), Latency: 5 * time.Millisecond})
		h.server.Break(nil)
		h.server.TakeRequests()
		h.after(lasts / 2)
		for _, id := range containers {
			require.NoError(t, h.machine.ExitContainer(id, 1))
		}
		h.bind("late")
		h.configMap("conf-0", "2")
		h.after(lasts / 2)
		assert.Less(t, len(h.server.TakeRequests()), count*(30+10*int(lasts.Minutes())), "%v; each event is tried 12 times", lasts)
		back()
		h.after(10 * time.Second)
		assert.Equal(t, v1.PodRunning, h.phase("late"), "%v", lasts)
		for i := range count {
			pod := h.server.Admin().Pod("default", fmt.Sprint("web-", i))
			assert.EqualValues(t, 1, pod.Status.ContainerStatuses[0].RestartCount, "%v", lasts)
		}
		assert.Equal(t, "2", h.read(h.server.Admin().Pod("default", "web-0"), "c/k"), "%v", lasts)
		assert.Len(t, h.followed(), count)
		h.crash()
	}
}
