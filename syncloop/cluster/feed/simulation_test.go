package feed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
	"github.com/podkeel/podkeel/syncloop/cluster/feed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// node is a server, and a node that reads its pods, in one simulation.
type node struct {
	*executor.Scheduler
	t       require.TestingT
	server  *apiservertest.Server
	process *executor.Process
	contact *contact.Contact
	pods    *feed.Pods
	log     []string
	last    []*v1.Pod
	check   func([]*v1.Pod)
}

func newNode(t require.TestingT, seed uint64, change ...func(*feed.PodsConfig)) *node {
	n := &node{t: t, Scheduler: executor.NewScheduler(seed, start)}
	n.server = apiservertest.New(apiservertest.Config{Clock: n.NewProcess().Clock()})
	n.process = n.NewProcess()
	n.contact = contact.New(contact.Config{Clock: n.process.Clock()})
	cfg := feed.PodsConfig{
		Feed: n.server.Client("n1").PodFeed(), Contact: n.contact, Clock: n.process.Clock(),
		Jitter: func() float64 { return 0.5 }, Observer: n,
	}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	n.pods, err = feed.NewPods(cfg)
	require.NoError(t, err)
	return n
}

// run runs the source until the returned function is called.
func (n *node) run() (stop func()) {
	ctx, cancel := executor.WithCancel(context.Background())
	ended := false
	n.process.Go(func() {
		require.NoError(n.t, n.pods.Run(ctx, n))
		ended = true
	})
	n.RunUntilIdle()
	return func() {
		cancel()
		n.RunUntil(n.Now().Add(time.Second))
		require.True(n.t, ended, "Run has not returned")
		require.Zero(n.t, n.process.Running())
	}
}

// Set is the source.Sink.
func (n *node) Set(s source.Snapshot) {
	n.log = append(n.log, "set "+show(s.Pods))
	n.last = slices.Clone(s.Pods)
	n.checkLast()
}

// Apply and Delete make it a source.ChangeSink.
func (n *node) Apply(pod *v1.Pod) {
	n.log = append(n.log, "apply "+show([]*v1.Pod{pod}))
	i := slices.IndexFunc(n.last, func(p *v1.Pod) bool { return p.UID == pod.UID })
	if n.last = slices.Clone(n.last); i < 0 {
		n.last = append(n.last, pod)
	} else {
		n.last[i] = pod
	}
	n.checkLast()
}

func (n *node) Delete(uid types.UID) {
	n.log = append(n.log, "delete "+string(uid[34:]))
	n.last = slices.DeleteFunc(slices.Clone(n.last), func(p *v1.Pod) bool { return p.UID == uid })
	n.checkLast()
}

func (n *node) checkLast() {
	if n.check != nil {
		n.check(n.last)
	}
}

// snapshots is a sink that takes nothing else.
type snapshots struct{ source.Sink }

func (n *node) Observe(pod *v1.Pod) { n.log = append(n.log, "observe "+show([]*v1.Pod{pod})) }

func (n *node) Gone(uid types.UID) { n.log = append(n.log, "gone "+string(uid[34:])) }

func (n *node) at(d time.Duration) []string {
	n.RunUntil(start.Add(d))
	log := n.log
	n.log = nil
	return log
}

func (n *node) create(name string) *v1.Pod {
	pod, err := n.server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "i:1"}}},
	})
	require.NoError(n.t, err)
	return pod
}

func show(pods []*v1.Pod) string {
	var words []string
	for _, p := range pods {
		word := p.Name + "@" + p.ResourceVersion
		if p.DeletionTimestamp != nil {
			word += "!"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// CF-18, CF-27, CF-29: what happens at the server is handed over as it is, one by one to a sink
// that takes it so.
func TestPods_CF18_CF27_CF29_Changes(t *testing.T) {
	n := newNode(t, 1)
	a := n.create("a")
	stop := n.run()
	require.Equal(t, []string{"observe a@5", "set a@5"}, n.at(time.Second))
	n.create("b")
	require.Equal(t, []string{"observe b@6", "apply b@6"}, n.at(2*time.Second))
	require.NoError(t, n.server.Admin().EditPod("default", "a", func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }))
	require.NoError(t, n.server.Admin().DeletePod("default", "a", 30))
	require.Equal(t, []string{"observe a@7", "apply a@7", "observe a@8!", "apply a@8!"}, n.at(3*time.Second))
	require.NoError(t, n.server.Admin().DeletePod("default", "a", 0))
	require.Equal(t, []string{"observe a@9!", "apply a@9!", "delete " + string(a.UID[34:]), "gone " + string(a.UID[34:])}, n.at(4*time.Second))
	h := n.pods.Health()
	require.Equal(t, start, h.Synced)
	require.Zero(t, h.Failures)
	stop()
}

// A pod that has come in the place of one of its name while nothing was read is another one.
func TestPods_CF27_AnotherOfTheName(t *testing.T) {
	n := newNode(t, 1)
	a := n.create("a")
	stop := n.run()
	n.at(time.Second)
	require.NoError(t, n.server.Admin().DeletePod("default", "a", 0))
	b := n.create("a")
	log := n.at(2 * time.Second)
	require.Equal(t, []string{"delete " + string(a.UID[34:]), "gone " + string(a.UID[34:]), "observe a@8", "apply a@8"}, log[len(log)-4:])
	require.Equal(t, []*v1.Pod{b}, n.last)
	stop()
}

// CF-18: a sink that takes nothing else gets all pods after each change.
func TestPods_CF18_Snapshots(t *testing.T) {
	n := newNode(t, 1)
	n.create("a")
	ctx, cancel := executor.WithCancel(context.Background())
	n.process.Go(func() { require.NoError(t, n.pods.Run(ctx, snapshots{n})) })
	n.at(time.Second)
	n.create("b")
	require.Equal(t, []string{"observe b@6", "set a@5 b@6"}, n.at(2*time.Second))
	require.NoError(t, n.server.Admin().DeletePod("default", "a", 0))
	log := n.at(3 * time.Second)
	require.Equal(t, "set b@6", log[len(log)-1])
	cancel()
	n.RunUntil(n.Now().Add(time.Second))
	require.Zero(t, n.process.Running())
}

// CF-20: nothing is handed over before the server has shown the node once.
func TestPods_CF20_TheGate(t *testing.T) {
	var nodes *feed.Follower[*v1.Node]
	n := newNode(t, 1, func(c *feed.PodsConfig) {
		c.Gate = func(ctx context.Context) error { return nodes.WaitForObject(ctx) }
	})
	var err error
	nodes, err = feed.New(feed.Config[*v1.Node]{Feed: n.server.Client("n1").NodeFeed(), Clock: n.process.Clock()})
	require.NoError(t, err)
	ctx, cancel := executor.WithCancel(context.Background())
	n.process.Go(func() { _ = nodes.Run(ctx) })
	n.create("a")
	stop := n.run()
	require.Empty(t, n.at(time.Minute))
	_, synced := nodes.Objects()
	require.True(t, synced, "an empty answer is one")
	_, err = n.server.Admin().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	require.NoError(t, err)
	require.Equal(t, []string{"observe a@5", "set a@5"}, n.at(2*time.Minute))
	require.NoError(t, n.server.Admin().DeleteNode("n1"))
	n.create("b")
	require.Equal(t, []string{"observe b@8", "apply b@8"}, n.at(3*time.Minute), "the gate stays open")
	_, ok := nodes.Get("", "n1")
	require.False(t, ok)
	cancel()
	stop()
}

// ST-43: what the node itself has written is no news; what others write at the same time is.
func TestPods_ST43_OwnWritesAreNoNews(t *testing.T) {
	n := newNode(t, 1)
	a := n.create("a")
	stop := n.run()
	n.at(time.Second)
	ref := apiserver.PodRef{Namespace: "default", Name: "a", UID: a.UID}
	write := func(status string) {
		n.process.Go(func() {
			pod, err := n.server.Client("n1").Pods().PatchStatus(context.Background(), ref, []byte(`{"metadata":{"uid":"`+string(a.UID)+`"},"status":`+status+`}`))
			require.NoError(t, err)
			n.pods.RecordWrite(pod)
		})
	}
	clear := n.server.Inject(apiservertest.Fault{Verb: "watch", Hang: true})
	n.server.Break(nil)
	n.at(1500 * time.Millisecond)
	write(`{"phase":"Running"}`)
	n.at(2 * time.Second)
	clear()
	require.Equal(t, []string{"observe a@6"}, n.at(3*time.Second))
	require.NoError(t, n.server.Admin().EditPod("default", "a", func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }))
	require.Equal(t, []string{"observe a@7", "apply a@7"}, n.at(4*time.Second), "not ours")
	clear = n.server.Inject(apiservertest.Fault{Verb: "watch", Hang: true})
	n.server.Break(nil)
	n.at(4500 * time.Millisecond)
	require.NoError(t, n.server.Admin().EditPod("default", "a", func(p *v1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: "example.com/gate", Status: v1.ConditionTrue})
	}))
	write(`{"phase":"Running"}`)
	n.at(5 * time.Second)
	clear()
	n.at(6 * time.Second)
	require.Equal(t, "a@8", show(n.last), "a condition of another writer is news; our write after it is not")
	stop()
}

// CF-26, CF-31: an outage stops nothing. Within five seconds of the first answer the watch
// stands, though the server has lost its history.
func TestPods_CF26_CF31_AnOutage(t *testing.T) {
	for seed := range uint64(10) {
		n := newNode(t, seed)
		n.create("a")
		stop := n.run()
		n.at(time.Second)
		n.server.Crash()
		require.Empty(t, n.at(24*time.Second))
		require.NotZero(t, n.pods.Health().Failures)
		n.create("b")
		n.server.Recover()
		n.contact.Report(nil) // The heartbeat is answered.
		require.Equal(t, []string{"observe b@6", "set a@5 b@6"}, n.at(29*time.Second))
		require.Zero(t, n.pods.Health().Failures)
		stop()
	}
}

// CF-18, CF-31: under any faults, each state of the node is a state that the server had, and its last state is the
// server's last state.
func TestPods_CF31_AnyFaults(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := newNode(r, rapid.Uint64().Draw(r, "seed"))
		states := map[string]bool{}
		now := func() string {
			var words []string
			for _, p := range n.server.Admin().Pods("n1") {
				words = append(words, fmt.Sprint(p.Name, "/", p.UID, "@", p.ResourceVersion))
			}
			slices.Sort(words)
			return strings.Join(words, " ")
		}
		of := func(pods []*v1.Pod) string {
			var words []string
			for _, p := range pods {
				words = append(words, fmt.Sprint(p.Name, "/", p.UID, "@", p.ResourceVersion))
			}
			slices.Sort(words)
			return strings.Join(words, " ")
		}
		states[now()] = true
		n.check = func(pods []*v1.Pod) {
			if !states[of(pods)] {
				r.Fatalf("the server never had %s", of(pods))
			}
		}
		stop := n.run()
		admin, at := n.server.Admin(), time.Duration(0)
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "pod")
			switch rapid.IntRange(0, 11).Draw(r, "do") {
			case 0, 1, 2:
				if admin.Pod("default", name) == nil {
					n.create(name)
				}
			case 3:
				_ = admin.EditPod("default", name, func(p *v1.Pod) { p.Labels = map[string]string{"at": fmt.Sprint(int64(at))} })
			case 4: // It is shown with a deletion timestamp before it goes.
				if pod := admin.Pod("default", name); pod != nil {
					version, err := strconv.Atoi(n.server.ResourceVersion())
					require.NoError(r, err)
					before := now()
					states[strings.Replace(before, fmt.Sprint(pod.UID, "@", pod.ResourceVersion), fmt.Sprint(pod.UID, "@", version+1), 1)] = true
					_ = admin.DeletePod("default", name, 0)
				}
			case 5:
				n.server.Crash()
			case 6:
				n.server.Recover()
			case 7:
				n.server.Compact()
			case 8:
				n.server.Break(rapid.SampledFrom([]error{nil, errors.New("reset"), apierrors.NewResourceExpired("410"), apierrors.NewInternalError(errors.New("x"))}).Draw(r, "err"))
			case 9:
				n.server.Inject(apiservertest.Fault{Times: 2, Err: rapid.SampledFrom([]error{
					apierrors.NewUnauthorized(""), apierrors.NewTooManyRequests("", 3), apierrors.NewServiceUnavailable(""),
					apierrors.NewBadRequest("no watch-list"), apierrors.NewResourceExpired(""),
				}).Draw(r, "answer")})
			case 10:
				n.server.Inject(apiservertest.Fault{Times: 1, Hang: true})
			case 11:
				n.server.Inject(apiservertest.Fault{Times: 3, Latency: 2 * time.Second})
			}
			states[now()] = true
			at += time.Duration(rapid.IntRange(0, 5000).Draw(r, "wait")) * time.Millisecond
			n.at(at)
		}
		n.server.ClearFaults()
		n.server.Recover()
		n.at(at + 2*time.Minute)
		if of(n.last) != now() {
			r.Fatalf("the node has %q, the server %q", of(n.last), now())
		}
		stop()
	})
}

// An error of the gate is one of the source, which then runs again.
func TestPods_TheGateFails(t *testing.T) {
	broken := errors.New("broken")
	n := newNode(t, 1, func(c *feed.PodsConfig) { c.Gate = func(context.Context) error { return broken } })
	var err error
	n.process.Go(func() { err = n.pods.Run(context.Background(), n) })
	n.RunUntilIdle()
	require.ErrorIs(t, err, broken)
	require.Zero(t, n.process.Running())
	_, err = feed.NewPods(feed.PodsConfig{})
	require.EqualError(t, err, "feed: Config.Feed is nil")
}

// A crash of the node leaves nothing behind, at any step.
func TestPods_Crash(t *testing.T) {
	for steps := range 40 {
		n := newNode(t, uint64(steps))
		n.create("a")
		n.process.Go(func() { _ = n.pods.Run(context.Background(), n) })
		for range steps {
			n.Step()
		}
		n.process.Crash()
		require.Zero(t, n.process.Running())
	}
}

// The answer to a write that comes after its pod has gone is not remembered for ever.
func TestPods_NothingIsLeftOfAPodThatIsGone(t *testing.T) {
	n := newNode(t, 1)
	a := n.create("a")
	n.create("b")
	defer n.run()()
	n.at(time.Second)
	n.pods.RecordWrite(a)
	require.Equal(t, 1, n.pods.Written())
	require.NoError(t, n.server.Admin().Delete(t.Context(), a, new(int64)))
	n.at(2 * time.Second)
	require.Zero(t, n.pods.Written())
	n.pods.RecordWrite(a)
	require.NoError(t, n.server.Admin().EditPod("default", "b", func(p *v1.Pod) { p.Labels = map[string]string{"k": "v"} }))
	n.at(3 * time.Second)
	require.Zero(t, n.pods.Written())
}

// panics is an Observer that panics once.
type panics struct{ times int }

func (p *panics) Observe(*v1.Pod) {
	if p.times++; p.times == 1 {
		panic("once")
	}
}

func (p *panics) Gone(types.UID) {}

// A panic of the Observer ends the Run whole, so that the next Run follows the pods from the beginning.
func TestPods_TheObserverPanics(t *testing.T) {
	n := newNode(t, 1, func(c *feed.PodsConfig) { c.Observer = &panics{} })
	n.create("a")
	var caught any
	ended := 0
	ctx, cancel := executor.WithCancel(context.Background())
	n.process.Go(func() {
		defer func() { caught = recover() }()
		_ = n.pods.Run(ctx, n)
	})
	n.RunUntil(n.Now().Add(time.Second))
	require.Equal(t, "once", caught)
	require.Zero(t, n.process.Running(), "the follower has ended, too")
	n.process.Go(func() { _ = n.pods.Run(ctx, n); ended++ })
	n.RunUntil(n.Now().Add(time.Second))
	require.Equal(t, "a", n.last[0].Name)
	cancel()
	n.RunUntil(n.Now().Add(time.Second))
	require.Equal(t, 1, ended)
}

// Another Run goes on from what the one before knew: nothing is read again.
func TestPods_AnotherRun(t *testing.T) {
	n := newNode(t, 1)
	n.create("a")
	n.run()()
	n.create("b")
	n.server.TakeRequests()
	stop := n.run()
	log := n.at(10 * time.Second)
	require.Equal(t, []string{"set a@5", "observe b@6", "apply b@6"}, log[2:])
	stop()
	var asked []string
	for _, r := range n.server.TakeRequests() {
		asked = append(asked, r.String())
	}
	require.Equal(t, []string{"watch pods"}, asked)
}
