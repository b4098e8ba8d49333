package prober

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

const (
	// gapCheckPeriod is how often the loop runs while checks run.
	gapCheckPeriod = time.Second
	// minSuspension is the delay of the loop from which the process counts as suspended.
	minSuspension = 3 * time.Second
)

// Run probes until ctx ends, then cancels the running checks and returns nil when the last one has
// returned. If a check ignores that for longer than Config.DrainTimeout, Run returns ErrNotDrained
// with the names of the probes. It returns ErrRunning during a Step. A second call returns
// runtime.ErrSecondRun.
func (p *Prober) Run(ctx context.Context) error {
	if err := p.beginStepOrFirstRun(true); err != nil {
		return err
	}
	defer p.endRunOrStep()
	group := executor.NewGroup(p.executor)
	for p.startDueAttemptsAndWait(ctx, group) == nil {
	}
	return p.waitForChecksOrDrainTimeout(group)
}

// waitForChecksOrDrainTimeout waits until all checks have ended, at most for Config.DrainTimeout. It waits
// without a limit if DrainTimeout is negative. It returns nil when all checks have ended, and an error with the
// names of the running checks after the timeout. A check that still runs violates the contract of the Checker,
// but does not prevent the program from stopping.
func (p *Prober) waitForChecksOrDrainTimeout(group *executor.Group) error {
	if p.cfg.DrainTimeout < 0 {
		group.Wait()
		return nil
	}
	if group.WaitUntil(p.executor.Now().Add(p.cfg.DrainTimeout)) {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotDrained, strings.Join(p.runningProbeNames(), ", "))
}

// runningProbeNames returns a sorted list with a text for each running attempt, such as "liveness probe of
// container c of ns/pod".
func (p *Prober) runningProbeNames() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for a := range p.mu.attempts {
		r := &a.request
		names = append(names, fmt.Sprintf("%s probe of container %s of %s/%s", r.Kind, r.Container, r.Namespace, r.Name))
	}
	slices.Sort(names)
	return names
}

// startDueAttemptsAndWait starts the attempts that are due, and waits until another one may be due or the loop
// is woken. It returns an error only if ctx has ended. It also detects a suspension of the process.
func (p *Prober) startDueAttemptsAndWait(ctx context.Context, group *executor.Group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := p.executor.Now()
	p.detectAndReportSuspension(now)
	for a := p.beginNextAttempt(ctx, now); a != nil; a = p.beginNextAttempt(ctx, now) {
		group.Go(func() { p.runAttempt(a) })
	}
	until := p.storeNextWakeup(now)
	if until.IsZero() {
		return p.wake.Wait(ctx)
	}
	_, err := p.wake.WaitUntil(ctx, until)
	return err
}

// Step makes every attempt that is due now, and returns when all have finished. It is for callers
// that do not call Run. Its error is the error of ctx or ErrRunning. Next returns when to call Step
// again.
func (p *Prober) Step(ctx context.Context) error {
	if err := p.beginStepOrFirstRun(false); err != nil {
		return err
	}
	defer p.endRunOrStep()
	now := p.executor.Now()
	for ctx.Err() == nil {
		var batch []*attempt
		for a := p.beginNextAttempt(ctx, now); a != nil; a = p.beginNextAttempt(ctx, now) {
			batch = append(batch, a)
		}
		if len(batch) == 0 {
			return nil
		}
		executor.Each(p.executor, 0, len(batch), func(i int) { p.runAttempt(batch[i]) })
	}
	return ctx.Err()
}

// beginStepOrFirstRun marks the Prober as busy. It returns ErrRunning if a Run or Step is in progress. With run
// it returns ErrSecondRun if Run was called before, even if that Run has returned.
func (p *Prober) beginStepOrFirstRun(run bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if run && p.mu.ran {
		return fmt.Errorf("prober: %w", runtime.ErrSecondRun)
	}
	if p.mu.busy {
		return ErrRunning
	}
	p.mu.busy, p.mu.ran = true, p.mu.ran || run
	return nil
}

// endRunOrStep marks the Prober as not busy and clears the stored wake-up time of the loop.
func (p *Prober) endRunOrStep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.busy, p.mu.waiting, p.mu.until = false, false, time.Time{}
}

// detectAndReportSuspension marks the loop as not waiting. If the process was suspended during the wait, it
// skips the missed probe ticks, logs that, and calls Hooks.Resumed.
func (p *Prober) detectAndReportSuspension(now time.Time) {
	p.mu.Lock()
	gap := p.skipTicksAfterSuspensionLocked(now)
	p.mu.waiting, p.mu.until = false, time.Time{}
	p.mu.Unlock()
	p.reportSuspension(gap)
}

// skipTicksAfterSuspensionLocked compares now with the planned wake-up of the loop. If now is later by more
// than minSuspension, the process was suspended. It then skips the missed ticks of all probes, because they
// would all run at once. It returns the length of the suspension, or 0 if there was none (F78).
func (p *Prober) skipTicksAfterSuspensionLocked(now time.Time) time.Duration {
	if !p.mu.waiting || p.mu.until.IsZero() {
		return 0
	}
	gap := now.Sub(p.mu.until)
	if gap <= minSuspension {
		return 0
	}
	p.mu.resumed, p.mu.until = now, now
	for _, uid := range p.sortedUIDsLocked() {
		for _, c := range p.mu.pods[uid].containers {
			c.state.SkipMissedTicks(now)
			p.queueResultsAndRescheduleLocked(c, nil, "")
		}
	}
	return gap
}

// reportSuspension logs a suspension of the process and calls Hooks.Resumed. It does nothing if gap is 0.
func (p *Prober) reportSuspension(gap time.Duration) {
	if gap == 0 {
		return
	}
	p.cfg.Log.Warn("the process was suspended; missed probe ticks are skipped", "gap", gap)
	p.cfg.Hooks.Resumed(gap)
}

// storeNextWakeup returns the time until which the loop waits, and stores that the loop waits. While attempts
// run, the wait has a maximum length, so that a suspension is detected. Zero means that the loop waits for a
// signal.
func (p *Prober) storeNextWakeup(now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.nextAllowedDueLocked()
	if latest := now.Add(gapCheckPeriod); len(p.mu.attempts) > 0 && (!ok || latest.Before(until)) {
		until, ok = latest, true
	}
	if !ok {
		until = time.Time{}
	}
	p.mu.waiting, p.mu.until = true, until
	return until
}

// nextAllowedDueLocked returns the due time of the next probe that may start. It returns false if no probe is in the
// schedules, or MaxProbes allows no further attempt.
func (p *Prober) nextAllowedDueLocked() (time.Time, bool) {
	if probe := p.firstStartableLocked(); probe != nil {
		return probe.due, true
	}
	return time.Time{}, false
}

// firstStartableLocked returns the probe with the earliest due time that may start within MaxProbes, or nil.
// The due time may be in the future. Slow probes, whose last attempt timed out, use at most half of MaxProbes,
// but at least one place.
func (p *Prober) firstStartableLocked() *probe {
	if len(p.mu.attempts) >= p.cfg.MaxProbes {
		return nil
	}
	fast, slow := p.mu.fast.earliestDueProbe(), p.mu.slow.earliestDueProbe()
	if p.mu.runSlow >= max(p.cfg.MaxProbes/2, 1) {
		slow = nil
	}
	if fast == nil || slow != nil && slow.due.Before(fast.due) {
		return slow
	}
	return fast
}
