package executor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/executor"
)

// program uses every method of an executor. It is the same code in every implementation. Its
// results do not depend on the order of the steps.
type program struct {
	executor.Executor
	ctx context.Context

	mu      sync.Mutex
	results []string // written by the main coroutine, in its own order
	trace   []string // written by all coroutines, in the order of the steps
}

func (p *program) runActs() {
	for _, act := range []struct {
		name string
		play func() string
	}{
		{"sleepers", p.runSleepers},
		{"ping-pong", p.pingPong},
		{"latch", p.runLatch},
		{"each", p.runEach},
		{"deadline", p.runDeadlines},
		{"cancel", p.cancelTree},
		{"timeout", p.runTimeout},
	} {
		from := p.Now()
		result := act.play()
		p.results = append(p.results, fmt.Sprintf("%s: %s, took %s", act.name, result, p.Now().Sub(from)))
	}
}

func (p *program) addLine(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trace = append(p.trace, fmt.Sprintf(format, args...))
}

// runSleepers makes coroutines sleep in pairs of equal length, and returns when each one woke.
func (p *program) runSleepers() string {
	from, woke := p.Now(), make([]time.Duration, 6)
	g := executor.NewGroup(p)
	for i := range woke {
		g.Go(func() {
			if p.Sleep(p.ctx, time.Duration(i/2)*10*time.Millisecond) != nil {
				return
			}
			p.addLine("sleeper %d", i)
			woke[i] = p.Now().Sub(from)
		})
	}
	g.Wait()
	return fmt.Sprint(woke)
}

// pingPong sends a signal back and forth, and each side counts.
func (p *program) pingPong() string {
	ping, pong := p.NewEvent(), p.NewEvent()
	said, g := "", executor.NewGroup(p)
	play := func(word string, mine, other executor.Event) {
		for range 3 {
			if mine.Wait(p.ctx) != nil {
				return
			}
			p.addLine("%s", word)
			said += word
			other.Signal()
		}
	}
	g.Go(func() { play("ping ", ping, pong) })
	g.Go(func() { play("pong ", pong, ping) })
	ping.Signal()
	g.Wait()
	return said
}

// runLatch has four coroutines wait for a latch that a fifth opens, and one more that waits after
// that.
func (p *program) runLatch() string {
	gate, g, through := p.NewLatch(), executor.NewGroup(p), make([]bool, 5)
	pass := func(i int) {
		if gate.Wait(p.ctx) == nil {
			p.addLine("through %d", i)
			through[i] = true
		}
	}
	for i := range 4 {
		g.Go(func() { pass(i) })
	}
	g.Go(func() {
		if p.Sleep(p.ctx, 5*time.Millisecond) == nil {
			gate.Open()
			gate.Open()
		}
	})
	g.Wait()
	pass(4)
	return fmt.Sprint(through, gate.Opened())
}

// runEach makes seven calls of 1, 2, 3 ... milliseconds, three at a time; the first three wait for
// each other.
func (p *program) runEach() string {
	var busy, most int
	together, squares := p.NewLatch(), make([]int, 7)
	executor.Each(p, 3, len(squares), func(i int) {
		p.mu.Lock()
		busy++
		most = max(most, busy)
		all := busy == 3
		p.mu.Unlock()
		if all {
			together.Open()
		}
		if together.Wait(p.ctx) == nil && p.Sleep(p.ctx, time.Duration(i+1)*time.Millisecond) == nil {
			p.addLine("square %d", i)
			squares[i] = i * i
		}
		p.mu.Lock()
		busy--
		p.mu.Unlock()
	})
	return fmt.Sprint(squares, " at most ", most)
}

// runDeadlines ends one sleep in time, one too late and one that never began. The times that must not
// come first are an hour away, because real time is not exact.
func (p *program) runDeadlines() string {
	var said []string
	for _, c := range []struct{ deadline, sleep time.Duration }{
		{time.Hour, 10 * time.Millisecond}, {5 * time.Millisecond, time.Hour}, {0, time.Hour},
	} {
		ctx, cancel := p.WithDeadline(p.ctx, p.Now().Add(c.deadline))
		err := p.Sleep(ctx, c.sleep)
		p.addLine("slept: %v", err)
		said = append(said, fmt.Sprint(err))
		cancel()
	}
	return strings.Join(said, ", ")
}

// cancelTree cancels a tree of contexts at its root.
func (p *program) cancelTree() string {
	ctx, cancel := executor.WithCancel(p.ctx)
	defer cancel()
	said, g := make([]string, 4), executor.NewGroup(p)
	for i := range said {
		g.Go(func() {
			child, cancel := executor.WithCancel(ctx)
			defer cancel()
			said[i] = fmt.Sprint(p.Sleep(child, time.Hour))
			p.addLine("cancelled %d", i)
		})
	}
	if p.Sleep(p.ctx, 5*time.Millisecond) == nil {
		cancel()
	}
	g.Wait()
	return strings.Join(said, ", ")
}

// runTimeout waits with a time limit for an event, which is signalled once and then not.
func (p *program) runTimeout() string {
	event := p.NewEvent()
	p.Go(func() {
		if p.Sleep(p.ctx, 2*time.Millisecond) == nil {
			event.Signal()
		}
	})
	first, err1 := event.WaitUntil(p.ctx, p.Now().Add(time.Hour))
	second, err2 := event.WaitUntil(p.ctx, p.Now().Add(28*time.Millisecond))
	return fmt.Sprint(first, second, errors.Join(err1, err2))
}

// untimedResults returns the results without durations, which are not exact in real time.
func (p *program) untimedResults() []string {
	var out []string
	for _, r := range p.results {
		if strings.HasPrefix(r, "sleepers") {
			continue // It consists of durations.
		}
		r, _, _ = strings.Cut(r, ", took")
		out = append(out, r)
	}
	return out
}

// theResults are the results of the program in virtual time, in both implementations.
var theResults = []string{
	"sleepers: [0s 0s 10ms 10ms 20ms 20ms], took 20ms",
	"ping-pong: ping pong ping pong ping pong , took 0s",
	"latch: [true true true true true] true, took 5ms",
	// 1+4+7, 2+5 and 3+6: a free worker takes the next.
	"each: [0 1 4 9 16 25 36] at most 3, took 12ms",
	"deadline: <nil>, context deadline exceeded, context deadline exceeded, took 15ms",
	"cancel: context canceled, context canceled, context canceled, context canceled, took 5ms",
	"timeout: true false <nil>, took 30ms",
}

func TestProgram_Goroutines(t *testing.T) {
	p := &program{Executor: executor.Over(nil), ctx: t.Context()}
	p.runActs()
	assert.Equal(t, (&program{results: theResults}).untimedResults(), p.untimedResults())
}

func TestProgram_Bubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &program{Executor: executor.Over(nil), ctx: t.Context()}
		p.runActs()
		assert.Equal(t, theResults, p.results)
	})
}

// playProgram runs the program in a simulation to its end.
func playProgram(t *testing.T, seed uint64) (*program, *executor.Scheduler) {
	s, proc := newSimulation(t, seed)
	p := &program{Executor: executor.Over(proc.Clock()), ctx: context.Background()}
	proc.Go(p.runActs)
	s.RunUntil(start.Add(time.Minute))
	require.Zero(t, proc.Running())
	require.Zero(t, s.Left())
	return p, s
}

func TestProgram_Simulation(t *testing.T) {
	traces := map[string]bool{}
	for seed := range uint64(50) {
		p, s := playProgram(t, seed)
		again, sAgain := playProgram(t, seed)
		require.Equal(t, theResults, p.results, "seed %d", seed)
		require.Equal(t, p.trace, again.trace, "seed %d", seed)
		require.Equal(t, s.Steps(), sAgain.Steps(), "seed %d", seed)
		traces[strings.Join(p.trace, "\n")] = true
	}
	assert.Greater(t, len(traces), 40, "different seeds must show different interleavings")
}

// A context of any origin must not change a single step.
func TestProgram_SimulationUnderAnyContext(t *testing.T) {
	type key struct{}
	want, _ := playProgram(t, 7)
	standard, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, ctx := range map[string]context.Context{
		"ours":              executor.NewContext(context.Background()),
		"ours with values":  context.WithValue(executor.NewContext(context.Background()), key{}, 1),
		"standard":          standard,
		"ours on standard":  executor.NewContext(standard),
		"ours on that":      executor.NewContext(executor.NewContext(standard)),
		"detached standard": executor.Detach(standard),
	} {
		s, proc := newSimulation(t, 7)
		p := &program{Executor: executor.Over(proc.Clock()), ctx: ctx}
		proc.Go(p.runActs)
		s.RunUntil(start.Add(time.Minute))
		assert.Equal(t, theResults, p.results, name)
		assert.Equal(t, want.trace, p.trace, name)
	}
}

// takeStep takes one step, and moves the time if no coroutine is ready.
func takeStep(s *executor.Scheduler) bool {
	if s.Step() {
		return true
	}
	due, ok := s.NextTimer()
	if !ok {
		return false
	}
	s.AdvanceTo(due)
	return s.Step()
}

// A crash at any step ends all coroutines of the program and leaves nothing in the simulation or on
// the contexts outside. A program that is started after it has the usual results.
func TestProgram_CrashAtEveryStep(t *testing.T) {
	_, whole := playProgram(t, 3)
	for k := range whole.Steps() + 1 {
		s := executor.NewScheduler(3, start)
		root := executor.NewContext(context.Background())
		proc := s.NewProcess()
		p := &program{Executor: proc, ctx: root}
		proc.Go(p.runActs)
		for range k {
			require.True(t, takeStep(s), "step %d", k)
		}
		proc.Crash()
		require.Zero(t, proc.Running(), "step %d", k)
		require.Zero(t, s.Left(), "step %d", k)
		require.Zero(t, root.Callbacks(), "step %d", k)
		require.False(t, s.Step(), "step %d", k)
		require.True(t, proc.Crashed())

		next := s.NewProcess()
		again := &program{Executor: next, ctx: root}
		next.Go(again.runActs)
		s.RunUntil(s.Now().Add(time.Minute))
		require.Equal(t, theResults, again.results, "step %d", k)
	}
}
