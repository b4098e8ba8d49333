package contain_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func TestGuard_APanicIsTheErrorOfTheCall(t *testing.T) {
	cause := errors.New("boom")
	var told []string
	g := contain.New(contain.Config{OnPanic: func(call string, err error) { told = append(told, call+" "+err.Error()) }})
	err := g.Call("Hooks.Phase", func() { panic(cause) })
	assert.EqualError(t, err, "Hooks.Phase panicked: boom")
	assert.ErrorIs(t, err, cause)
	var p *contain.Panic
	require.ErrorAs(t, err, &p)
	assert.Contains(t, string(p.Stack), "TestGuard_APanicIsTheErrorOfTheCall")
	assert.NoError(t, g.Call("Hooks.Phase", func() {}))
	assert.Equal(t, []string{"Hooks.Phase Hooks.Phase panicked: boom"}, told)
}

func TestGuard_HealthyReportsForFiveMinutes(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(start)
	g := contain.New(contain.Config{Package: "node", Clock: clk})
	boom := func() { panic("boom") }
	assert.NoError(t, g.Healthy())
	_ = g.Call("B", boom)
	clk.SetTime(start.Add(4 * time.Minute))
	_ = g.Call("B", boom)
	_ = g.Call("A", boom)
	_ = g.Call("B", func() {}) // A success takes nothing back.
	assert.EqualError(t, g.Healthy(), "node: A panicked: boom (contained; 1 times, the last time 0s ago)\n"+
		"node: B panicked: boom (contained; 2 times, the last time 0s ago)")
	clk.SetTime(start.Add(9*time.Minute - 1))
	assert.Error(t, g.Healthy())
	clk.SetTime(start.Add(9 * time.Minute))
	assert.NoError(t, g.Healthy())
	_ = g.Call("B", boom)
	assert.ErrorContains(t, g.Healthy(), "1 times", "a new streak")
}

func TestGuard_TheStackIsLoggedOnce(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(start)
	var log bytes.Buffer
	g := contain.New(contain.Config{Clock: clk, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 1000 {
		_ = g.Call("A", func() { panic("boom") })
	}
	assert.Equal(t, 1, strings.Count(log.String(), "a panic was contained"))
	assert.Contains(t, log.String(), "TestGuard_TheStackIsLoggedOnce")
	clk.SetTime(start.Add(contain.UnhealthyPeriod))
	_ = g.Call("A", func() { panic("boom") })
	assert.Equal(t, 2, strings.Count(log.String(), "a panic was contained"))
}

// badHandler panics in the calls that its fields name.
type badHandler struct{ where string }

func (h badHandler) panicAt(where string) {
	if h.where == where {
		panic("bad log")
	}
}
func (h badHandler) Enabled(context.Context, slog.Level) bool  { h.panicAt("Enabled"); return true }
func (h badHandler) Handle(context.Context, slog.Record) error { h.panicAt("Handle"); return nil }
func (h badHandler) WithAttrs([]slog.Attr) slog.Handler        { h.panicAt("WithAttrs"); return h }
func (h badHandler) WithGroup(string) slog.Handler             { h.panicAt("WithGroup"); return h }

// The panicking log handler is also the handler that would log the panic.
func TestGuard_PanicOfTheLogHandler(t *testing.T) {
	for _, where := range []string{"Enabled", "Handle", "WithAttrs", "WithGroup"} {
		g := contain.New(contain.Config{Package: "p", Log: slog.New(badHandler{where})})
		assert.EqualError(t, g.Call("A", func() { panic("boom") }), "A panicked: boom", where)
		g.Log().With("a", 1).WithGroup("g").Info("hello")
		assert.ErrorContains(t, g.Healthy(), "p: Log.Handler panicked: bad log", where)
		assert.Same(t, g.Log(), contain.New(contain.Config{}).Logger(g.Log()), "it is contained once")
	}
}

// A test must fail that breaks the rules of the simulation, whatever it does
// that in.
func TestGuard_APanicOfTheSimulationIsRaisedAgain(t *testing.T) {
	s := executor.NewScheduler(1, start)
	p := s.NewProcess()
	g := contain.New(contain.Config{Clock: p.Clock(), Log: slog.New(badHandler{}), OnPanic: func(string, error) { p.Clock().After(1) }})
	for name, f := range map[string]func(){
		"a call":          func() { _ = g.Call("A", func() { p.Clock().After(time.Second) }) },
		"a call of Each":  func() { _ = g.Call("A", func() { executor.Each(p, 0, 2, func(int) { p.Clock().After(time.Second) }) }) },
		"who is told":     func() { _ = g.Call("A", func() { panic("boom") }) },
		"a value of Or":   func() { contain.CallOrDefault(g, "A", 1, func() int { p.Clock().Sleep(1); return 2 }) },
		"a deferred call": func() { _ = callRecovered(g, func() { p.Clock().Sleep(1) }) },
	} {
		p.Go(f)
		var fault *executor.Fault
		require.ErrorAs(t, panicOf(s.RunUntilIdle), &fault, name)
		assert.ErrorContains(t, fault, "nothing waits on a clock's channel", name)
	}
}

func callRecovered(g *contain.Guard, f func()) (err error) {
	defer g.Recover("A", &err)
	f()
	return nil
}

func panicOf(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

func TestGuard_PanicOfOnPanicIsIgnored(t *testing.T) {
	g := contain.New(contain.Config{OnPanic: func(string, error) { panic("too") }})
	assert.EqualError(t, g.Call("A", func() { panic("boom") }), "A panicked: boom")
}

// A panic that crossed Each keeps the stack of the original panic.
func TestGuard_StackOfTheFirstPanic(t *testing.T) {
	g := contain.New(contain.Config{})
	err := g.Call("A", func() { executor.Each(executor.Over(nil), 0, 2, func(int) { deep() }) })
	var p *contain.Panic
	require.ErrorAs(t, err, &p)
	assert.Equal(t, "boom", p.Value)
	assert.Contains(t, string(p.Stack), "contain_test.deep")
}

func deep() { panic("boom") }

// half is a runtime with only some of the roles.
type half struct{ runtime.PodLister }

func (half) ListPods(context.Context) ([]runtime.Pod, error) { panic("boom") }

func TestRuntime_HasTheFeaturesOfTheInnerOne(t *testing.T) {
	g := contain.New(contain.Config{})
	lister := contain.NewRuntime(g, half{})
	assert.Zero(t, lister.Features())
	_, err := lister.Exec(t.Context(), runtime.ExecRequest{})
	assert.ErrorIs(t, err, runtime.ErrUnsupported)
	_, err = lister.ListPods(t.Context())
	assert.EqualError(t, err, "Runtime.ListPods panicked: boom")
	assert.Same(t, lister, contain.NewRuntime(contain.New(contain.Config{}), lister), "it is contained once")
}

// changing is a runtime whose features change, as behind an adapter that reconnects.
type changing struct {
	half
	runtime.Execer
	now func() runtime.Features
}

func (c *changing) Features() runtime.Features { return c.now() }

func (c *changing) Exec(context.Context, runtime.ExecRequest) (runtime.ExecResult, error) {
	panic("boom")
}

// TestRuntime_AsksForFeaturesAgain: Features calls the inner runtime each time, and uses the last result only after a
// panic.
func TestRuntime_AsksForFeaturesAgain(t *testing.T) {
	inner := &changing{now: func() runtime.Features { return runtime.Features{} }}
	r := contain.NewRuntime(contain.New(contain.Config{}), inner)
	assert.Nil(t, r.Features().Execer)
	inner.now = func() runtime.Features {
		return runtime.Features{Execer: inner, ImageMounts: runtime.ImageMountsAll, StrictGroups: runtime.SupportFull}
	}
	execer := r.Features().Execer
	require.NotNil(t, execer)
	_, err := execer.Exec(t.Context(), runtime.ExecRequest{})
	assert.EqualError(t, err, "Runtime.Exec panicked: boom")
	assert.Equal(t, runtime.ImageMountsAll, r.Features().ImageMounts)

	inner.now = func() runtime.Features { panic("boom") }
	f := r.Features()
	assert.NotNil(t, f.Execer, "as before the panic")
	assert.Equal(t, runtime.ImageMountsUnknown, f.ImageMounts)
	assert.Equal(t, runtime.SupportUnknown, f.StrictGroups)

	inner.now = func() runtime.Features { return runtime.Features{} }
	_, err = execer.Exec(t.Context(), runtime.ExecRequest{})
	assert.ErrorIs(t, err, runtime.ErrUnsupported, "the role went after it was asked for")
}

// unreadable is an error whose Error method panics because its author forgot a nil check.
type unreadable struct{ cause *struct{ text string } }

func (u *unreadable) Error() string { return u.cause.text }

func TestGuard_PanicOfErrorMethod(t *testing.T) {
	g := contain.New(contain.Config{})
	cause := errors.New("cause")
	for _, bad := range []error{&unreadable{}, (*unreadable)(nil), errors.Join(cause, &unreadable{})} {
		_, err := contain.CallWithResult(g, "Runtime.ListPods", func() (int, error) { return 1, bad })
		assert.EqualError(t, err, "Runtime.ListPods error panicked: runtime error: invalid memory address or nil pointer dereference")
	}
	_, err := contain.CallWithResult(g, "Runtime.ListPods", func() (int, error) { return 1, cause })
	assert.Equal(t, cause, err)
}

func TestJitter_OnlyNumbersFromZeroToOne(t *testing.T) {
	g := contain.New(contain.Config{})
	for given, want := range map[float64]float64{0: 0, 0.25: 0.25, 0.999: 0.999, 1: 0.5, -0.001: 0.5, math.Inf(1): 0.5, math.Inf(-1): 0.5, math.MaxFloat64: 0.5} {
		assert.Equal(t, want, contain.Jitter(g, func() float64 { return given })(), given)
	}
	assert.Equal(t, 0.5, contain.Jitter(g, func() float64 { return math.NaN() })())
}
