package prober_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/prober"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var errBroken = errors.New("cannot be made")

// harness sets the results of checks and logs calls, events and results.
type harness struct {
	t        *testing.T
	executor executor.Executor
	begun    time.Time
	p        *prober.Prober
	mu       struct {
		sync.Mutex
		says    map[string]string // "pod/container/Kind": see check
		calls   map[string]int
		running int
		most    int
		lines   strings.Builder
	}
}

func newHarness(t *testing.T, clk clock.Clock, change ...func(*prober.Config)) *harness {
	w := &harness{t: t, executor: executor.Over(clk)}
	w.begun = w.executor.Now()
	w.mu.says, w.mu.calls = map[string]string{}, map[string]int{}
	cfg := prober.Config{
		Check: w, Clock: clk, Jitter: func() float64 { return 0.5 }, Recorder: w,
		Result: func(r prober.Result) {
			w.logLine("%s/%s %v of %s: %v%s", r.UID, r.Container, r.Kind, r.ContainerID, r.Success, joinNonEmpty(" ", r.Message))
		},
		Hooks: prober.Hooks{Resumed: func(gap time.Duration) { w.logLine("resumed after %v", gap) }},
	}
	for _, f := range change {
		f(&cfg)
	}
	p, err := prober.New(cfg)
	require.NoError(t, err)
	w.p = p
	return w
}

func joinNonEmpty(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

func (w *harness) logLine(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(&w.mu.lines, "%v "+format+"\n", append([]any{w.executor.Now().Sub(w.begun)}, args...)...)
}

// takeLines returns the log lines since the last call.
func (w *harness) takeLines() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.mu.lines.String()
	w.mu.lines.Reset()
	return s
}

func (w *harness) Event(_ k8sruntime.Object, eventtype, reason, message string) {
	w.logLine("event %s %s: %s", eventtype, reason, message)
}

func (w *harness) Eventf(o k8sruntime.Object, eventtype, reason, format string, args ...any) {
	message, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	w.Event(o, eventtype, reason, message)
}

// setResult sets the result of a probe's checks: pass, warn, fail, error, panic, nothing, hang
// (until the context ends), deaf (for an hour, whatever the context does), or a duration after which
// they pass.
func (w *harness) setResult(probe, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.says[probe] = what
}

func (w *harness) countCalls(probe string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.calls[probe]
}

func (w *harness) countRunning(by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.running += by
	w.mu.most = max(w.mu.most, w.mu.running)
}

func (w *harness) mostRunning() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.most
}

// Check implements prober.Checker.
func (w *harness) Check(ctx context.Context, req prober.Request) (prober.CheckResult, string, error) {
	key := fmt.Sprintf("%s/%s/%v", req.UID, req.Container, req.Kind)
	w.countRunning(1)
	defer w.countRunning(-1)
	w.mu.Lock()
	w.mu.calls[key]++
	what := w.mu.says[key]
	w.mu.Unlock()
	w.logLine("check %s of %s %s", key, req.ContainerID, what)
	switch what {
	case "", "pass":
		return prober.Passed, "", nil
	case "warn":
		return prober.Warned, "odd", nil
	case "fail":
		return prober.Failed, "no", nil
	case "error":
		return 0, "", errBroken
	case "panic":
		panic("boom")
	case "nothing":
		return 0, "", nil
	case "deaf":
		_ = w.executor.Sleep(executor.Detach(ctx), time.Hour)
		return 0, "", ctx.Err()
	case "hang":
		err := w.executor.Sleep(ctx, time.Hour)
		w.logLine("check %s ended", key)
		return 0, "", err
	}
	d, err := time.ParseDuration(what)
	if err != nil {
		panic(err)
	}
	if err := w.executor.Sleep(ctx, d); err != nil {
		return 0, "", err
	}
	return prober.Passed, "", nil
}

// aPod is a pod of one container "c" with the probes named by l, r and s, each
// with a period of 10 s, a timeout of 1 s and a failure threshold of 2.
func aPod(uid, probes string) *v1.Pod {
	c := v1.Container{Name: "c"}
	probe := func() *v1.Probe { return &v1.Probe{FailureThreshold: 2} }
	for _, k := range probes {
		switch k {
		case 'l':
			c.LivenessProbe = probe()
		case 'r':
			c.ReadinessProbe = probe()
		case 's':
			c.StartupProbe = probe()
		}
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Name: uid, Namespace: "ns"},
		Spec:       v1.PodSpec{Containers: []v1.Container{c}},
	}
}

// observeStart observes that the container of a pod has just started.
func (w *harness) observeStart(uid, id string) {
	w.p.Observe(types.UID(uid), prober.Observed{PodIP: "10.0.0.1", Containers: []prober.Container{
		{Name: "c", ID: id, Running: true, StartedAt: w.executor.Now()},
	}})
}

func (w *harness) observeExit(uid, id string) {
	w.p.Observe(types.UID(uid), prober.Observed{Containers: []prober.Container{{Name: "c", ID: id}}})
}

// newSimulation runs a harness's prober in virtual time.
func newSimulation(t *testing.T, change ...func(*prober.Config)) (*harness, *executor.Scheduler, *executor.Process) {
	s := executor.NewScheduler(1, start)
	p := s.NewProcess()
	w := newHarness(t, p.Clock(), change...)
	ctx, cancel := executor.WithCancel(context.Background())
	p.Go(func() { require.NoError(t, w.p.Run(ctx)) })
	s.RunUntilIdle()
	t.Cleanup(func() {
		cancel()
		s.RunUntilIdle()
		require.Zero(t, p.Running(), "something is left running")
	})
	return w, s, p
}
