package correlate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/internal/patch"
)

const (
	maxPending    = 1000
	maxRemembered = 4096
	similarLimit  = 10
	similarWindow = 10 * time.Minute
	spamBurst     = 25
	spamPeriod    = 5 * time.Minute
	rateBurst     = 100
	ratePeriod    = time.Second / 50
	maxAttempts   = 12
	firstPause    = time.Second
	lastPause     = 30 * time.Second
)

// combined begins the message of an event that stands for several.
const combined = "(combined from similar events): "

// Occurrence is something that has happened to an object.
type Occurrence struct {
	Object                v1.ObjectReference
	Type, Reason, Message string
	At                    time.Time
}

// Write is what the owner of a Table writes: a new event if Create is not nil, or else a
// patch of the event of this name.
type Write struct {
	Create          *v1.Event
	Namespace, Name string
	Patch           []byte

	of    *series
	count int32
}

// Table knows the events of one component. The zero value is none; use New.
type Table struct {
	source   v1.EventSource
	series   recentMap[topic, *series]
	similar  recentMap[topic, *messages]
	spam     recentMap[topic, *bucket]
	rate     bucket
	queue    []*series
	sending  int
	places   int
	lastName int64
	pause    time.Duration // the next one; zero: the last write was answered
	until    time.Time     // when the pause ends

	// Dropped and Filtered count what was not written because the queue was full or the
	// server refused it, and because it was too much of one object.
	Dropped, Filtered int
}

// topic is what events have in common.
type topic struct {
	object                     v1.ObjectReference
	eventType, reason, message string
	combined                   bool
}

// messages are the different ones of similar events.
type messages struct {
	known map[string]bool
	last  time.Time
}

type state int

const (
	idle state = iota
	queued
	sending
)

// series is an event, with all its occurrences.
type series struct {
	event    v1.Event
	combined bool
	state    state
	exists   bool  // the server has it
	stored   int32 // with this count
	failures int
	due      time.Time
	place    int // in the queue: lower ones come first
}

// New returns a Table of what a component on a host records.
func New(component, host string) *Table {
	return &Table{source: v1.EventSource{Component: component, Host: host}, rate: bucket{burst: rateBurst, period: ratePeriod}}
}

// PendingCount is how many events wait or are being written.
func (t *Table) PendingCount() int { return len(t.queue) + t.sending }

// Record notes an occurrence. It returns the event that was dropped for it, if one was.
func (t *Table) Record(o Occurrence) (dropped *v1.Event) {
	version := o.Object.ResourceVersion
	o.Object.ResourceVersion = ""
	of := topic{object: o.Object, eventType: o.Type, reason: o.Reason, message: o.Message}
	if t.isSimilar(o) {
		of.object.FieldPath, of.message, of.combined = "", "", true
		o.Message = combined + o.Message
	}
	s := t.series.getOrMake(of, maxRemembered, func() *series { return &series{combined: of.combined} }, func(s *series) bool { return s.state == idle })
	if s.event.Count == 0 {
		o.Object.ResourceVersion = version
		s.event = t.newEvent(o)
	}
	s.event.Count++
	s.event.Message, s.event.LastTimestamp = o.Message, metav1.NewTime(o.At)
	if s.state != idle {
		return nil // This occurrence is written with those before it.
	}
	return t.enqueueUnlessSpam(s, 1, o.At)
}

// enqueueUnlessSpam has a series written with n further occurrences, if its object has not had too
// many events.
func (t *Table) enqueueUnlessSpam(s *series, n int, now time.Time) (dropped *v1.Event) {
	of := topic{object: s.event.InvolvedObject, eventType: s.event.Type}
	of.object.FieldPath, of.object.ResourceVersion = "", ""
	if !t.spam.getOrMake(of, maxRemembered, func() *bucket { return &bucket{burst: spamBurst, period: spamPeriod} }, alwaysTrue[*bucket]).takeToken(now) {
		t.Filtered += n
		return nil
	}
	return t.enqueue(s)
}

func alwaysTrue[V any](V) bool { return true }

// isSimilar reports whether the object had many other messages of this reason lately.
func (t *Table) isSimilar(o Occurrence) bool {
	of := topic{object: o.Object, eventType: o.Type, reason: o.Reason}
	of.object.FieldPath = ""
	m := t.similar.getOrMake(of, maxRemembered, func() *messages { return &messages{} }, alwaysTrue[*messages])
	if m.known == nil || o.At.Sub(m.last) > similarWindow {
		m.known = map[string]bool{}
	}
	m.last = o.At
	if !m.known[o.Message] && len(m.known) >= similarLimit-1 {
		return true
	}
	m.known[o.Message] = true
	return false
}

// newEvent is a new one. Its name is like none before.
func (t *Table) newEvent(o Occurrence) v1.Event {
	const longest = 253 - 17
	t.lastName = max(t.lastName+1, o.At.UnixNano())
	at := metav1.NewTime(o.At)
	return v1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:      fmt.Sprintf("%s.%x", o.Object.Name[:min(len(o.Object.Name), longest)], t.lastName),
			Namespace: cmp.Or(o.Object.Namespace, metav1.NamespaceDefault),
		},
		InvolvedObject: o.Object, Type: o.Type, Reason: o.Reason,
		Source: t.source, ReportingController: t.source.Component, ReportingInstance: t.source.Host,
		FirstTimestamp: at,
	}
}

// enqueue has a series written after all that wait. The oldest goes if they are too many.
func (t *Table) enqueue(s *series) (dropped *v1.Event) {
	if t.PendingCount() >= maxPending && len(t.queue) > 0 {
		oldest := t.queue[0]
		t.queue = slices.Delete(t.queue, 0, 1)
		dropped = t.dropSeries(oldest)
	}
	t.places++
	s.state, s.due, s.place = queued, time.Time{}, t.places
	t.queue = append(t.queue, s)
	return dropped
}

// dropSeries gives an event up. It is written again if it occurs again.
func (t *Table) dropSeries(s *series) *v1.Event {
	s.state, s.failures = idle, 0
	t.Dropped++
	return s.event.DeepCopy()
}

// NextWrite returns what is to be written now, and Done must be called for; nil and when to ask
// again if there is nothing, and no time if only a Record or Done changes that.
func (t *Table) NextWrite(now time.Time) (*Write, time.Time) {
	var next time.Time
	for i, s := range t.queue {
		due := latestTime(s.due, t.until, t.rate.nextToken())
		if !due.After(now) {
			t.queue = slices.Delete(t.queue, i, i+1)
			t.rate.takeToken(now)
			return t.newWrite(s), time.Time{}
		}
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	return nil, next
}

func latestTime(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

func (t *Table) newWrite(s *series) *Write {
	t.sending++
	s.state = sending
	w := &Write{Namespace: s.event.Namespace, Name: s.event.Name, of: s, count: s.event.Count}
	if !s.exists {
		w.Create = s.event.DeepCopy()
		return w
	}
	change := map[string]any{"count": s.event.Count, "lastTimestamp": s.event.LastTimestamp}
	if s.combined {
		change["message"] = s.event.Message
	}
	w.Patch, _ = json.Marshal(change) // Numbers, times and texts can be marshalled.
	return w
}

// FinishWrite notes how a write went. It returns the event that is given up, if it is.
func (t *Table) FinishWrite(w *Write, err error, now time.Time) (dropped *v1.Event) {
	t.sending--
	s, answer := w.of, patch.AnswerToPatch(err)
	if answer.Kind != patch.WaitAll {
		t.pause, t.until = 0, time.Time{}
	}
	switch {
	case err == nil:
		s.exists, s.stored, s.failures, s.state = true, w.count, 0, idle
		if s.event.Count != s.stored {
			return t.enqueueUnlessSpam(s, int(s.event.Count-s.stored), now)
		}
	case answer.Kind == patch.WaitAll:
		if !t.until.After(now) { // Or another write has failed at the same time.
			t.pause = min(max(2*t.pause, firstPause), lastPause)
			t.until = now.Add(max(answer.After, t.pause))
		}
		t.requeue(s, time.Time{})
	case apierrors.IsAlreadyExists(err): // An answer was lost.
		s.exists = true
		t.requeue(s, time.Time{})
	case answer.Kind == patch.Gone && s.exists:
		s.exists = false
		t.requeue(s, time.Time{})
	case answer.Kind == patch.Gone, answer.Kind == patch.Refused, apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause), s.failures+1 >= maxAttempts:
		return t.dropSeries(s)
	default:
		t.requeue(s, now.Add(max(answer.After, min(firstPause<<s.failures, lastPause))))
		s.failures++
	}
	return nil
}

// requeue has a series written in its place, when it is due.
func (t *Table) requeue(s *series, due time.Time) {
	s.state, s.due = queued, due
	at := slices.IndexFunc(t.queue, func(o *series) bool { return o.place > s.place })
	if at < 0 {
		at = len(t.queue)
	}
	t.queue = slices.Insert(t.queue, at, s)
}

// Retry ends the pause: the server answers.
func (t *Table) Retry() { t.pause, t.until = 0, time.Time{} }

// IsPaused reports whether the server was away at the last write, and the pause lasts.
func (t *Table) IsPaused(now time.Time) bool { return t.until.After(now) }

// RememberedCount is how much is remembered.
func (t *Table) RememberedCount() int {
	return len(t.series.values) + len(t.similar.values) + len(t.spam.values)
}
