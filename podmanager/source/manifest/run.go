package manifest

import (
	"context"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/podkeel/podkeel/podmanager/source"
)

// After a change the source waits until nothing has changed for a while, because writing takes several steps. It waits
// for shortPause if a single change came after a quiet time, as when a complete file is renamed into the directory or
// removed. Each further change of the same file doubles the pause. It waits for longPause if changes follow each other,
// or if a file was moved away, which editors do before they write the new file. The total wait is at most maxDebounce:
// a file that is written a thousand times a second is read once a second (F33).
const (
	shortPause  = 2 * time.Millisecond
	longPause   = 100 * time.Millisecond
	maxDebounce = time.Second
)

// Run implements source.Source. It scans, delivers a snapshot if it differs from the last, and waits for a change or
// for the end of the period, until ctx is done. It always returns nil: failures are reported. It delivers nothing while
// the path cannot be listed, so a source whose path could never be listed does not count as seen.
//
// When ctx is done, Run still saves the good versions that it has read. That takes at most five seconds, unless a write
// takes longer. Only another call to the system that blocks may outlive Run.
func (s *Source) Run(ctx context.Context, sink source.Sink) error {
	var (
		w    *pathWatch
		last *source.Snapshot
	)
	defer func() { w.close() }()
	defer s.saveKeptTextsBeforeExit()
	for {
		if s.kind == unknownPath {
			_, _ = s.listFilesAndStoreKind(ctx) // The kind of path decides what to watch. Scan reports errors.
		}
		w = s.pathWatchForKind(w)
		s.ensureWatchAndReport(ctx, w)
		snapshot, err := s.scanChangedOrAllFiles(ctx, w)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && (last == nil || !isSameSnapshot(*last, snapshot)) {
			last = &snapshot
			sink.Set(snapshot)
		}
		if err != nil || !s.saveAllUntilChange(ctx, w) {
			_ = s.waitForChangeOrPeriod(ctx, w) // It fails only if ctx is done.
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// scanChangedOrAllFiles scans the files that have changed since the last scan, by the events of w. It scans all files if
// w is nil, if events do not name the changed files, and once in each Config.Period. After a failure the next scan reads
// all files, because it does not have the names of this one.
func (s *Source) scanChangedOrAllFiles(ctx context.Context, w *pathWatch) (source.Snapshot, error) {
	changed := w.takeChanges()
	if !s.cfg.Clock.Now().Before(s.fullScanDue) {
		changed.addAll()
	}
	snapshot, err := s.scanChangedFiles(ctx, changed)
	if err != nil && w != nil {
		w.changed.addAll()
	}
	if changed.all {
		s.fullScanDue = s.cfg.Clock.Now().Add(s.cfg.Period)
	}
	return snapshot, err
}

// saveAllUntilChange saves unsaved good versions of files, a batch at a time. At a change of the files it stops
// saving, waits until the files no longer change, and returns true. It returns false if everything is saved or
// ctx is done.
func (s *Source) saveAllUntilChange(ctx context.Context, w *pathWatch) (changed bool) {
	for s.saveNextBatchAndRemoveStale(ctx) && ctx.Err() == nil {
		select {
		case e := <-w.events():
			if w.addEventIfRelevant(e) {
				return s.waitForQuietPeriod(ctx, w, e) == nil
			}
		case <-w.errors():
			return s.waitForQuietPeriod(ctx, w, w.addMissedEvents()) == nil
		default:
		}
	}
	return false
}

// isSameSnapshot reports whether both snapshots have the same pod pointers and the same Incomplete. A changed
// pod has another pointer.
func isSameSnapshot(a, b source.Snapshot) bool {
	return a.Incomplete == b.Incomplete && slices.Equal(a.Pods, b.Pods)
}

// waitForChangeOrPeriod waits until the next scan of all files is due. If files change before, it instead waits until
// they no longer change. It returns an error only if ctx is done.
func (s *Source) waitForChangeOrPeriod(ctx context.Context, w *pathWatch) error {
	rest := s.fullScanDue.Sub(s.cfg.Clock.Now())
	if rest <= 0 {
		return ctx.Err()
	}
	timer := s.cfg.Clock.NewTimer(rest)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C():
			return nil
		case e := <-w.events():
			if w.addEventIfRelevant(e) {
				return s.waitForQuietPeriod(ctx, w, e)
			}
		case <-w.errors():
			return s.waitForQuietPeriod(ctx, w, w.addMissedEvents())
		}
	}
}

// missedEvents stands for lost events, probably after an overflow. Anything may have changed.
var missedEvents = fsnotify.Event{Op: fsnotify.Rename}

// waitForQuietPeriod waits until no event has arrived for a quiet period, but no longer than maxDebounce. A
// second event for one file, a rename, or an earlier change shortly before makes the quiet period longer. It
// returns an error only if ctx is done.
func (s *Source) waitForQuietPeriod(ctx context.Context, w *pathWatch, event fsnotify.Event) error {
	defer func() { s.lastDebounce = s.cfg.Clock.Now() }()
	limit := s.cfg.Clock.NewTimer(maxDebounce)
	defer limit.Stop()
	recentChange := !s.lastDebounce.IsZero() && s.cfg.Clock.Since(s.lastDebounce) < longPause
	for p := newQuietPeriod(recentChange); ; {
		p.extendForEvent(event)
		calm := s.cfg.Clock.NewTimer(p.length)
		next, more, err := s.waitForRelevantEvent(ctx, w, calm.C(), limit.C())
		calm.Stop()
		if !more {
			return err
		}
		event = next
	}
}

// quietPeriod computes how long nothing must change before the source scans.
type quietPeriod struct {
	length  time.Duration
	changed map[string]bool // the names that have changed meanwhile
}

// newQuietPeriod returns for how long no event may arrive before the manifest files count as unchanged. The
// period is longer if recentChange is true, because another change happened shortly before.
func newQuietPeriod(longer bool) *quietPeriod {
	p := &quietPeriod{length: shortPause, changed: map[string]bool{}}
	if longer {
		p.length = longPause
	}
	return p
}

// extendForEvent sets the period to longPause after a rename, and doubles it, up to longPause, after another
// event for the same file.
func (p *quietPeriod) extendForEvent(event fsnotify.Event) {
	switch {
	case event.Has(fsnotify.Rename):
		p.length = longPause
	case p.changed[event.Name]:
		p.length = min(2*p.length, longPause)
	}
	p.changed[event.Name] = true
}

// waitForRelevantEvent waits for the next event that can concern a manifest. An error of the watch counts as
// such an event. more is false if the channel calm or limit fires first, or if ctx is done. It returns an error
// only if ctx is done.
func (s *Source) waitForRelevantEvent(ctx context.Context, w *pathWatch, calm, limit <-chan time.Time) (next fsnotify.Event, more bool, err error) {
	for {
		select {
		case <-ctx.Done():
			return missedEvents, false, ctx.Err()
		case <-calm:
			return missedEvents, false, nil
		case <-limit:
			return missedEvents, false, nil
		case e := <-w.events():
			if w.addEventIfRelevant(e) {
				return e, true, nil
			}
		case <-w.errors():
			return w.addMissedEvents(), true, nil
		}
	}
}
