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
	// watch is how often the loop looks while checks run.
	watch = time.Second
	// stall is how late the loop must be for the process to count as stopped
	// meanwhile.
	stall = 3 * time.Second
)

// Run probes until ctx ends, and returns nil once the last check has returned;
// checks that run then are cancelled. If some ignore that for longer than
// Config.DrainTimeout it gives up on them with ErrNotDrained and their names.
// ErrRunning: a Step is at work. A second call returns runtime.ErrSecondRun.
func (p *Prober) Run(ctx context.Context) error {
	if err := p.enter(true); err != nil {
		return err
	}
	defer p.exit()
	group := executor.NewGroup(p.executor)
	for p.beat(ctx, group) == nil {
	}
	return p.drain(group)
}

// drain waits for checks that have been told to end. Who breaks the contract of
// Checker, or of a runtime.Execer below it, is not to keep a program from ending.
func (p *Prober) drain(group *executor.Group) error {
	if p.cfg.DrainTimeout < 0 {
		group.Wait()
		return nil
	}
	if group.WaitUntil(p.executor.Now().Add(p.cfg.DrainTimeout)) {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotDrained, strings.Join(p.checking(), ", "))
}

// checking names the probes that are being checked.
func (p *Prober) checking() []string {
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

// beat starts what is due and waits for the next thing to be.
func (p *Prober) beat(ctx context.Context, group *executor.Group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := p.executor.Now()
	p.look(now)
	for a := p.take(ctx, now); a != nil; a = p.take(ctx, now) {
		group.Go(func() { p.attempt(a) })
	}
	until := p.await(now)
	if until.IsZero() {
		return p.wake.Wait(ctx)
	}
	_, err := p.wake.WaitUntil(ctx, until)
	return err
}

// Step is a single step, for callers that do not call Run: it makes every check
// that is due now, and returns when all have returned. Its error is that of ctx
// or ErrRunning. Next says when to call it again.
func (p *Prober) Step(ctx context.Context) error {
	if err := p.enter(false); err != nil {
		return err
	}
	defer p.exit()
	now := p.executor.Now()
	for ctx.Err() == nil {
		var batch []*attempt
		for a := p.take(ctx, now); a != nil; a = p.take(ctx, now) {
			batch = append(batch, a)
		}
		if len(batch) == 0 {
			return nil
		}
		executor.Each(p.executor, 0, len(batch), func(i int) { p.attempt(batch[i]) })
	}
	return ctx.Err()
}

// enter begins a Run or a Step.
func (p *Prober) enter(run bool) error {
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

// exit ends it.
func (p *Prober) exit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.busy, p.mu.waiting, p.mu.until = false, false, time.Time{}
}

// look notices when the process was stopped while the loop waited.
func (p *Prober) look(now time.Time) {
	p.mu.Lock()
	gap := p.noticeLocked(now)
	p.mu.waiting, p.mu.until = false, time.Time{}
	p.mu.Unlock()
	p.resumed(gap)
}

// noticeLocked compares the time with the one at which the loop meant to look.
// If that is long ago, nobody looked for a while, so everything became due at
// once: those ticks are left out (F78). It returns how long the gap is, or 0.
func (p *Prober) noticeLocked(now time.Time) time.Duration {
	if !p.mu.waiting || p.mu.until.IsZero() {
		return 0
	}
	gap := now.Sub(p.mu.until)
	if gap <= stall {
		return 0
	}
	p.mu.resumed, p.mu.until = now, now
	for _, uid := range p.uidsLocked() {
		for _, c := range p.mu.pods[uid].containers {
			c.state.Skip(now)
			p.changedLocked(c, nil, "")
		}
	}
	return gap
}

// resumed reports a gap.
func (p *Prober) resumed(gap time.Duration) {
	if gap == 0 {
		return
	}
	p.cfg.Log.Warn("the process was stopped for a while; probes begin their period anew", "gap", gap)
	p.cfg.Hooks.Resumed(gap)
}

// await says until when the loop waits.
func (p *Prober) await(now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.nextLocked()
	if latest := now.Add(watch); len(p.mu.attempts) > 0 && (!ok || latest.Before(until)) {
		until, ok = latest, true
	}
	if !ok {
		until = time.Time{}
	}
	p.mu.waiting, p.mu.until = true, until
	return until
}

// nextLocked is when the next probe is due for which there is a place.
func (p *Prober) nextLocked() (time.Time, bool) {
	if probe := p.firstLocked(); probe != nil {
		return probe.due, true
	}
	return time.Time{}, false
}

// firstLocked is the probe that is due first of those for which there is a
// place, or nil. Slow ones have half of the places at most, but at least one.
func (p *Prober) firstLocked() *probe {
	if len(p.mu.attempts) >= p.cfg.MaxProbes {
		return nil
	}
	fast, slow := p.mu.fast.first(), p.mu.slow.first()
	if p.mu.runSlow >= max(p.cfg.MaxProbes/2, 1) {
		slow = nil
	}
	if fast == nil || slow != nil && slow.due.Before(fast.due) {
		return slow
	}
	return fast
}
