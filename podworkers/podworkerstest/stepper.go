package podworkerstest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/runtime"
)

// Config is what a Stepper is made of. The zero value is complete.
type Config struct {
	// T is the test. What is wrong with the test or with a syncer of yours, a
	// panic or a wait that is none of podworkers.Wait, fails it with a sentence;
	// if it has failed at its end, the transcript is logged; and the Stepper is
	// closed then. Nil: what is wrong is a panic of the call that drives.
	T testing.TB
	// Seed takes every decision that goroutines would leave to chance.
	Seed uint64
	// Start is the time at the beginning; zero is the first of January 2000.
	Start time.Time
	// Syncer makes the syncer under test, on the simulation's clock, once for each
	// process (see Restart). It waits by podworkers.Wait, and a panic of it fails
	// the test. nil is the Stepper's own Syncer.
	Syncer func(clk clock.Clock) podworkers.PodSyncer
	// Jitter is podworkers.Config.Jitter; nil is no jitter at all, so that
	// times in a transcript are round.
	Jitter func() float64
	// These are podworkers.Config's.
	Retry                     backoff.Retry
	MaxSyncs, MaxTerminations int
	DrainTimeout              time.Duration
	Log                       *slog.Logger
}

// Stepper is the workers of a simulated node: the production code, on one
// thread, with a clock that only Advance moves, driven step by step. Nothing
// happens between its calls. A call of the test that waits, such as
// Completion.Wait, steps until that has come. It is not safe for concurrent use.
type Stepper struct {
	// Workers are the workers under test. What is asked of them directly does
	// not appear in the trace.
	Workers *podworkers.Workers
	// Syncer is what they call, unless Config.Syncer says otherwise.
	Syncer *Syncer
	// Cache is what they observe.
	Cache *Cache
	// Trace is what has happened.
	Trace *Trace

	config    Config
	scheduler *executor.Scheduler
	process   *executor.Process
	stop      context.CancelFunc
	crashAt   int // zero: not at all
	ended     bool
	err       error
	wrong     string // with a syncer; the test is to fail with it
}

// NewStepper makes workers and starts their Run, which takes its first step with the
// first Step, RunUntilIdle or Advance: an update before that comes before Run. Close
// ends it. A Config that makes no sense panics.
func NewStepper(config Config) *Stepper {
	if config.Start.IsZero() {
		config.Start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if config.Jitter == nil {
		config.Jitter = func() float64 { return 0 }
	}
	s := &Stepper{config: config, scheduler: executor.NewScheduler(config.Seed, config.Start)}
	s.scheduler.Guard(stallLimit, s.stalled)
	s.scheduler.LetDriverWait(s.hopeless)
	s.process = s.scheduler.NewProcess()
	clk := s.process.Clock()
	s.Trace, s.Cache, s.Syncer = NewTrace(clk), NewCache(clk), NewSyncer(clk)
	s.launch()
	if t := config.T; t != nil {
		t.Cleanup(s.cleanup)
	}
	return s
}

// launch starts workers in the present process.
func (s *Stepper) launch() {
	clk := s.process.Clock()
	var syncer podworkers.PodSyncer = s.Syncer
	if s.config.Syncer != nil {
		syncer = watched{s, s.config.Syncer(clk)}
	}
	w, err := podworkers.New(podworkers.Config{
		Syncer: s.Trace.WrapSyncer(syncer), Cache: s.Cache, Clock: clk, Jitter: s.config.Jitter, Hooks: s.Trace.Hooks(),
		Retry: s.config.Retry, MaxSyncs: s.config.MaxSyncs, MaxTerminations: s.config.MaxTerminations,
		DrainTimeout: s.config.DrainTimeout, Log: s.config.Log,
	})
	if err != nil {
		panic(&executor.Fault{Err: err})
	}
	ctx, stop := executor.WithCancel(context.Background())
	s.Workers, s.stop, s.ended, s.err = w, stop, false, nil
	s.process.Go(func() {
		s.err = w.Run(ctx)
		s.ended = true
	})
}

// Create tells the workers of new pods.
func (s *Stepper) Create(pods ...*v1.Pod) { s.tell(podworkers.SyncPodCreate, pods) }

// Update tells the workers that the content of pods may have changed.
func (s *Stepper) Update(pods ...*v1.Pod) { s.tell(podworkers.SyncPodUpdate, pods) }

func (s *Stepper) tell(t podworkers.SyncPodType, pods []*v1.Pod) {
	for _, pod := range pods {
		_ = s.UpdatePod(podworkers.UpdatePodOptions{UpdateType: t, Pod: pod})
	}
}

// UpdatePod is Workers.UpdatePod with a line in the trace, and one more if the
// update is refused.
func (s *Stepper) UpdatePod(o podworkers.UpdatePodOptions) error {
	s.Trace.RecordUpdate(o)
	err := s.Workers.UpdatePod(o)
	if err != nil {
		s.Trace.Add(Event{What: Refused, UID: told(o).UID, Err: err})
	}
	return err
}

// Kill tells the workers to end a pod.
func (s *Stepper) Kill(pod *v1.Pod) *podworkers.Completion {
	return s.KillPod(podworkers.UpdatePodOptions{Pod: pod})
}

// KillWithin is Kill with a grace in seconds.
func (s *Stepper) KillWithin(pod *v1.Pod, grace int64) *podworkers.Completion {
	return s.KillPod(podworkers.UpdatePodOptions{
		Pod:            pod,
		KillPodOptions: &podworkers.KillPodOptions{PodTerminationGracePeriodSecondsOverride: &grace},
	})
}

// KillRunning tells the workers to end a pod that only the runtime shows, as
// it was observed just now.
func (s *Stepper) KillRunning(running *runtime.Pod) *podworkers.Completion {
	return s.KillPod(podworkers.UpdatePodOptions{RunningPod: running, Generation: s.Workers.Generation()})
}

// KillPod is Workers.Kill with a line in the trace.
func (s *Stepper) KillPod(o podworkers.UpdatePodOptions) *podworkers.Completion {
	o.UpdateType = podworkers.SyncPodKill
	s.Trace.RecordUpdate(o)
	return s.Workers.Kill(o)
}

// SyncKnown is one round of housekeeping in which these pods, as of now, are
// all that is desired, and every source has been heard.
func (s *Stepper) SyncKnown(wanted ...*v1.Pod) map[types.UID]podworkers.PodWorkerSync {
	e := Event{What: Housekeeping}
	for _, pod := range wanted {
		if pod != nil {
			e.Desired = append(e.Desired, pod.UID)
		}
	}
	s.Trace.Add(e)
	return s.Workers.SyncKnownPods(podworkers.KnownPods{
		Desired: wanted, Generation: s.Workers.Generation(), AllSources: true,
	})
}

// Step lets one of the coroutines that can go on do so, until it waits again;
// the seed picks which. It is false if none can.
func (s *Stepper) Step() bool {
	if s.crashAt > 0 && s.Steps() >= s.crashAt {
		s.crashAt = 0
		s.Crash()
	}
	stepped := false
	s.drive(func() { stepped = s.scheduler.Step() })
	return stepped
}

// Steps is the number of steps so far: the number by which to place a crash.
func (s *Stepper) Steps() int { return s.scheduler.Steps() }

// CrashAt places a crash: as soon as so many steps have been made. The same
// seed makes the same steps, so a crash can be placed at every one of them.
func (s *Stepper) CrashAt(steps int) { s.crashAt = steps }

// RunUntilIdle steps until nothing can happen before time passes.
func (s *Stepper) RunUntilIdle() {
	for s.crashAt > 0 { // Until the crash has come to its place.
		if !s.Step() {
			return
		}
	}
	s.drive(s.scheduler.RunUntilIdle)
}

// Advance lets time pass, with all that happens meanwhile.
func (s *Stepper) Advance(d time.Duration) {
	end := s.scheduler.Now().Add(d)
	s.RunUntilIdle()
	for due, ok := s.scheduler.Next(); ok && !due.After(end); due, ok = s.scheduler.Next() {
		s.scheduler.AdvanceTo(due)
		s.RunUntilIdle()
	}
	s.scheduler.AdvanceTo(end)
	s.RunUntilIdle()
}

// Clock is the clock of the present workers, for what runs beside them.
func (s *Stepper) Clock() clock.Clock { return s.process.Clock() }

// Now is the simulation's time.
func (s *Stepper) Now() time.Time { return s.scheduler.Now() }

// Float64 is a number in [0,1) from the simulation's seed.
func (s *Stepper) Float64() float64 { return s.scheduler.Float64() }

// Coroutines is how many the workers have: Run's, and one for each pod that is
// busy.
func (s *Stepper) Coroutines() int { return s.process.Running() }

// Go runs f as a coroutine beside the workers. In it things can be waited for,
// such as a Completion, and time by podworkers.Wait.
func (s *Stepper) Go(f func(ctx context.Context)) {
	ctx := executor.Into(context.Background(), s.process)
	s.process.Go(func() { f(ctx) })
}

// Stop tells Run to end, and runs until idle.
func (s *Stepper) Stop() {
	s.Trace.Add(Event{What: Stopped})
	s.stop()
	s.RunUntilIdle()
}

// Crashed is true from a Crash until Restart.
func (s *Stepper) Crashed() bool { return s.process.Crashed() }

// RunResult is what Run returned, and whether it has.
func (s *Stepper) RunResult() (error, bool) { return s.err, s.ended }

// Crash ends the workers where they stand: every wait returns that the process has
// crashed, and none of its goroutines goes on. Syncer, Cache and Trace live on, as a
// runtime would. See Restart.
func (s *Stepper) Crash() {
	if !s.process.Crashed() {
		s.Trace.Add(Event{What: Crashed})
		s.process.Crash()
	}
}

// Restart starts new workers after a Crash or a Stop, in the same simulation. They
// know nothing.
func (s *Stepper) Restart() {
	s.process.Crash()
	s.process = s.scheduler.NewProcess()
	s.Cache.on(s.process.Clock())
	s.Syncer.on(s.process.Clock())
	s.launch()
}

// Close ends everything in the simulation. It is called at the end; with Config.T
// the end of the test does it.
func (s *Stepper) Close() {
	if !s.scheduler.Stalled() {
		s.process.Crash()
	}
}

// Transcript is the trace as a table.
func (s *Stepper) Transcript() string { return s.Trace.String() }
