package pleg

import (
	"context"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
)

// Run implements Generator.
//
// The loop itself never waits for the runtime. Listing, inspections and the
// stream are members of one group; each wakes the loop when something is to be
// done. So a call that hangs holds up its own pod, or the next listing, and
// nothing else.
func (p *PLEG) Run(ctx context.Context) error {
	if err := p.enter(running); err != nil {
		return err
	}
	defer p.exit(stopped)
	group := executor.NewGroup(p.executor)
	defer group.Wait()
	if p.stream != nil {
		group.Go(func() { p.follow(ctx) })
	}
	for p.beat(ctx, group) == nil {
	}
	return nil
}

// beat starts whatever is due and waits for the next thing to be.
func (p *PLEG) beat(ctx context.Context, group *executor.Group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	list, until := p.due(p.executor.Now())
	if list {
		group.Go(func() {
			_ = p.list(ctx) // Logged, and kept for Healthy.
			p.wake.Signal()
		})
	}
	for r, number := p.take(); r != nil; r, number = p.take() {
		group.Go(func() {
			p.work(ctx, r, number)
			p.wake.Signal() // A slot is free, and what has failed wants a time.
		})
	}
	if until.IsZero() {
		return p.wake.Wait(ctx)
	}
	_, err := p.wake.WaitUntil(ctx, until)
	return err
}

// due says whether to list now, requeues what has waited long enough, and says
// when to look again; zero is when somebody signals.
func (p *PLEG) due(now time.Time) (list bool, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list, until = p.mu.rhythm.due(now, p.cfg.RelistPeriod, p.cfg.SafetyPeriod)
	t := &p.mu.table
	if len(t.later) == 0 {
		return list, until
	}
	t.retryAt = notBeyond(t.retryAt, now, t.retryGap)
	if !now.Before(t.retryAt) {
		t.retryLater()
	} else if until.IsZero() || t.retryAt.Before(until) {
		until = t.retryAt
	}
	return list, until
}

// enter begins a Run or a Relist.
func (p *PLEG) enter(next state) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.mu.state {
	case idle:
		p.mu.state = next
		return nil
	case stopped:
		return ErrStopped
	}
	return ErrRunning
}

// exit ends it. Readers that still wait when Run ends would wait for ever.
func (p *PLEG) exit(next state) {
	p.mu.Lock()
	p.mu.state = next
	var left []*waiter
	if next == stopped {
		left = p.mu.table.dismiss()
	}
	p.mu.Unlock()
	for _, w := range left {
		w.latch.Open()
	}
}
