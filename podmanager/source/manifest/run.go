package manifest

import (
	"context"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/podkeel/podkeel/podmanager/source"
)

// After the news of a change the source waits until nothing has changed for a
// while, since writing takes more than one moment: a short one where one change
// came after a time of peace, as when a whole file is renamed into the directory
// or removed; a longer one for each further change of the same file; and the
// longest where changes follow each other, and where a file was moved away, as
// editors do before they write the new one. It does not wait for longer than
// settled: a file written a thousand times a second is read once a second (F33).
const (
	quick     = 2 * time.Millisecond
	quiet     = 100 * time.Millisecond
	debounced = time.Second
)

// Run implements source.Source: it scans, hands over a snapshot if it differs
// from the last, and waits for news or for the period to pass. It returns nil
// when ctx ends. Trouble is reported and never returned. While the path cannot
// be listed nothing is handed over, so a source that never could be is one that
// has not been heard.
//
// When ctx ends it still keeps the good versions that it has read, for five seconds at most unless
// a write takes longer. Only another call to the system that does not return may outlive it.
func (s *Source) Run(ctx context.Context, sink source.Sink) error {
	var (
		w    *watch
		last *source.Snapshot
	)
	defer func() { w.close() }()
	defer s.keepLast()
	for {
		if s.kind == unseen {
			_, _ = s.list(ctx) // What to watch has to be known first. Scan tells of trouble.
		}
		w = s.watchFor(w)
		s.keepWatch(ctx, w)
		snapshot, err := s.Scan(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && (last == nil || !same(*last, snapshot)) {
			last = &snapshot
			sink.Set(snapshot)
		}
		if err != nil || !s.keepAll(ctx, w) {
			_ = s.wait(ctx, w) // It fails with ctx only.
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// keepAll keeps what is new, some after some, until there is news, and reports whether there is:
// then it has waited for quiet.
func (s *Source) keepAll(ctx context.Context, w *watch) (news bool) {
	for s.keepSome(ctx) && ctx.Err() == nil {
		select {
		case e := <-w.events():
			if w.matters(e) {
				return s.debounce(ctx, w, e) == nil
			}
		case <-w.errors():
			return s.debounce(ctx, w, missed) == nil
		default:
		}
	}
	return false
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
				return s.debounce(ctx, w, e)
			}
		case <-w.errors():
			return s.debounce(ctx, w, missed)
		}
	}
}

// missed stands for news that was lost, in an overflow most likely: anything may
// have changed, and much has.
var missed = fsnotify.Event{Op: fsnotify.Rename}

// debounce waits until nothing has changed for a while.
func (s *Source) debounce(ctx context.Context, w *watch, news fsnotify.Event) error {
	defer func() { s.debounced = s.cfg.Clock.Now() }()
	enough := s.cfg.Clock.NewTimer(debounced)
	defer enough.Stop()
	restless := !s.debounced.IsZero() && s.cfg.Clock.Since(s.debounced) < quiet
	for p := newPause(restless); ; {
		p.hear(news)
		calm := s.cfg.Clock.NewTimer(p.length)
		next, again, err := s.disturbed(ctx, w, calm.C(), enough.C())
		calm.Stop()
		if !again {
			return err
		}
		news = next
	}
}

// pause is how long nothing has to change for all to be settled.
type pause struct {
	length time.Duration
	heard  map[string]bool // what has changed meanwhile
}

// newPause is that before the first news. It is restless if there were others
// just before.
func newPause(restless bool) *pause {
	p := &pause{length: quick, heard: map[string]bool{}}
	if restless {
		p.length = quiet
	}
	return p
}

// hear takes news in.
func (p *pause) hear(news fsnotify.Event) {
	switch {
	case news.Has(fsnotify.Rename):
		p.length = quiet
	case p.heard[news.Name]:
		p.length = min(2*p.length, quiet)
	}
	p.heard[news.Name] = true
}

// disturbed waits for one more change, and is false if it is time to look.
func (s *Source) disturbed(ctx context.Context, w *watch, calm, enough <-chan time.Time) (fsnotify.Event, bool, error) {
	for {
		select {
		case <-ctx.Done():
			return missed, false, ctx.Err()
		case <-calm:
			return missed, false, nil
		case <-enough:
			return missed, false, nil
		case e := <-w.events():
			if w.matters(e) {
				return e, true, nil
			}
		case <-w.errors():
			return missed, true, nil
		}
	}
}
