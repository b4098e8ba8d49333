package pleg_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// harness is a runtime whose state and errors a test controls. Each pod has a version that
// increases with every change. An inspection shows it as an exit code, so that a reader can tell
// how old its result is.
type harness struct {
	executor executor.Executor
	start    time.Time
	mu       struct {
		sync.Mutex
		pods        map[types.UID]*truth
		order       []types.UID
		omit        map[string]bool // containers that are missing in listings
		hang        map[types.UID]bool
		fail        map[types.UID]error
		reasons     map[string]string // reason of a failed container, by ID
		listErr     error
		hangLists   bool
		listTakes   time.Duration
		statusTakes time.Duration
		frozen      []runtime.Pod // listings return this instead of the present state
		calls       map[string]int
		inspecting  map[types.UID]bool
		most        int // highest number of concurrent inspections
		transcript  strings.Builder
	}
}

type truth struct {
	version    int32
	containers []runtime.Container
}

func newHarness(clk clock.Clock) *harness {
	w := &harness{executor: executor.Over(clk)}
	w.start = w.executor.Now()
	w.mu.pods = map[types.UID]*truth{}
	w.mu.omit = map[string]bool{}
	w.mu.hang = map[types.UID]bool{}
	w.mu.fail = map[types.UID]error{}
	w.mu.reasons = map[string]string{}
	w.mu.calls = map[string]int{}
	w.mu.inspecting = map[types.UID]bool{}
	return w
}

// withLock runs f under the lock.
func (w *harness) withLock(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// setContainer sets the state of a container; StateUnknown removes it.
func (w *harness) setContainer(uid types.UID, id string, state runtime.State) {
	w.withLock(func() {
		p := w.mu.pods[uid]
		if p == nil {
			p = &truth{}
			w.mu.pods[uid] = p
		}
		if !slices.Contains(w.mu.order, uid) {
			w.mu.order = append(w.mu.order, uid)
		}
		p.version++
		i := slices.IndexFunc(p.containers, func(c runtime.Container) bool { return c.ID == id })
		switch {
		case state == runtime.StateUnknown && i >= 0:
			p.containers = slices.Delete(slices.Clone(p.containers), i, i+1)
		case i >= 0:
			p.containers = slices.Clone(p.containers)
			p.containers[i].State = state
		case state != runtime.StateUnknown:
			p.containers = append(slices.Clone(p.containers), runtime.Container{ID: id, Name: id, State: state})
		}
		if len(p.containers) == 0 {
			w.mu.order = slices.DeleteFunc(w.mu.order, func(u types.UID) bool { return u == uid })
		}
	})
}

func (w *harness) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	w.recordCall("list")
	w.mu.Lock()
	takes, hang := w.mu.listTakes, w.mu.hangLists
	w.mu.Unlock()
	if err := w.spendTime(ctx, takes, hang); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.listErr != nil {
		return nil, w.mu.listErr
	}
	if w.mu.frozen != nil {
		return w.mu.frozen, nil
	}
	return w.listLocked(), nil
}

func (w *harness) listLocked() []runtime.Pod {
	pods := []runtime.Pod{}
	for _, uid := range w.mu.order {
		p := runtime.Pod{UID: uid}
		for _, c := range w.mu.pods[uid].containers {
			if !w.mu.omit[c.ID] {
				p.Containers = append(p.Containers, c)
			}
		}
		if len(p.Containers) > 0 {
			pods = append(pods, p)
		}
	}
	return pods
}

func (w *harness) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	w.recordCall("inspect " + string(uid))
	w.mu.Lock()
	if w.mu.inspecting[uid] {
		panic("two inspections of " + uid)
	}
	w.mu.inspecting[uid] = true
	w.mu.most = max(w.mu.most, len(w.mu.inspecting))
	takes, hang := w.mu.statusTakes, w.mu.hang[uid]
	w.mu.Unlock()
	err := w.spendTime(ctx, takes, hang)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.mu.inspecting, uid)
	if err == nil {
		err = w.mu.fail[uid]
	}
	if err != nil {
		return nil, err
	}
	status := &runtime.PodStatus{UID: uid}
	if p := w.mu.pods[uid]; p != nil {
		for _, c := range p.containers {
			s := runtime.ContainerStatus{Container: c, Message: fmt.Sprint(p.version)}
			if reason, ok := w.mu.reasons[c.ID]; ok && c.State == runtime.StateExited {
				s.ExitCode, s.Reason = 137, reason
			}
			status.Containers = append(status.Containers, s)
		}
	}
	return status, nil
}

// spendTime makes a call take some time, or hang.
func (w *harness) spendTime(ctx context.Context, takes time.Duration, hang bool) error {
	switch {
	case hang:
		if err := w.executor.NewLatch().Wait(ctx); err != nil {
			return err
		}
	case takes > 0:
		return w.executor.Sleep(ctx, takes)
	}
	return nil
}

// recordCall counts a call and adds it to the transcript.
func (w *harness) recordCall(what string) {
	w.withLock(func() {
		w.mu.calls[what]++
		fmt.Fprintf(&w.mu.transcript, "%6.3f %s\n", w.executor.Now().Sub(w.start).Seconds(), what)
	})
}

// countCalls returns how often a call was made.
func (w *harness) countCalls(what string) (n int) {
	w.withLock(func() { n = w.mu.calls[what] })
	return n
}

// takeTranscript returns the lines since its last call.
func (w *harness) takeTranscript() (s string) {
	w.withLock(func() {
		s = w.mu.transcript.String()
		w.mu.transcript.Reset()
	})
	return s
}

// streamer is a harness with an event stream, which the test can break.
type streamer struct {
	*harness
	ended executor.Event
	sink  func(runtime.Event)
	count int
	none  bool // there is no stream
}

func newStreamer(clk clock.Clock) *streamer {
	w := newHarness(clk)
	return &streamer{harness: w, ended: w.executor.NewEvent()}
}

// Features implements runtime.FeatureReporter.
func (s *streamer) Features() runtime.Features { return runtime.Features{EventSource: s} }

var errStream = errors.New("stream broke")

func (s *streamer) Events(ctx context.Context, sink func(runtime.Event)) error {
	s.recordCall("stream")
	s.sink = sink
	s.count++
	if s.none {
		return fmt.Errorf("world: %w: no stream", runtime.ErrUnsupported)
	}
	if err := s.ended.Wait(ctx); err != nil {
		return err
	}
	return errStream
}

// simulation is a PLEG in a simulation, with a subscriber that records its events.
type simulation struct {
	*executor.Scheduler
	process *executor.Process
	harness *harness
	pleg    *pleg.PLEG
	ctx     *executor.Context
	sub     pleg.Subscription
	ran     bool
	err     error
}

// newSimulation returns a PLEG over a runtime that make builds. It is not running yet.
func newSimulation(t *testing.T, seed uint64, cfg func(clk clock.Clock) (pleg.Config, *harness)) *simulation {
	s := executor.NewScheduler(seed, start)
	b := &simulation{Scheduler: s, process: s.NewProcess(), ctx: executor.NewContext(context.Background())}
	clk := b.process.Clock()
	c, w := cfg(clk)
	c.Clock = clk
	p, err := pleg.New(c)
	require.NoError(t, err)
	b.pleg, b.harness = p, w
	b.sub = p.Subscribe(func() {
		for _, c := range b.sub.TakeAll(nil) {
			w.recordCall(fmt.Sprintf("tell %s %v", c.UID, c.Events))
		}
	})
	t.Cleanup(func() {
		b.ctx.Cancel(context.Canceled)
		b.RunUntilIdle()
		require.Zero(t, b.process.Running(), "coroutines left")
	})
	return b
}

// newPlainSimulation returns a simulation over a harness without an event stream.
func newPlainSimulation(t *testing.T, seed uint64) *simulation {
	return newSimulation(t, seed, func(clk clock.Clock) (pleg.Config, *harness) {
		w := newHarness(clk)
		return pleg.Config{Runtime: w}, w
	})
}

func (b *simulation) startPLEG() {
	b.process.Go(func() {
		b.err = b.pleg.Run(b.ctx)
		b.ran = true
	})
}

// runUntilSecond runs the simulation until some seconds after its start.
func (b *simulation) runUntilSecond(seconds float64) {
	b.RunUntil(start.Add(time.Duration(seconds * float64(time.Second))))
}

// startReader starts a reader that records its result and its time.
func (b *simulation) startReader(ctx context.Context, uid types.UID) {
	mark := b.pleg.Mark()
	b.process.Go(func() {
		status, err := b.pleg.NewerThan(ctx, uid, mark)
		if err != nil {
			b.harness.recordCall(fmt.Sprintf("reader of %s: %v", uid, err))
			return
		}
		b.harness.recordCall(fmt.Sprintf("reader of %s: %s", uid, formatStatus(status)))
	})
}

// formatStatus returns the containers of a status and its version.
func formatStatus(status *runtime.PodStatus) string {
	var parts []string
	for _, c := range status.Containers {
		parts = append(parts, c.ID+" "+c.State.String())
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// statusVersion returns the version in a status; 0 if it has none.
func statusVersion(status *runtime.PodStatus) int32 {
	if len(status.Containers) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(status.Containers[0].Message, 10, 32)
	if err != nil {
		panic(err)
	}
	return int32(n)
}
