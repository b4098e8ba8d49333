package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/containers"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// note remembers where a container is in its crash loop.
func (l *incarnation) note(container string, c crash) {
	if l.crashes == nil {
		l.crashes = make(map[string]crash)
	}
	l.crashes[container] = c
}

// notBefore are the ends of the crash-loop delays of a pod's containers.
func (s *Syncer) notBefore(v *syncPass, now time.Time) map[string]time.Time {
	var held map[string]time.Time
	for _, rec := range plan.LastExits(v.status, v.incarnation.number) {
		v.noteExit(rec, now)
	}
	for c := range containers.All(v.pod) {
		past, ok := v.incarnation.crashes[c.Name]
		if !ok || past.spec != crashKey(c) {
			continue
		}
		s.noteFailure(v, c.Name, &past)
		if wait := s.cfg.CrashLoop.Remaining(past.backoff, past.end(), now); wait > 0 {
			if held == nil {
				held = make(map[string]time.Time)
			}
			held[c.Name] = now.Add(wait)
		}
	}
	return held
}

// end is when the last attempt at a container ended, on our own clock: one that has
// failed did so then, and none ended before it began.
func (c *crash) end() time.Time {
	end := c.exit.at
	for _, at := range [...]time.Time{c.start.failed, c.backoff.LastStart} {
		if at.After(end) {
			end = at
		}
	}
	return end
}

// noteFailure counts a start that has failed and has left the record created: what exits
// counts by its end.
func (s *Syncer) noteFailure(v *syncPass, container string, past *crash) {
	if past.start.failed.IsZero() || past.backoff.Delay > 0 {
		return
	}
	if rec := v.record(past.start.id); rec == nil || rec.State != runtime.StateCreated {
		return
	}
	past.backoff = s.cfg.CrashLoop.Next(past.backoff, past.start.failed)
	v.incarnation.note(container, *past)
}

// restarts notes that a container is to be started, and counts that if it has ended
// before.
func (s *Syncer) restarts(v *syncPass, c *v1.Container) {
	past, key := v.incarnation.crashes[c.Name], crashKey(c)
	if past.spec != key {
		past.spec, past.backoff, past.start = key, backoff.State{}, attempt{}
	}
	if past.exit.id != "" {
		past.backoff = s.cfg.CrashLoop.Next(past.backoff, s.executor.Now())
	}
	v.incarnation.note(c.Name, past)
}

// startsAgain counts a start of a container that was started before as it is now, and of
// which no end is known: its start has failed, or the runtime does not show it.
func (s *Syncer) startsAgain(v *syncPass, c *v1.Container) {
	past := v.incarnation.crashes[c.Name]
	if past.exit.id == "" && past.start.id != "" {
		past.backoff = s.cfg.CrashLoop.Next(past.backoff, s.executor.Now())
		v.incarnation.note(c.Name, past)
	}
}

// startSent notes that the start of a container is sent to the runtime.
func (v *syncPass) startSent(container, id string) {
	past := v.incarnation.crashes[container]
	past.start = attempt{id: id}
	v.incarnation.note(container, past)
}

// startFailed notes that it has failed.
func (v *syncPass) startFailed(container string, now time.Time) {
	past := v.incarnation.crashes[container]
	past.start.failed = now
	v.incarnation.note(container, past)
}
