package statussink_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
	"github.com/podkeel/podkeel/syncloop/cluster/feed"
	"github.com/podkeel/podkeel/syncloop/cluster/statussink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	start               = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	_     feed.Observer = (*statussink.Sink)(nil)
)

// agent is a server, and what of a node brings statuses to it, in one simulation.
type agent struct {
	*executor.Scheduler
	*status.Store
	t      require.TestingT
	server *apiservertest.Server
	stop   func()
}

// newAgent starts a server and an agent.
func newAgent(t require.TestingT, seed uint64) *agent {
	a := &agent{t: t, Scheduler: executor.NewScheduler(seed, start)}
	a.server = apiservertest.New(apiservertest.Config{Clock: a.NewProcess().Clock()})
	a.boot()
	return a
}

// boot starts an agent that knows nothing.
func (a *agent) boot() {
	process := a.NewProcess()
	clk := process.Clock()
	c := contact.New(contact.Config{Clock: clk})
	client := a.server.Client("n1")
	var pods *feed.Pods
	sink, err := statussink.New(statussink.Config{Pods: client.Pods(), Contact: c, StatusWritten: func(p *v1.Pod) { pods.RecordWrite(p) }})
	require.NoError(a.t, err)
	a.Store = status.New(status.Config{Clock: clk})
	sender, err := status.NewSender(status.SenderConfig{Store: a.Store, Sink: sink, Clock: clk})
	require.NoError(a.t, err)
	sink.SetResend(sender.Resend, sender.ResendNow)
	c.OnOutageEnd(sender.RetryNow)
	pods, err = feed.NewPods(feed.PodsConfig{Feed: client.PodFeed(), Contact: c, Observer: sink, Clock: clk})
	require.NoError(a.t, err)
	ctx, cancel := executor.WithCancel(context.Background())
	ended := 0
	process.Go(func() {
		_ = pods.Run(ctx, source.Sink(nowhere{}))
		ended++
	})
	process.Go(func() {
		_ = sender.Run(ctx)
		ended++
	})
	a.stop = func() {
		cancel()
		a.RunUntil(a.Now().Add(time.Minute))
		require.Equal(a.t, 2, ended)
		require.Zero(a.t, process.Running())
	}
	a.RunUntilIdle()
}

type nowhere struct{}

func (nowhere) Set(source.Snapshot) {}

// create binds a pod to the node, and returns it as the node has it.
func (a *agent) create(name string, change ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "i:1"}}},
	}
	for _, f := range change {
		f(pod)
	}
	pod, err := a.server.Admin().CreatePod(pod)
	require.NoError(a.t, err)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, podmanager.ConfigSourceAnnotation, podmanager.ApiserverSource)
	a.pass(time.Second)
	return pod
}

func (a *agent) pass(d time.Duration) { a.RunUntil(a.Now().Add(d)) }

// requests returns the requests about pods since its last call, without lists and watches.
func (a *agent) requests() []string {
	a.pass(time.Second)
	var out []string
	for _, r := range a.server.TakeRequests() {
		if r.Verb != "watch" && r.Verb != "list" {
			out = append(out, r.String())
		}
	}
	return out
}

func running(message string) v1.PodStatus {
	return v1.PodStatus{Phase: v1.PodRunning, Message: message, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
}

// ST-22, ST-30: one pod's whole life costs a patch per status and one deletion; no pod is read.
func TestSink_ST22_ST30_AWholeLife(t *testing.T) {
	a := newAgent(t, 1)
	pod := a.create("web")
	a.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodPending})
	require.Equal(t, []string{"patch pods/status default/web metadata.resourceVersion metadata.uid status.startTime"}, a.requests())
	a.SetPodStatus(pod, running(""))
	require.Equal(t, []string{"patch pods/status default/web metadata.resourceVersion metadata.uid status.conditions[Ready] status.phase"}, a.requests())
	require.NoError(t, a.server.Admin().DeletePod("default", "web", 30))
	a.pass(time.Second)
	a.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed})
	require.Equal(t, []string{"patch pods/status default/web metadata.resourceVersion metadata.uid status.conditions[Ready ContainersReady] status.phase"}, a.requests())
	require.NotNil(t, a.server.Admin().Pod("default", "web"), "something may run")
	a.TerminatePod(pod)
	require.Equal(t, []string{"delete pods default/web"}, a.requests())
	require.Nil(t, a.server.Admin().Pod("default", "web"))
	a.RemoveOrphanedStatuses(nil)
	require.Empty(t, a.requests())
	a.stop()
}

// ST-26: an agent that starts again sends nothing that the server has.
func TestSink_ST26_AfterARestart(t *testing.T) {
	a := newAgent(t, 1)
	pod := a.create("web")
	a.SetPodStatus(pod, running("a"))
	require.Len(t, a.requests(), 1)
	a.stop()
	a.server.TakeRequests()
	a.boot()
	pod.Status = a.server.Admin().Pod("default", "web").Status
	a.SetPodStatus(pod, running("a"))
	require.Empty(t, a.requests())
	a.stop()
}

// ST-29, ND-38: the sink reverts writes of others to the node's fields; fields of others stay.
func TestSink_ST29_ND38_ForeignWrites(t *testing.T) {
	a := newAgent(t, 1)
	pod := a.create("web")
	a.SetPodStatus(pod, running(""))
	a.requests()
	edit := func(f func(*v1.Pod)) { require.NoError(t, a.server.Admin().EditPod("default", "web", f)) }
	gate := v1.PodCondition{Type: "example.com/gate", Status: v1.ConditionTrue}
	edit(func(p *v1.Pod) {
		p.Labels = map[string]string{"a": "b"}
		p.Status.Conditions = append(p.Status.Conditions, gate)
	})
	require.Empty(t, a.requests())
	unready := func(p *v1.Pod) {
		for i := range p.Status.Conditions {
			if c := &p.Status.Conditions[i]; c.Type == v1.PodReady {
				c.Status = v1.ConditionFalse
			}
		}
	}
	edit(unready)
	require.Equal(t, []string{"patch pods/status default/web metadata.resourceVersion metadata.uid status.conditions[Ready]"}, a.requests())
	for range 5 {
		edit(unready)
		a.pass(500 * time.Millisecond)
	}
	require.LessOrEqual(t, len(a.requests()), 1, "not at full speed")
	a.pass(20 * time.Second)
	got := a.server.Admin().Pod("default", "web").Status.Conditions
	require.Contains(t, got, gate)
	require.Equal(t, v1.ConditionTrue, find(got, v1.PodReady).Status)
	a.stop()
}

func find(list []v1.PodCondition, t v1.PodConditionType) (c v1.PodCondition) {
	for _, o := range list {
		if o.Type == t {
			c = o
		}
	}
	return c
}

// MI-16, ST-33: a static pod's status goes to its mirror pod, and to the next one at once. The
// mirror is never deleted.
func TestSink_MI16_ST33_Mirrors(t *testing.T) {
	a := newAgent(t, 1)
	static := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "dns", UID: "static", Annotations: map[string]string{
		podmanager.ConfigSourceAnnotation: podmanager.FileSource, podmanager.ConfigHashAnnotation: "h",
	}}}
	a.SetPodStatus(static, running(""))
	require.Empty(t, a.requests())
	mirror := func(hash string) {
		a.create("dns", func(p *v1.Pod) { p.Annotations = map[string]string{podmanager.ConfigMirrorAnnotation: hash} })
	}
	mirror("another")
	require.Empty(t, a.requests(), "it shows another content")
	for range 2 {
		require.NoError(t, a.server.Admin().DeletePod("default", "dns", 0))
		a.pass(10 * time.Second)
		a.requests()
		mirror("h")
		require.Equal(t, []string{"patch pods/status default/dns metadata.resourceVersion metadata.uid status.conditions[Ready] status.phase status.startTime"}, a.requests())
	}
	require.NoError(t, a.server.Admin().DeletePod("default", "dns", 30))
	a.pass(time.Second)
	a.SetPodStatus(static, v1.PodStatus{Phase: v1.PodSucceeded})
	a.TerminatePod(static)
	require.Len(t, a.requests(), 1, "a patch")
	a.stop()
}

// newAgentWithoutWatch returns an agent with a running pod. New watches hang, so the agent sees no change at the server.
func newAgentWithoutWatch(t *testing.T) (*agent, *v1.Pod) {
	a := newAgent(t, 1)
	pod := a.create("web")
	a.SetPodStatus(pod, running(""))
	a.requests()
	a.server.Inject(apiservertest.Fault{Verb: "watch", Hang: true})
	a.server.Break(nil)
	a.pass(time.Second)
	return a, pod
}

// ST-28, ST-32: the sink drops the status of a pod if another pod has its name now.
func TestSink_ST28_ST32_AnotherPodOfTheName(t *testing.T) {
	a, pod := newAgentWithoutWatch(t)
	require.NoError(t, a.server.Admin().DeletePod("default", "web", 0))
	other := a.create("web")
	a.server.TakeRequests()
	a.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed})
	a.TerminatePod(pod)
	got := a.requests()
	require.Len(t, got, 2)
	require.Contains(t, got[0], ": 409 Conflict")
	require.Equal(t, "get pods default/web", got[1])
	require.Equal(t, other.UID, a.server.Admin().Pod("default", "web").UID)
	require.Empty(t, a.server.Admin().Pod("default", "web").Status.ContainerStatuses)
	a.pass(time.Hour)
	require.Empty(t, a.requests(), "it is done")
	a.server.ClearFaults()
	a.stop()
}

// ST-32: if a pod is force-deleted while its status is on the way, the server refuses the status because of its version.
// Without the version the server would take it for the second step of the removal, and remove the next pod of the name.
func TestSink_AStatusMeetsARemoval(t *testing.T) {
	a, pod := newAgentWithoutWatch(t)
	a.server.CutRemovals(1)
	require.Error(t, a.server.Admin().DeletePod("default", "web", 0))
	a.SetPodStatus(pod, running("later"))
	got := a.requests()
	require.Len(t, got, 2)
	require.Contains(t, got[0], "metadata.resourceVersion metadata.uid status.message: 409 Conflict")
	require.Equal(t, "get pods default/web", got[1])
	a.pass(10 * time.Second)
	require.Empty(t, a.requests())
	require.NotNil(t, a.server.Admin().Pod("default", "web"), "the removal is the server's")
	a.server.ClearFaults()
	a.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed})
	a.TerminatePod(pod)
	a.pass(900 * time.Millisecond)
	require.NotNil(t, a.server.Admin().Pod("default", "web"), "the server may be about to remove it")
	require.Equal(t, []string{"delete pods default/web"}, a.requests(), "the server was ended between the steps")
	require.Nil(t, a.server.Admin().Pod("default", "web"))
	a.stop()
}

// ST-22: if another writer has changed the pod meanwhile, the status is sent again at once for the new version, whatever
// has changed.
func TestSink_AStatusMeetsAnotherChange(t *testing.T) {
	a, pod := newAgentWithoutWatch(t)
	require.NoError(t, a.server.Admin().EditPod("default", "web", func(p *v1.Pod) { p.Status.Phase = v1.PodPending }))
	a.SetPodStatus(pod, running("later"))
	require.Equal(t, []string{
		"patch pods/status default/web metadata.resourceVersion metadata.uid status.message: 409 Conflict",
		"get pods default/web",
		"patch pods/status default/web metadata.resourceVersion metadata.uid status.message status.phase",
	}, a.requests())
	a.server.ClearFaults()
	a.pass(time.Minute)
	require.Empty(t, a.requests())
	require.Equal(t, v1.PodRunning, a.server.Admin().Pod("default", "web").Status.Phase)
	a.stop()
}

// ST-37: a pod with finalizers is deleted once.
func TestSink_ST37_Finalizers(t *testing.T) {
	a := newAgent(t, 1)
	pod := a.create("web", func(p *v1.Pod) { p.Finalizers = []string{"example.com/keep"} })
	require.NoError(t, a.server.Admin().DeletePod("default", "web", 30))
	a.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed})
	a.TerminatePod(pod)
	got := a.requests()
	require.Equal(t, "delete pods default/web", got[len(got)-1])
	require.NoError(t, a.server.Admin().EditPod("default", "web", func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} }))
	a.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed, Message: "later"})
	for _, r := range a.requests() {
		require.NotContains(t, r, "delete pods")
	}
	a.stop()
}

// ST-44: after a lost answer the next patch has everything: the server may have taken the last.
func TestSink_ST44_ALostAnswer(t *testing.T) {
	a := newAgent(t, 1)
	pod := a.create("web")
	a.SetPodStatus(pod, running("a"))
	a.requests()
	a.server.Inject(apiservertest.Fault{Verb: "watch", Hang: true})
	a.server.Break(nil)
	a.server.Inject(apiservertest.Fault{Verb: "patch", Times: 1, Lost: true})
	a.SetPodStatus(pod, running("b"))
	a.pass(100 * time.Millisecond)
	a.SetPodStatus(pod, running("a"))
	a.pass(10 * time.Second)
	require.Equal(t, "a", a.server.Admin().Pod("default", "web").Status.Message)
	a.server.ClearFaults()
	a.stop()
}

// ST-37: a pod whose deletion no watch has shown yet is deleted once, too.
func TestSink_ST37_BeforeItIsShown(t *testing.T) {
	a := newAgent(t, 1)
	pod := a.create("web", func(p *v1.Pod) { p.Finalizers = []string{"example.com/keep"} })
	require.NoError(t, a.server.Admin().DeletePod("default", "web", 30))
	a.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed, Conditions: running("").Conditions})
	a.requests()
	a.server.Inject(apiservertest.Fault{Verb: "watch", Hang: true})
	a.server.Break(nil)
	a.TerminatePod(pod)
	require.Equal(t, []string{"delete pods default/web"}, a.requests())
	a.server.Inject(apiservertest.Fault{Verb: "patch", Times: 1, Lost: true})
	a.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed, Message: "later"})
	a.pass(10 * time.Second)
	for _, r := range a.requests() {
		require.NotContains(t, r, "delete pods")
	}
	a.server.ClearFaults()
	a.stop()
}

// NA-3: a server that has just started answers a deletion from a cache that does not have the
// pod yet. The pod is not given up: a patch finds out, and it is deleted again.
func TestSink_NA3_ADeletionThatIsNotFound(t *testing.T) {
	a := newAgent(t, 1)
	pod := a.create("web")
	a.SetPodStatus(pod, running(""))
	require.NoError(t, a.server.Admin().DeletePod("default", "web", 30))
	a.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed})
	a.requests()
	a.server.Inject(apiservertest.Fault{Verb: "delete", Times: 1, Err: apierrors.NewNotFound(v1.Resource("pods"), "web")})
	a.TerminatePod(pod)
	a.pass(10 * time.Second)
	require.Nil(t, a.server.Admin().Pod("default", "web"))
	deletions := slices.DeleteFunc(a.requests(), func(r string) bool { return !strings.HasPrefix(r, "delete ") })
	require.Equal(t, []string{"delete pods default/web: 404 NotFound", "delete pods default/web"}, deletions)
	a.stop()
}

// ST-31, ST-44: a status that the server refuses is sent once; the next one is.
func TestSink_ST31_ST44_Refused(t *testing.T) {
	a := newAgent(t, 1)
	pod := a.create("web")
	bad := running("")
	bad.PodIP = "no address"
	a.SetPodStatus(pod, bad)
	require.Len(t, a.requests(), 1)
	a.pass(time.Hour)
	require.Empty(t, a.requests())
	a.SetPodStatus(pod, running("good"))
	require.Len(t, a.requests(), 1)
	require.Equal(t, "good", a.server.Admin().Pod("default", "web").Status.Message)
	a.stop()
}

// ST-36: a hundred changes with a server 20 ms away.
func TestSink_ST36_HundredChanges(t *testing.T) {
	a := newAgent(t, 1)
	var pods []*v1.Pod
	for i := range 100 {
		pods = append(pods, a.create(fmt.Sprint("web", i)))
	}
	a.requests()
	a.server.Inject(apiservertest.Fault{Latency: 20 * time.Millisecond})
	for _, p := range pods {
		a.SetPodStatus(p, running(""))
	}
	a.pass(200 * time.Millisecond)
	for _, p := range pods {
		require.Equal(t, v1.PodRunning, a.server.Admin().Pod("default", p.Name).Status.Phase, p.Name)
	}
	a.server.ClearFaults()
	a.stop()
}

// CF-26, ST-44: after an outage of any length the statuses arrive within five seconds of the
// first answer; here the watch gets it.
func TestSink_CF26_ST44_AnOutage(t *testing.T) {
	for seed := range uint64(10) {
		a := newAgent(t, seed)
		pod := a.create("web")
		a.SetPodStatus(pod, running("before"))
		a.requests()
		a.server.Crash()
		for i := range 60 {
			a.SetPodStatus(pod, running(fmt.Sprint(i)))
			a.pass(time.Second)
		}
		a.server.Recover()
		for range 31 { // until the first answer
			if a.pass(time.Second); len(a.server.TakeRequests()) > 0 {
				break
			}
		}
		a.pass(5 * time.Second)
		require.Equal(t, "59", a.server.Admin().Pod("default", "web").Status.Message)
		a.stop()
	}
}

// ST-15, ST-30, I27: under any faults the server sees a subsequence of a pod's statuses and the
// last one in the end; a pod is deleted only when it has ended there.
func TestSink_ST15_ST30_AnyFaults(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a := newAgent(r, rapid.Uint64().Draw(r, "seed"))
		admin := a.server.Admin()
		pods := []*v1.Pod{a.create("a"), a.create("b")}
		seen := map[types.UID]int{}
		look := func() {
			for _, p := range admin.Pods("n1") {
				number := 0
				_, _ = fmt.Sscan(p.Status.Message, &number)
				if number < seen[p.UID] {
					r.Fatalf("%s: status %d after %d", p.Name, number, seen[p.UID])
				}
				seen[p.UID] = number
			}
		}
		ended := map[int]bool{}
		for i := range rapid.IntRange(1, 30).Draw(r, "steps") {
			k := rapid.IntRange(0, 1).Draw(r, "pod")
			switch rapid.IntRange(0, 10).Draw(r, "do") {
			case 0, 1, 2, 3:
				if !ended[k] {
					a.SetPodStatus(pods[k], running(fmt.Sprint(i+1)))
				}
			case 4:
				a.server.Crash()
			case 5:
				a.server.Recover()
			case 6:
				a.server.Inject(apiservertest.Fault{Times: 2, Lost: true, Verb: "patch"})
			case 7:
				a.server.Inject(apiservertest.Fault{Times: 2, Err: rapid.SampledFrom([]error{
					apierrors.NewUnauthorized(""), apierrors.NewTooManyRequests("", 3), apierrors.NewInternalError(errors.New("x")),
					apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", nil),
				}).Draw(r, "answer")})
			case 8:
				a.server.Inject(apiservertest.Fault{Times: 2, Latency: 2 * time.Second})
			case 9:
				_ = admin.DeletePod("default", pods[k].Name, 30)
			case 10:
				if p := admin.Pod("default", pods[k].Name); p != nil && p.DeletionTimestamp != nil && !ended[k] {
					ended[k] = true
					a.SetPodStatus(pods[k], v1.PodStatus{Phase: v1.PodFailed, Message: fmt.Sprint(i + 1)})
					a.TerminatePod(pods[k])
				}
			}
			for range rapid.IntRange(0, 20).Draw(r, "wait") {
				a.pass(100 * time.Millisecond)
				look()
			}
		}
		a.server.ClearFaults()
		a.server.Recover()
		a.pass(3 * time.Minute)
		for k, p := range pods {
			want, _ := a.GetPodStatus(p.UID)
			switch got := admin.Pod("default", p.Name); {
			case ended[k] && got != nil:
				r.Fatalf("%s is still there: %s", p.Name, got.Status.Phase)
			case !ended[k] && got == nil:
				r.Fatalf("%s is gone and had not ended", p.Name)
			case got != nil && got.Status.Message != want.Message:
				r.Fatalf("%s: %q at the server, %q in the store", p.Name, got.Status.Message, want.Message)
			}
		}
		a.stop()
	})
}
