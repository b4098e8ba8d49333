package source_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime"
)

// script is a source that the test drives: it only exports its sink.
type script struct{ sink source.Sink }

func (s *script) Run(_ context.Context, sink source.Sink) error {
	s.sink = sink
	return nil
}

// runFunc is a source with a Run function.
type runFunc func(ctx context.Context, sink source.Sink) error

func (f runFunc) Run(ctx context.Context, sink source.Sink) error { return f(ctx, sink) }

func pod(uid, name, image string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Name: name, Namespace: "default"}}
	p.Spec.Containers = []v1.Container{{Name: "c", Image: image}}
	return p
}

// told returns updates as text.
func told(updates []podmanager.PodUpdate) []string {
	var out []string
	for _, u := range updates {
		line := u.Source + " " + u.Op.String()
		for _, p := range u.Pods {
			line += " " + string(p.UID)
		}
		out = append(out, line)
	}
	return out
}

// running makes a Mux, runs it in the bubble of the test and returns it when its sources have
// started.
func running(t *testing.T, cfg source.Config) *source.Mux {
	m, err := source.New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
	})
	synctest.Wait()
	return m
}

// The changes of each source are computed separately: a snapshot is about the pods of its own
// source only (CF-1), and about all of them (CF-5).
func TestTake_CF3_OrderWithinASourceAndBetweenSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, web := &script{}, &script{}
		m := running(t, source.Config{Sources: map[string]source.Source{"web": web, "file": file}})

		file.sink.Set(source.Snapshot{Pods: []*v1.Pod{pod("a", "a", "v1"), pod("b", "b", "v1"), pod("c", "c", "v1"), pod("d", "d", "v1")}})
		web.sink.Set(source.Snapshot{})
		before := []podmanager.PodUpdate{{Source: "before"}}
		assert.Equal(t, []string{"before SET", "file ADD a b c d", "web ADD"}, told(m.TakeAll(before)), "it appends")
		assert.Nil(t, m.TakeAll(nil), "nothing is told twice")

		dying, ran := pod("c", "c", "v1"), pod("d", "d", "v1")
		dying.DeletionTimestamp = &metav1.Time{}
		ran.Status.Phase = v1.PodRunning
		web.sink.Set(source.Snapshot{Pods: []*v1.Pod{pod("w", "a", "v1")}})
		file.sink.Set(source.Snapshot{Pods: []*v1.Pod{ran, dying, pod("b", "b", "v2"), pod("e", "e", "v1")}})
		assert.Equal(t, []string{
			"file REMOVE a", "file ADD e", "file UPDATE b", "file DELETE c", "file RECONCILE d",
			"web ADD w",
		}, told(m.TakeAll(nil)))
	})
}

// SL-8: a snapshot without pods counts as a snapshot.
func TestAllSeen_CF9_SL8_NeedsASnapshotOfEverySource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, web := &script{}, &script{}
		m := running(t, source.Config{Sources: map[string]source.Source{"file": file, "web": web}})

		file.sink.Set(source.Snapshot{})
		assert.Equal(t, []string{"file", "web"}, m.Names())
		assert.False(t, m.Complete("file"), "sent, not taken")
		m.TakeAll(nil)
		assert.True(t, m.Complete("file"), "a source speaks for its own pods, whatever the others do")
		assert.False(t, m.Complete("web"))
		assert.False(t, m.AllSeen())
		web.sink.Set(source.Snapshot{})
		assert.False(t, m.AllSeen(), "sent, not taken")
		m.TakeAll(nil)
		assert.True(t, m.AllSeen())
		assert.False(t, m.Complete("nobody"))
	})
}

// TestComplete_I47_IncompleteIsSeenButNotComplete: an incomplete snapshot counts at once, and until
// the consumer has taken a complete one.
func TestComplete_I47_IncompleteIsSeenButNotComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &script{}
		m := running(t, source.Config{Sources: map[string]source.Source{"file": file}})

		file.sink.Set(source.Snapshot{Incomplete: true})
		assert.Equal(t, []string{"file ADD"}, told(m.TakeAll(nil)))
		assert.True(t, m.AllSeen())
		assert.False(t, m.Complete("file"))

		file.sink.Set(source.Snapshot{})
		assert.False(t, m.Complete("file"), "not taken")
		assert.Empty(t, m.TakeAll(nil))
		assert.True(t, m.Complete("file"))

		file.sink.Set(source.Snapshot{Incomplete: true})
		assert.False(t, m.Complete("file"), "at once")
	})
}

func TestTake_CF6_RejectedIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hooks []string
		events := &events{}
		file := &script{}
		m := running(t, source.Config{
			Sources:  map[string]source.Source{"file": file},
			Recorder: events,
			Hooks: source.Hooks{Rejected: func(src string, p *v1.Pod, err error) {
				hooks = append(hooks, src+" "+string(p.UID))
			}},
		})
		for range 3 {
			file.sink.Set(source.Snapshot{Pods: []*v1.Pod{pod("a", "x", "v1"), pod("b", "x", "v1")}})
			m.TakeAll(nil)
		}
		assert.Equal(t, []string{"file b"}, hooks)
		assert.Equal(t, []string{"Warning FailedValidation Error validating pod default/x from file, ignoring: " +
			`duplicate pod: x_default is the name of an earlier pod (uid "a")`}, events.list)
	})
}

type events struct{ list []string }

func (e *events) Event(_ k8sruntime.Object, eventtype, reason, message string) {
	e.list = append(e.list, eventtype+" "+reason+" "+message)
}

func (e *events) Eventf(o k8sruntime.Object, eventtype, reason, format string, args ...any) {
	e.Event(o, eventtype, reason, fmt.Sprintf(format, args...))
}

// TestRun_I47_FailedSourceKeepsItsStateAndIsRestarted: the pauses double from one second to twenty,
// one failure is reported once, and after a source has run long enough both start again.
func TestRun_I47_FailedSourceKeepsItsStateAndIsRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var starts []time.Duration
		var failures []string
		flaky := runFunc(func(ctx context.Context, sink source.Sink) error {
			starts = append(starts, time.Since(start))
			switch n := len(starts); {
			case n == 1:
				sink.Set(source.Snapshot{Pods: []*v1.Pod{pod("a", "a", "v1")}})
				return errors.New("one")
			case n == 2:
				return errors.New("two")
			case n < 8:
				return errors.New("one")
			case n == 8:
				time.Sleep(time.Minute)
				return errors.New("one")
			}
			<-ctx.Done()
			return ctx.Err()
		})
		m := running(t, source.Config{
			Sources: map[string]source.Source{"file": flaky},
			Hooks:   source.Hooks{Failed: func(src string, err error) { failures = append(failures, src+" "+err.Error()) }},
		})
		time.Sleep(time.Hour)
		synctest.Wait()

		var at []float64
		for _, s := range starts {
			at = append(at, s.Seconds())
		}
		assert.Equal(t, []float64{0, 1, 3, 7, 15, 31, 51, 71, 132}, at)
		assert.Equal(t, []string{"file one", "file two", "file one"}, failures)
		assert.Equal(t, []string{"file ADD a"}, told(m.TakeAll(nil)))
		assert.True(t, m.Complete("file"), "the last snapshot stays, and so does its word")
	})
}

// TestRun_FailuresThatAllDiffer: different failures are reported up to a limit, because the memory
// for them must not grow.
func TestRun_FailuresThatAllDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, told := 0, 0
		running(t, source.Config{
			Sources: map[string]source.Source{"file": runFunc(func(context.Context, source.Sink) error {
				runs++
				return fmt.Errorf("failure %d", runs)
			})},
			Hooks: source.Hooks{Failed: func(string, error) { told++ }},
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Greater(t, runs, 100)
		assert.Equal(t, 32, told)
	})
}

func TestRun_I50_PanicOfASourceIsContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed error
		var log strings.Builder
		other := &script{}
		m := running(t, source.Config{
			Sources: map[string]source.Source{
				"bad":  runFunc(func(context.Context, source.Sink) error { panic("boo") }),
				"file": other,
			},
			Log:   slog.New(slog.NewTextHandler(&log, nil)),
			Hooks: source.Hooks{Failed: func(_ string, err error) { failed = err }},
		})
		other.sink.Set(source.Snapshot{Pods: []*v1.Pod{pod("a", "a", "v1")}})
		assert.Equal(t, []string{"file ADD a"}, told(m.TakeAll(nil)))
		require.ErrorIs(t, failed, source.ErrPanicked)
		assert.EqualError(t, failed, `source: panicked: Sources["bad"].Run panicked: boo`)
		assert.Contains(t, log.String(), "mux_test.go", "the log says where")
	})
}

func TestRun_OnlyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := running(t, source.Config{})
		assert.True(t, m.AllSeen(), "there is nobody to wait for")
		err := m.Run(t.Context())
		assert.ErrorIs(t, err, runtime.ErrSecondRun)
		assert.EqualError(t, err, "source: Run was called a second time")
	})
}

// TestWake_EverySnapshotWakesTheOneConsumer: wake is called without a lock, so the consumer may
// call TakeAll in it.
func TestWake_EverySnapshotWakesTheOneConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &script{}
		m := running(t, source.Config{
			Sources: map[string]source.Source{"file": file},
			Wake:    func() { t.Error("replaced") },
		})
		var got []string
		m.SetWake(func() { got = append(got, told(m.TakeAll(nil))...) })
		file.sink.Set(source.Snapshot{Pods: []*v1.Pod{pod("a", "a", "v1")}})
		file.sink.Set(source.Snapshot{Pods: []*v1.Pod{pod("a", "a", "v2")}})
		assert.Equal(t, []string{"file ADD a", "file UPDATE a"}, got)
	})
}

func TestNew_NamesEveryFault(t *testing.T) {
	_, err := source.New(source.Config{Sources: map[string]source.Source{"": &script{}, "b": nil, "a": nil}})
	require.ErrorIs(t, err, source.ErrConfig)
	assert.EqualError(t, err, "source: bad config: a source has an empty name\n"+
		"source: bad config: source \"a\" is nil\nsource: bad config: source \"b\" is nil")
}

// TestRun_SameUnderGoroutinesAndInTheSimulation: a program with a source that fails on a schedule
// has the same transcript with goroutines and in a simulation.
func TestRun_SameUnderGoroutinesAndInTheSimulation(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	program := func(clk clock.Clock, log *[]string, began time.Time) *source.Mux {
		n := 0
		m, err := source.New(source.Config{
			Clock: clk,
			Sources: map[string]source.Source{"file": runFunc(func(ctx context.Context, sink source.Sink) error {
				n++
				*log = append(*log, fmt.Sprint("run ", clk.Since(began)))
				sink.Set(source.Snapshot{Pods: []*v1.Pod{pod("a", "a", fmt.Sprint("v", n))}})
				return errors.New("again")
			})},
		})
		require.NoError(t, err)
		m.SetWake(func() { *log = append(*log, told(m.TakeAll(nil))...) })
		return m
	}

	var real []string
	synctest.Test(t, func(t *testing.T) {
		m := program(clock.RealClock{}, &real, time.Now())
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		require.NoError(t, m.Run(ctx))
	})
	for seed := range uint64(5) {
		var simulated []string
		s := executor.NewScheduler(seed, start)
		p := s.NewProcess()
		m := program(p.Clock(), &simulated, start)
		p.Go(func() { _ = m.Run(context.Background()) })
		s.RunUntil(start.Add(30 * time.Second))
		p.Crash()
		assert.Zero(t, p.Running())
		assert.Equal(t, real, simulated)
	}
	assert.Equal(t, []string{
		"run 0s", "file ADD a", "run 1s", "file UPDATE a", "run 3s", "file UPDATE a",
		"run 7s", "file UPDATE a", "run 15s", "file UPDATE a",
	}, real)
}
