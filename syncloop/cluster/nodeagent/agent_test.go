package nodeagent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/nodeagent"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// harness is a server and an agent in one simulation.
type harness struct {
	*testing.T
	*executor.Scheduler
	server   *apiservertest.Server
	process  *executor.Process
	agent    *nodeagent.Agent
	network  bool
	labels   map[string]string
	said     []string
	events   []string
	boot     string
	measured int
	jitter   float64
	random   bool // the jitter
	broken   bool // the recorder
	log      bytes.Buffer
}

// Event notes an event, with the UID that it names.
func (h *harness) Event(o k8sruntime.Object, _, reason, _ string) {
	if h.broken {
		panic("the recorder has a bug")
	}
	h.events = append(h.events, reason+" "+string(o.(*v1.Node).UID[34:]))
}

func (h *harness) Eventf(k8sruntime.Object, string, string, string, ...any) {}

func simulate(t *testing.T) *harness {
	h := &harness{T: t, Scheduler: executor.NewScheduler(1, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), network: true}
	h.server = apiservertest.New(apiservertest.Config{Clock: h.NewProcess().Clock()})
	return h
}

// start runs an agent in a process of its own.
func (h *harness) start() {
	h.process = h.NewProcess()
	jitter := func() float64 { return h.jitter }
	if h.random {
		jitter = nil
	}
	var err error
	h.agent, err = nodeagent.New(nodeagent.Config{
		Spec:   nodestatus.Spec{Name: "n1", OS: "linux", Arch: "amd64", Labels: h.labels, Taints: []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}},
		Server: h.server.Client("n1"), Clock: h.process.Clock(), Jitter: jitter,
		Facts: func(context.Context) nodestatus.Facts {
			h.measured++
			return nodestatus.Facts{RuntimeSeen: h.process.Now(), Runtime: runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: h.network}, Info: v1.NodeSystemInfo{BootID: h.boot}}
		},
		Recorder: h, Log: slog.New(slog.NewTextHandler(&h.log, nil)),
		Hooks: nodeagent.Hooks{
			Replaced:    func(before, now types.UID) { h.said = append(h.said, "replaced") },
			OtherHolder: func(holder string) { h.said = append(h.said, "held by "+holder) },
		},
	})
	require.NoError(h, err)
	process, agent := h.process, h.agent
	process.Go(func() { _ = agent.Run(context.Background()) })
	h.Cleanup(process.Crash)
}

// after lets time pass and returns the requests to the server and the calls of hooks.
func (h *harness) after(d time.Duration) string {
	h.RunUntil(h.Now().Add(d))
	var all []string
	for _, r := range h.server.TakeRequests() {
		all = append(all, fmt.Sprint(r))
	}
	all = append(all, h.said...)
	h.said = nil
	return strings.Join(all, "\n")
}

func (h *harness) ready() v1.ConditionStatus {
	for _, c := range h.server.Admin().Node("n1").Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// renewed is the time of the lease at the server.
func (h *harness) renewed() time.Time {
	h.Helper()
	found, err := h.server.Admin().Get(h.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n1", Namespace: "kube-node-lease"}})
	require.NoError(h, err)
	return found.(*coordinationv1.Lease).Spec.RenewTime.Time
}

// TestAgent_ND4_ND24_ND34: the node and its lease at once; then a renewal each ten
// seconds, and a status when it has changed or five minutes have passed.
func TestAgent_ND4_ND24_ND34(t *testing.T) {
	h := simulate(t)
	h.start()
	first := h.after(time.Second)
	assert.Contains(t, first, "create nodes n1")
	assert.Contains(t, first, "create leases")
	assert.NotContains(t, first, "patch")
	assert.NotContains(t, first, "update leases")
	assert.Equal(t, 1, strings.Count(first, "watch nodes"), first)
	assert.NotContains(t, first, "list nodes")
	object := h.server.Admin().Node("n1")
	assert.Equal(t, "amd64", object.Labels[v1.LabelArchStable])
	assert.Equal(t, v1.ConditionTrue, h.ready())
	require.NoError(t, h.agent.WaitForRegistration(t.Context()))
	known, _ := h.agent.Node()
	assert.Equal(t, object.UID, known.UID)

	idle := h.after(time.Minute)
	assert.Equal(t, 6, strings.Count(idle, "update leases"), idle)
	assert.NotContains(t, idle, "nodes", idle)
	h.network = false
	assert.Contains(t, h.after(10*time.Second), "patch nodes/status n1")
	assert.Equal(t, v1.ConditionFalse, h.ready())
	assert.Equal(t, 1, strings.Count(h.after(5*time.Minute+10*time.Second), "patch nodes/status"))
	h.network = true
	h.agent.RequestStatusUpdate()
	assert.Contains(t, h.after(0), "patch nodes/status n1", "at once")
}

// TestAgent_ND24_Spread: the report that follows one of a change comes up to two and a half minutes
// earlier or later, the next ones after five minutes each.
func TestAgent_ND24_Spread(t *testing.T) {
	for _, c := range []struct {
		jitter float64
		first  time.Duration
	}{{0, 5 * time.Minute}, {0.4, 7 * time.Minute}, {0.6, 3 * time.Minute}} {
		h := simulate(t)
		h.jitter = c.jitter
		h.start()
		h.after(time.Second)
		const round = 10*time.Second + 10*time.Second/20
		for _, period := range []time.Duration{c.first, 5 * time.Minute, 5 * time.Minute} {
			begun := h.Now()
			for !strings.Contains(h.after(time.Second), "patch nodes/status") {
				require.Less(t, h.Now().Sub(begun), 10*time.Minute)
			}
			assert.InDelta(t, period+round/2, h.Now().Sub(begun), float64(round/2+time.Second), "jitter %v", c.jitter)
		}
	}
}

// TestAgent_ND22_RoundsAreSpread: a round follows the one before after ten seconds and up to
// 4 % more, by default by chance: nodes that started together drift apart.
func TestAgent_ND22_RoundsAreSpread(t *testing.T) {
	h := simulate(t)
	h.jitter = 0.5
	h.start()
	h.after(time.Second)
	begun := h.Now()
	assert.Equal(t, 9, strings.Count(h.after(92*time.Second), "update leases"), "each after 10.2 s")
	assert.Equal(t, "update leases kube-node-lease/n1", h.after(9*time.Second), "at %v", h.Now().Sub(begun))

	h = simulate(t)
	h.random = true
	h.start()
	h.after(10 * time.Minute)
	drift := h.renewed().Sub(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)) % (10 * time.Second)
	assert.Positive(t, drift)
}

// TestAgent_ND27_ReadySoon: the server hears soon when a node that was not ready is.
func TestAgent_ND27_ReadySoon(t *testing.T) {
	h := simulate(t)
	h.network = false
	h.start()
	h.after(500 * time.Millisecond)
	assert.Equal(t, v1.ConditionFalse, h.ready())
	h.network = true
	assert.Equal(t, 1, strings.Count(h.after(500*time.Millisecond), "patch nodes/status n1"))
	assert.Equal(t, v1.ConditionTrue, h.ready())
	before := h.measured
	h.after(time.Minute)
	assert.Equal(t, 6, h.measured-before, "a node that is ready is measured every ten seconds")
	h.network = false
	h.after(time.Minute)
	before = h.measured
	h.after(time.Minute)
	assert.LessOrEqual(t, h.measured-before, 9, "one that is not ready for long, every seven")
}

// TestAgent_KB30_OthersChangeTheNode: labels and taints of others are seen, and stay. Labels that
// the agent sets no more go; a taint that was taken away does not come back.
func TestAgent_KB30_OthersChangeTheNode(t *testing.T) {
	h := simulate(t)
	h.labels = map[string]string{"zone": "a", "disk": "ssd"}
	h.start()
	h.after(time.Second)
	object := h.server.Admin().Node("n1")
	object.Labels["gpu"] = "yes"
	require.NotEmpty(t, object.Spec.Taints)
	object.Spec.Taints = nil
	_, err := h.server.Admin().Update(t.Context(), object)
	require.NoError(t, err)
	h.after(time.Second)
	known, _ := h.agent.Node()
	assert.Equal(t, "yes", known.Labels["gpu"])
	before := h.Now()
	h.agent.Refresh()
	assert.Contains(t, h.after(time.Second), "list nodes n1")
	_, readAt := h.agent.Node()
	assert.False(t, readAt.Before(before))

	h.process.Crash()
	h.labels = map[string]string{"zone": "b"}
	h.start()
	assert.Contains(t, h.after(time.Second), "patch nodes n1")
	labels := h.server.Admin().Node("n1").Labels
	assert.Equal(t, "yes b", labels["gpu"]+" "+labels["zone"])
	assert.NotContains(t, labels, "disk", "it was ours")
	assert.Empty(t, h.server.Admin().Node("n1").Spec.Taints)
	assert.Equal(t, object.UID, h.server.Admin().Node("n1").UID)
}

// TestAgent_ND18_TransitionSurvivesARestart: an agent that begins again is no transition.
func TestAgent_ND18_TransitionSurvivesARestart(t *testing.T) {
	h := simulate(t)
	h.start()
	h.after(time.Minute)
	before := h.server.Admin().Node("n1").Status.Conditions[0]
	h.process.Crash()
	h.start()
	h.after(time.Minute)
	after := h.server.Admin().Node("n1").Status.Conditions[0]
	assert.Equal(t, before.LastTransitionTime.UTC(), after.LastTransitionTime.UTC())
	assert.Equal(t, before.LastHeartbeatTime.Add(time.Minute).UTC(), after.LastHeartbeatTime.UTC())
}

// TestAgent_ND9_DeletedAndReplaced: a node object that goes is made again; one that another
// program has made is taken over.
func TestAgent_ND9_DeletedAndReplaced(t *testing.T) {
	h := simulate(t)
	h.start()
	h.after(time.Second)
	first := h.server.Admin().Node("n1").UID
	remove := func() {
		require.NoError(t, h.server.Admin().Delete(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, nil))
	}
	remove()
	h.after(10 * time.Second)
	second := h.server.Admin().Node("n1")
	require.NotNil(t, second)
	assert.NotEqual(t, first, second.UID)

	remove()
	_, err := h.server.Admin().Create(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	require.NoError(t, err)
	assert.Contains(t, h.after(20*time.Second), "replaced")
	assert.Equal(t, v1.ConditionTrue, h.ready())
	assert.Equal(t, "n1", h.server.Admin().Node("n1").Labels[v1.LabelHostname])
}

// TestAgent_ND33_OtherHolder: a second node of this name is noticed: the lease is read again after a conflict.
func TestAgent_ND33_OtherHolder(t *testing.T) {
	h := simulate(t)
	h.start()
	h.after(time.Second)
	found, err := h.server.Admin().Get(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n1", Namespace: "kube-node-lease"}})
	require.NoError(t, err)
	theirs := found.(*coordinationv1.Lease)
	theirs.Spec.HolderIdentity = new("stranger")
	_, err = h.server.Admin().Update(t.Context(), theirs)
	require.NoError(t, err)
	assert.Contains(t, h.after(11*time.Second), "held by stranger")
	const conflict = "another agent may run under the name of this node: a renewal of its lease failed and is tried again"
	assert.Equal(t, 1, strings.Count(h.log.String(), conflict), h.log.String())
}

// TestAgent_Outage: nothing is given up for errors, and all is well soon after.
func TestAgent_Outage(t *testing.T) {
	h := simulate(t)
	h.server.Down()
	h.start()
	h.after(time.Minute)
	h.server.Up()
	h.after(8 * time.Second)
	assert.Equal(t, v1.ConditionTrue, h.ready())
	h.server.Down()
	h.network = false
	h.after(time.Hour)
	h.server.Compact()
	h.server.Up()
	h.agent.Retry()
	h.after(time.Second)
	assert.Equal(t, v1.ConditionFalse, h.ready())
	object := h.server.Admin().Node("n1")
	object.Labels["late"] = "yes"
	_, err := h.server.Admin().Update(t.Context(), object)
	require.NoError(t, err)
	h.after(10 * time.Second)
	known, _ := h.agent.Node()
	assert.Equal(t, "yes", known.Labels["late"])
	assert.Less(t, h.measured, 3600/7+60)
}

func TestAgent_SecondRun(t *testing.T) {
	h := simulate(t)
	h.start()
	h.after(time.Second)
	assert.ErrorIs(t, h.agent.Run(t.Context()), runtime.ErrSecondRun)
}

func TestNew_NamesWhatIsMissing(t *testing.T) {
	_, err := nodeagent.New(nodeagent.Config{})
	assert.EqualError(t, err, "nodeagent: Config: Spec.Name, Facts or Server is missing")
}

// silent is a server that does not answer a watch.
type silent struct {
	apiserver.NodeServer
	event executor.Event
}

func (s silent) NodeFeed() apiserver.Feed[*v1.Node] {
	return silentFeed{s.NodeServer.NodeFeed(), s.event}
}

type silentFeed struct {
	apiserver.Feed[*v1.Node]
	event executor.Event
}

func (s silentFeed) Watch(ctx context.Context, _ apiserver.WatchOptions) (apiserver.Stream[*v1.Node], error) {
	return nil, s.event.Wait(ctx)
}

// TestAgent_RefreshIsNoFailure: a watch that Refresh ends before it is answered does not
// count against the server, whose next answer would end an outage and refresh again.
func TestAgent_RefreshIsNoFailure(t *testing.T) {
	h := simulate(t)
	h.process = h.NewProcess()
	var failures []error
	agent, err := nodeagent.New(nodeagent.Config{
		Spec:   nodestatus.Spec{Name: "n1", OS: "linux", Arch: "amd64"},
		Server: silent{h.server.Client("n1"), executor.Over(h.process.Clock()).NewEvent()},
		Clock:  h.process.Clock(), Jitter: func() float64 { return 0 },
		Facts: func(context.Context) nodestatus.Facts { return nodestatus.Facts{} },
		Hooks: nodeagent.Hooks{RequestDone: func(err error) {
			if err != nil && !apierrors.IsNotFound(err) {
				failures = append(failures, err)
			}
		}},
	})
	require.NoError(t, err)
	process := h.process
	process.Go(func() { _ = agent.Run(context.Background()) })
	t.Cleanup(process.Crash)
	h.after(time.Second)
	agent.Refresh()
	assert.Contains(t, h.after(time.Second), "list nodes")
	assert.Empty(t, failures)
}

// TestAgent_LostHistory: a restarted server knows no versions before its own, also where
// the node has not changed since. The node is read once, and watched from the server's version.
func TestAgent_LostHistory(t *testing.T) {
	h := simulate(t)
	h.start()
	h.after(time.Second)
	_, err := h.server.Admin().CreatePod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "i"}}}})
	require.NoError(t, err)
	h.server.Down()
	h.server.Recover()
	back := h.after(time.Minute)
	assert.Equal(t, 1, strings.Count(back, "list nodes"), back)
	assert.Equal(t, 1, strings.Count(back, "watch nodes"), back)
	require.NoError(t, h.server.Admin().EditNode("n1", func(n *v1.Node) { n.Labels["late"] = "yes" }))
	h.after(time.Second)
	known, _ := h.agent.Node()
	assert.Equal(t, "yes", known.Labels["late"])
}

// TestAgent_EB5_EB6_Events: each change is one event, which names the UID of the node's object.
func TestAgent_EB5_EB6_Events(t *testing.T) {
	h := simulate(t)
	h.boot = "first"
	h.start()
	events := func(d time.Duration) string {
		h.after(d)
		all := strings.Join(h.events, ", ")
		h.events = nil
		return all
	}
	assert.Equal(t, "Starting 05, NodeReady 05", events(time.Hour))
	h.network = false
	assert.Equal(t, "NodeNotReady 05", events(time.Hour))
	require.NoError(t, h.server.Admin().EditNode("n1", func(n *v1.Node) {
		n.Spec.Unschedulable = true
		n.Status.Conditions[0].Status = v1.ConditionUnknown
	}))
	assert.Equal(t, "NodeNotSchedulable 05, NodeNotReady 05", events(time.Hour))
	h.process.Crash()
	h.network, h.boot = true, "second"
	h.start()
	assert.Equal(t, "Starting 05, Rebooted 05, NodeReady 05", events(time.Hour))
	h.process.Crash()
	h.start()
	assert.Equal(t, "Starting 05", events(time.Hour))
	require.NoError(t, h.server.Admin().DeleteNode("n1"))
	assert.Regexp(t, "^NodeReady ..$", events(time.Hour))
}

// TestAgent_NotFoundForAWhile: a server that does not find the node it shows is not asked
// without pauses.
func TestAgent_NotFoundForAWhile(t *testing.T) {
	h := simulate(t)
	h.start()
	h.after(time.Second)
	object := h.server.Admin().Node("n1")
	clear := h.server.Inject(apiservertest.Fault{Resource: "nodes/status", Err: apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, "n1")})
	h.network = false
	asked := h.after(time.Minute)
	assert.Less(t, strings.Count(asked, "patch nodes/status"), 20, asked)
	clear()
	h.after(10 * time.Second)
	assert.Equal(t, v1.ConditionFalse, h.ready())
	assert.Equal(t, object.UID, h.server.Admin().Node("n1").UID)
}

// TestAgent_RecorderPanics: that costs an event, and nothing else.
func TestAgent_RecorderPanics(t *testing.T) {
	h := simulate(t)
	h.broken = true
	h.start()
	h.after(time.Second)
	h.network = false
	assert.Contains(t, h.after(10*time.Second), "patch nodes/status n1")
	assert.Equal(t, v1.ConditionFalse, h.ready())
	h.broken, h.network = false, true
	h.after(time.Minute)
	assert.Equal(t, v1.ConditionTrue, h.ready())
	assert.Len(t, h.events, 1)
}

// TestAgent_ND5_TheReasonOfARefusal: a server that does not let the node register says why, and
// that is what the log has, not that there is no node.
func TestAgent_ND5_TheReasonOfARefusal(t *testing.T) {
	h := simulate(t)
	clear := h.server.Inject(apiservertest.Fault{Verb: "create", Resource: "nodes", Err: apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n1", errors.New("is not allowed to set the label a"))})
	h.start()
	asked := h.after(time.Second)
	assert.Contains(t, asked, "get nodes n1")
	assert.Contains(t, h.log.String(), "is not allowed to set the label a")
	assert.NotContains(t, h.log.String(), "not found")
	clear()
	h.after(10 * time.Second)
	assert.Equal(t, v1.ConditionTrue, h.ready())
}

// TestAgent_Retry: Retry ends the pauses after errors, also the pause of a round that fails at that moment. It does not
// repeat successful work: it does not renew the lease, and it does not restart the watch.
func TestAgent_Retry(t *testing.T) {
	h := simulate(t)
	h.start()
	h.after(time.Second)
	h.agent.Retry()
	assert.Empty(t, h.after(5*time.Second))
	clear := h.server.Inject(apiservertest.Fault{Resource: "leases", Err: context.DeadlineExceeded})
	h.after(5 * time.Minute)
	clear()
	h.agent.Retry()
	assert.Regexp(t, "^update leases[^\n]*$", h.after(0))

	clear = h.server.Inject(apiservertest.Fault{Resource: "leases", Latency: time.Second, Err: context.DeadlineExceeded})
	h.after(10*time.Second + 500*time.Millisecond)
	clear()
	h.agent.Retry()
	assert.Equal(t, 1, strings.Count(h.after(550*time.Millisecond), "update leases"), "without a pause of 0.1 s after the failed renewal")
}
