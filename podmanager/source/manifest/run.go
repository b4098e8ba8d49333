package manifest

import (
	"context"
	"slices"
	"time"

	"github.com/podkeel/podkeel/podmanager/source"
)

// After the first news of a change the source waits until nothing has changed
// for quiet, but not longer than settled: a file written a thousand times a
// second is read once a second (F33).
const (
	quiet   = 100 * time.Millisecond
	settled = time.Second
)

// Run implements source.Source: it scans, hands over a snapshot if it differs
// from the last, and waits for news or for the period to pass. It returns nil
// when ctx ends. Trouble is reported and never returned. While the path cannot
// be listed nothing is handed over, so a source that never could be is one that
// has not been heard.
//
// Only a call to the system that does not return may outlive it.
func (s *Source) Run(ctx context.Context, sink source.Sink) error {
	var (
		w    *watch
		last *source.Snapshot
	)
	defer func() { w.close() }()
	for {
		if s.kind == unseen {
			_, _ = s.list(ctx) // What to watch has to be known first. Scan tells of trouble.
		}
		if w == nil {
			w = s.watchFor()
		}
		s.keepWatch(ctx, w)
		snapshot, err := s.Scan(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && (last == nil || !same(*last, snapshot)) {
			last = &snapshot
			sink.Set(snapshot)
		}
		if s.wait(ctx, w) != nil {
			return nil
		}
	}
}

// same compares snapshots: a pod that has changed is another object.
func same(a, b source.Snapshot) bool {
	return a.Incomplete == b.Incomplete && slices.Equal(a.Pods, b.Pods)
}

// wait waits for news, and then for quiet, or for the period to pass. It fails
// only with the context.
func (s *Source) wait(ctx context.Context, w *watch) error {
	timer := s.cfg.Clock.NewTimer(s.cfg.Period)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C():
			return nil
		case e := <-w.events():
			if w.matters(e) {
				return s.settle(ctx, w)
			}
		case <-w.errors(): // An overflow, most likely: anything may have changed.
			return s.settle(ctx, w)
		}
	}
}

// settle waits until nothing has changed for a while.
func (s *Source) settle(ctx context.Context, w *watch) error {
	enough := s.cfg.Clock.NewTimer(settled)
	defer enough.Stop()
	for {
		calm := s.cfg.Clock.NewTimer(quiet)
		again, err := s.disturbed(ctx, w, calm.C(), enough.C())
		calm.Stop()
		if !again {
			return err
		}
	}
}

// disturbed waits for one more change, and is false if it is time to look.
func (s *Source) disturbed(ctx context.Context, w *watch, calm, enough <-chan time.Time) (bool, error) {
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-calm:
			return false, nil
		case <-enough:
			return false, nil
		case e := <-w.events():
			if w.matters(e) {
				return true, nil
			}
		case <-w.errors():
			return true, nil
		}
	}
}
