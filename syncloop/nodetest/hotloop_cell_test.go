package nodetest_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

var epoch = nodetest.Epoch

// The story of a cell of the hot-loop tests. Two pods are desired: one stays, the
// other one leaves. The fault lasts from onset to faultEnds.
const (
	onset       = 0 * time.Second
	imageChange = 1 * time.Minute
	sandboxDies = 2 * time.Minute
	podLeaves   = 3 * time.Minute
	faultEnds   = 5 * time.Minute
	// callsPerMinute limits the mutating calls per verb, target and minute. Calls that the same story makes without a
	// fault do not count. The limit is one call every ten seconds.
	callsPerMinute = 6
	// shortSteps is how many more there are where a call fails for a reason that tends
	// to be over soon: it is retried after 1, 2, 4 and 8 seconds before it is every ten.
	shortSteps = 3
	// stepsPerSecond bounds what a cell may do in a virtual second, calls or not.
	stepsPerSecond = 20_000
)

var transcripts = flag.Bool("nodetest.transcripts", false, "with -v: log the transcript of each cell of the hot-loop tests that fails")

var policies = []v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever}

var shapes = []string{"single", "init-chain", "sidecar", "two"}

// hotLoopPod returns a pod of the hot-loop tests. Unless its policy is Never, its first container crashes once.
func hotLoopPod(name, shape string, policy v1.RestartPolicy) *v1.Pod {
	p := newPod(name, []string{"serve"})
	p.Spec.RestartPolicy = policy
	p.Spec.TerminationGracePeriodSeconds = new(int64(2))
	script := func(container, text string) { p.Annotations[memory.AnnotationPrefix+container] = text }
	p.Annotations = map[string]string{}
	if policy != v1.RestartPolicyNever {
		script("c0", "run=20s exit=1; run=forever")
	}
	c := &p.Spec.Containers[0]
	c.LivenessProbe = tcpProbe(10)
	hook := &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}
	c.Lifecycle = &v1.Lifecycle{PostStart: hook, PreStop: hook}
	switch shape {
	case "init-chain":
		for _, init := range []string{"i0", "i1"} {
			p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{Name: init, Image: name + "-init:1", Command: []string{"true"}})
			script(init, "run=1s exit=0")
		}
	case "sidecar":
		always := v1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = []v1.Container{{Name: "s0", Image: name + "-sidecar:1", Command: []string{"serve"}, RestartPolicy: &always}}
	case "two":
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "c1", Image: name + ":1", Command: []string{"serve"}})
	}
	return p
}

// cell is one story with one fault.
type cell struct {
	policy v1.RestartPolicy
	shape  string
	events bool
	rule   *faulty.Rule
	lie    func(*runtime.PodStatus)
	stream func(inner runtime.EventSource, clk clock.Clock) runtime.EventSource // in place of inner
}

// isLying reports whether the runtime shows a wrong state to the node.
func (c *cell) isLying() bool {
	return c.lie != nil || c.rule != nil && c.rule.Do == faulty.Omit && c.rule.Verb == faulty.PodStatus
}

// outcome is what came of a cell.
type outcome struct {
	calls map[metered]int
	soon  map[metered]int
	asked map[string]int
	spins string        // empty, or when and with what it did
	after time.Duration // from the fault's end until the pods were well
	well  bool
	left  string // the faults of pods that never became well
	trace string
}

// tolerant is a testing.TB for runtimes that lie: the node cannot keep an invariant
// if the runtime reports a state that is false.
type tolerant struct{ testing.TB }

func (tolerant) Errorf(string, ...any) {}

// playCell plays the story of a cell.
func (c *cell) playCell(t testing.TB) outcome {
	faults, err := faulty.New(faulty.Config{})
	require.NoError(t, err)
	m, lie := newMeter(), &fieldLiar{}
	if c.isLying() {
		t = tolerant{t}
	}
	b := nodetest.New(t, nodetest.Config{Seed: 1, Wrap: func(inner runtime.Runtime, clk clock.Clock) runtime.Runtime {
		lie.features = faults.Wrap(inner, clk).(features)
		if c.stream != nil {
			lie.stream = c.stream(lie.features.Features().EventSource, clk)
		}
		return m.wrapRuntime(lie, clk, c.events)
	}})
	s := &scene{cell: c, b: b, m: m, keeper: hotLoopPod("keeper", c.shape, c.policy), leaver: hotLoopPod("leaver", c.shape, c.policy)}
	if c.rule != nil {
		_, err = faults.Add(*c.rule)
		require.NoError(t, err)
	}
	lie.lie = c.lie
	m.machine = b.Machine()
	s.playStory()
	if s.out.spins == "" {
		faults.Clear()
		lie.lie = nil
		s.measureRecovery()
		if c.rule != nil && (c.rule.Do == faulty.Hang || c.rule.Do == faulty.HangDone) {
			s.runUntil(s.b.Now().Sub(epoch) + 3*time.Minute) // What hangs goes on until its deadline.
		}
	}
	s.out.calls, s.out.soon, s.out.asked, s.out.trace = m.calls, m.soon, m.asked, b.Transcript()
	if s.out.spins != "" {
		b.Crash() // It would not come to its end.
	} else {
		b.Stop()
	}
	return s.out
}

// scene is a cell that is being played.
type scene struct {
	*cell
	b              *nodetest.Simulation
	m              *meter
	keeper, leaver *v1.Pod
	out            outcome
}

func (s *scene) playStory() {
	s.b.Apply(s.keeper)
	s.b.Apply(s.leaver)
	s.runUntil(imageChange)
	changed := s.keeper.DeepCopy()
	changed.Spec.Containers[0].Image = "keeper:2"
	s.keeper = changed
	s.b.Apply(changed)
	s.runUntil(sandboxDies)
	for _, sandbox := range s.b.Machine().SnapshotPod(s.keeper.UID).Sandboxes {
		if sandbox.Ready {
			_ = s.b.Machine().KillSandbox(sandbox.ID)
		}
	}
	s.runUntil(podLeaves)
	s.b.Delete(s.leaver.UID)
	s.runUntil(faultEnds)
}

// runUntil runs the story until a time, unless the node spins.
func (s *scene) runUntil(at time.Duration) {
	end := epoch.Add(at)
	for s.out.spins == "" && s.b.Now().Before(end) {
		second, first := s.b.Now().Truncate(time.Second).Add(time.Second), s.b.Steps()
		if second.After(end) {
			second = end
		}
		for s.b.Now().Before(second) {
			s.b.StepUntil(second)
			if s.b.Steps()-first > stepsPerSecond {
				s.out.spins = fmt.Sprintf("it spins at %s", s.b.Now().Sub(epoch))
				return
			}
		}
	}
}

// measureRecovery measures the time from the end of the fault until the final state is reached.
func (s *scene) measureRecovery() {
	for s.out.spins == "" {
		s.out.after = s.b.Now().Sub(epoch) - faultEnds
		if s.out.left = s.finalFault(); s.out.left == "" {
			s.out.well = true
			return
		}
		if s.out.after > 70*time.Minute {
			return
		}
		s.runUntil(s.b.Now().Sub(epoch) + time.Second)
	}
}

// finalFault describes the errors of the final state, or returns "".
func (s *scene) finalFault() string {
	if left := s.b.Machine().SnapshotPod(s.leaver.UID); len(left.Sandboxes)+len(left.Containers) > 0 {
		return "something is left of the pod that has left"
	}
	st := s.b.Machine().SnapshotStatus(s.keeper.UID)
	var known *v1.Pod
	for _, p := range s.b.Node().Pods() {
		if p.UID == s.keeper.UID {
			known = p
		}
	}
	if known == nil {
		return "the node does not know the pod that stays"
	}
	running := map[string]int{}
	for _, c := range st.Containers {
		if c.State == runtime.StateRunning {
			running[c.Name]++
		}
	}
	if phase := known.Status.Phase; phase == v1.PodFailed || phase == v1.PodSucceeded {
		if s.policy == v1.RestartPolicyAlways || len(running) > 0 && !s.isLying() {
			return fmt.Sprintf("phase %s with %v running", phase, running)
		}
		return ""
	}
	if s.isLying() {
		return s.statusFault(&known.Status)
	}
	want := map[string]int{}
	for _, c := range s.keeper.Spec.Containers {
		want[c.Name] = 1
	}
	if s.shape == "sidecar" {
		want["s0"] = 1
	}
	if !maps.Equal(want, running) {
		return fmt.Sprintf("%v run, not %v", running, want)
	}
	return s.statusFault(&known.Status)
}

// statusFault returns the fault of a status. If the runtime lies, a container that was once reported as terminated is allowed
// to stay so: the node does not believe that it runs again, and restarts it under the policy Always only.
func (s *scene) statusFault(status *v1.PodStatus) string {
	if status.Phase != v1.PodRunning {
		return fmt.Sprintf("phase %s", status.Phase)
	}
	for _, c := range status.ContainerStatuses {
		ended := s.isLying() && s.policy != v1.RestartPolicyAlways && c.State.Terminated != nil
		if !c.Ready && !ended {
			return fmt.Sprintf("container %s is not ready", c.Name)
		}
	}
	return ""
}

// baselines are the stories without a fault.
type baselines struct {
	mu    sync.Mutex
	calls map[string]map[metered]int
}

// usualCalls returns the largest number of calls of each kind in a minute without a fault.
func (b *baselines) usualCalls(t testing.TB, c cell) map[metered]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := fmt.Sprint(c.policy, c.shape, c.events)
	if b.calls == nil {
		b.calls = map[string]map[metered]int{}
	}
	if b.calls[key] == nil {
		c.rule, c.lie, c.stream = nil, nil, nil
		out := c.playCell(t)
		require.True(t, out.well, "without a fault: %s\n%s", out.left, out.trace)
		most := map[metered]int{}
		for call, n := range out.calls {
			call.minute, call.id = 0, ""
			most[call] = max(most[call], n)
		}
		b.calls[key] = most
	}
	return b.calls[key]
}

// checkCell fails the test if a cell makes too many calls or does not recover.
func (c *cell) checkCell(t *testing.T, base *baselines, within time.Duration) {
	usual := base.usualCalls(t, *c)
	out := c.playCell(t)
	var faults []string
	if out.spins != "" {
		faults = append(faults, out.spins)
	}
	for call, n := range out.calls {
		normal := usual[metered{verb: call.verb, target: call.target}]
		limit := normal + callsPerMinute + countNews(call.minute)
		if out.soon[call] > 0 {
			limit += shortSteps
		}
		if n > limit {
			faults = append(faults, fmt.Sprintf("%s: %d calls, %d without a fault", call, n, normal))
		}
	}
	switch {
	case out.spins != "":
	case !out.well:
		faults = append(faults, "it does not recover: "+out.left)
	case out.after > within:
		faults = append(faults, fmt.Sprintf("it recovers %s after the fault's end", out.after))
	}
	if len(faults) == 0 {
		return
	}
	slices.Sort(faults)
	for _, f := range faults[:min(len(faults), 6)] {
		t.Error(f)
	}
	if testing.Verbose() && *transcripts {
		t.Log(out.trace)
	}
}

// countNews returns how many changes without a backoff happen in a minute of the story: the image changes, the sandbox
// dies, a pod leaves, the fault ends.
func countNews(minute int) int {
	n := 0
	for _, at := range []time.Duration{imageChange, sandboxDies, podLeaves, faultEnds} {
		if minute == int(at/time.Minute) {
			n++
		}
	}
	return n
}

// playEachKind plays a cell for every kind of pod, with events and without. The short form plays it for
// one kind, which the cell's name chooses: over all cells every kind has its turn.
func playEachKind(t *testing.T, base *baselines, name string, within time.Duration, c cell) {
	kinds := len(shapes) * len(policies) * 2
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	first := int(hash.Sum32() % uint32(kinds))
	n := longtest.Count(1, kinds)
	if raced {
		n = min(n, 3)
	}
	for i := range n {
		kind := (first + i*(kinds/n)) % kinds
		c := c
		c.events = kind%2 == 0
		c.policy = policies[kind/2%len(policies)]
		c.shape = shapes[kind/2/len(policies)]
		stream := "relist"
		if c.events {
			stream = "events"
		}
		t.Run(fmt.Sprintf("%s/%s/%s/%s", name, c.shape, c.policy, stream), func(t *testing.T) {
			t.Parallel()
			c.checkCell(t, base, within)
		})
	}
}

// oneBackoff is the longest that a pod waits: the longest delay of a crash loop.
const oneBackoff = 5*time.Minute + 10*time.Second
