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

// Config configures a Stepper. The zero value is valid.
type Config struct {
	// T is the test. It fails if a syncer of yours panics, or waits by other means than
	// podworkers.Wait, and if the test itself is wrong. A failed test logs the transcript. The
	// Stepper is closed at the end of the test. Nil: such a fault is a panic of the method that was
	// called.
	T testing.TB
	// Seed decides every choice that the scheduler of goroutines would make.
	Seed uint64
	// Start is the time at the beginning; zero is 1 January 2000.
	Start time.Time
	// Syncer returns the syncer under test. It is called with the simulation's clock, once for each
	// process (see Restart). The syncer must wait by podworkers.Wait. A panic of it fails the test.
	// Nil is the Stepper's own Syncer.
	Syncer func(clk clock.Clock) podworkers.PodSyncer
	// Jitter is podworkers.Config.Jitter. Nil is no jitter, so that the times in a transcript are
	// round.
	Jitter func() float64
	// These fields are passed to podworkers.Config.
	Retry                     backoff.Retry
	MaxSyncs, MaxTerminations int
	DrainTimeout              time.Duration
	Log                       *slog.Logger
}

// Stepper is the workers of a simulated node, driven step by step: the production code, on one
// thread, with a clock that only Advance moves. Nothing happens between its calls. A call that
// waits, such as Completion.Wait, runs the simulation until the wait is over. It is not safe for
// concurrent use.
type Stepper struct {
	// Workers are the workers under test. Direct calls of them do not appear in the trace.
	Workers *podworkers.Workers
	// Syncer is the scripted syncer. The workers call it unless Config.Syncer is set.
	Syncer *Syncer
	// Cache is the status cache of the workers.
	Cache *Cache
	// Trace has the events so far.
	Trace *Trace

	config      Config
	scheduler   *executor.Scheduler
	process     *executor.Process
	stop        context.CancelFunc
	crashAt     int // zero: no crash
	ended       bool
	err         error
	syncerPanic string // the first panic of the syncer; it fails the test
}

// NewStepper makes workers and starts their Run. Run takes its first step in the first Step,
// RunUntilIdle or Advance, so an update before that is an update before Run. Close ends the
// Stepper. An invalid Config panics.
func NewStepper(config Config) *Stepper {
	if config.Start.IsZero() {
		config.Start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if config.Jitter == nil {
		config.Jitter = func() float64 { return 0 }
	}
	s := &Stepper{config: config, scheduler: executor.NewScheduler(config.Seed, config.Start)}
	s.scheduler.Guard(stallLimit, s.failTestForStall)
	s.scheduler.LetDriverWait(s.failTestForEndlessWait)
	s.process = s.scheduler.NewProcess()
	clk := s.process.Clock()
	s.Trace, s.Cache, s.Syncer = NewTrace(clk), NewCache(clk), NewSyncer(clk)
	s.startWorkers()
	if t := config.T; t != nil {
		t.Cleanup(s.logFailedTranscriptAndClose)
	}
	return s
}

// startWorkers creates Workers in the current simulated process and starts their Run. It panics if their Config
// is invalid.
func (s *Stepper) startWorkers() {
	clk := s.process.Clock()
	var syncer podworkers.PodSyncer = s.Syncer
	if s.config.Syncer != nil {
		syncer = panicCheckedSyncer{s, s.config.Syncer(clk)}
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

// Create sends an update of type SyncPodCreate for each pod.
func (s *Stepper) Create(pods ...*v1.Pod) { s.updatePodsIgnoringErrors(podworkers.SyncPodCreate, pods) }

// Update sends an update of type SyncPodUpdate for each pod.
func (s *Stepper) Update(pods ...*v1.Pod) { s.updatePodsIgnoringErrors(podworkers.SyncPodUpdate, pods) }

// updatePodsIgnoringErrors sends an update of one type for each pod. It ignores errors.
func (s *Stepper) updatePodsIgnoringErrors(t podworkers.SyncPodType, pods []*v1.Pod) {
	for _, pod := range pods {
		_ = s.UpdatePod(podworkers.UpdatePodOptions{UpdateType: t, Pod: pod})
	}
}

// UpdatePod calls Workers.UpdatePod and adds an event to the trace, and another one if the update
// is refused.
func (s *Stepper) UpdatePod(o podworkers.UpdatePodOptions) error {
	s.Trace.RecordUpdate(o)
	err := s.Workers.UpdatePod(o)
	if err != nil {
		s.Trace.Add(Event{What: Refused, UID: updateEvent(o).UID, Err: err})
	}
	return err
}

// Kill terminates a pod.
func (s *Stepper) Kill(pod *v1.Pod) *podworkers.Completion {
	return s.KillPod(podworkers.UpdatePodOptions{Pod: pod})
}

// KillWithin terminates a pod with a grace period in seconds.
func (s *Stepper) KillWithin(pod *v1.Pod, grace int64) *podworkers.Completion {
	return s.KillPod(podworkers.UpdatePodOptions{
		Pod:            pod,
		KillPodOptions: &podworkers.KillPodOptions{PodTerminationGracePeriodSecondsOverride: &grace},
	})
}

// KillRunning terminates a pod that only the runtime shows, as if it was observed just now.
func (s *Stepper) KillRunning(running *runtime.Pod) *podworkers.Completion {
	return s.KillPod(podworkers.UpdatePodOptions{RunningPod: running, Generation: s.Workers.Generation()})
}

// KillPod calls Workers.Kill and adds an event to the trace.
func (s *Stepper) KillPod(o podworkers.UpdatePodOptions) *podworkers.Completion {
	o.UpdateType = podworkers.SyncPodKill
	s.Trace.RecordUpdate(o)
	return s.Workers.Kill(o)
}

// SyncKnown calls Workers.SyncKnownPods with these pods as the whole desired state, as if every
// source has delivered.
func (s *Stepper) SyncKnown(desired ...*v1.Pod) map[types.UID]podworkers.PodWorkerSync {
	e := Event{What: Housekeeping}
	for _, pod := range desired {
		if pod != nil {
			e.Desired = append(e.Desired, pod.UID)
		}
	}
	s.Trace.Add(e)
	return s.Workers.SyncKnownPods(podworkers.KnownPods{
		Desired: desired, Generation: s.Workers.Generation(), AllSources: true,
	})
}

// Step resumes one of the ready coroutines until it waits again. The seed decides which. It returns
// false if none is ready.
func (s *Stepper) Step() bool {
	if s.crashAt > 0 && s.Steps() >= s.crashAt {
		s.crashAt = 0
		s.Crash()
	}
	stepped := false
	s.runAndFailOnSyncerPanic(func() { stepped = s.scheduler.Step() })
	return stepped
}

// Steps returns the number of steps so far. CrashAt takes such a number.
func (s *Stepper) Steps() int { return s.scheduler.Steps() }

// CrashAt crashes the process once that many steps were made. The same seed makes the same steps,
// so a test can crash the process at each of them.
func (s *Stepper) CrashAt(steps int) { s.crashAt = steps }

// RunUntilIdle steps until nothing can happen before time passes.
func (s *Stepper) RunUntilIdle() {
	for s.crashAt > 0 { // Step performs the crash at its step.
		if !s.Step() {
			return
		}
	}
	s.runAndFailOnSyncerPanic(s.scheduler.RunUntilIdle)
}

// Advance moves the clock by d and runs everything that becomes due.
func (s *Stepper) Advance(d time.Duration) {
	end := s.scheduler.Now().Add(d)
	s.RunUntilIdle()
	for due, ok := s.scheduler.NextTimer(); ok && !due.After(end); due, ok = s.scheduler.NextTimer() {
		s.scheduler.AdvanceTo(due)
		s.RunUntilIdle()
	}
	s.scheduler.AdvanceTo(end)
	s.RunUntilIdle()
}

// Clock returns the clock of the present process, for code that runs beside the workers.
func (s *Stepper) Clock() clock.Clock { return s.process.Clock() }

// Now returns the simulation's time.
func (s *Stepper) Now() time.Time { return s.scheduler.Now() }

// Float64 returns a number in [0,1) from the simulation's seed.
func (s *Stepper) Float64() float64 { return s.scheduler.Float64() }

// Coroutines returns the number of coroutines of the process: Run's, and one for each busy pod.
func (s *Stepper) Coroutines() int { return s.process.Running() }

// Go runs f as a coroutine beside the workers. In f the test can wait, for example for a
// Completion, or by podworkers.Wait.
func (s *Stepper) Go(f func(ctx context.Context)) {
	ctx := executor.Into(context.Background(), s.process)
	s.process.Go(func() { f(ctx) })
}

// Stop cancels the context of Run, and runs until idle.
func (s *Stepper) Stop() {
	s.Trace.Add(Event{What: Stopped})
	s.stop()
	s.RunUntilIdle()
}

// Crashed returns true from a Crash until Restart.
func (s *Stepper) Crashed() bool { return s.process.Crashed() }

// RunResult returns the error of Run, and whether Run has returned.
func (s *Stepper) RunResult() (error, bool) { return s.err, s.ended }

// Crash ends the process at the present step. Every wait returns that the process has crashed, and
// none of its coroutines continues. Syncer, Cache and Trace keep their state, as a runtime would.
// See Restart.
func (s *Stepper) Crash() {
	if !s.process.Crashed() {
		s.Trace.Add(Event{What: Crashed})
		s.process.Crash()
	}
}

// Restart starts new workers after a Crash or a Stop, in the same simulation. They have no state of
// the old ones.
func (s *Stepper) Restart() {
	s.process.Crash()
	s.process = s.scheduler.NewProcess()
	s.Cache.setClock(s.process.Clock())
	s.Syncer.setClockAndBlockCalls(s.process.Clock())
	s.startWorkers()
}

// Close ends everything in the simulation. With Config.T it is called at the end of the test.
func (s *Stepper) Close() {
	if !s.scheduler.Stalled() {
		s.process.Crash()
	}
}

// Transcript returns the trace as a table.
func (s *Stepper) Transcript() string { return s.Trace.String() }
