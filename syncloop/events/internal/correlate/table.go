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

// combined is the prefix of the message of an event that stands for several events.
const combined = "(combined from similar events): "

// Occurrence is something that has happened to an object.
type Occurrence struct {
	Object                v1.ObjectReference
	Type, Reason, Message string
	At                    time.Time
	// Annotations are the annotations of the event, if the occurrence is the first of its event. The table does not
	// change them.
	Annotations map[string]string
}

// Write is a request that the owner of a Table sends: it creates an event if Create is not nil, and otherwise
// patches the event of this name.
type Write struct {
	Create          *v1.Event
	Namespace, Name string
	Patch           []byte

	of    *series
	count int32
}

// Table has the events of one component. New makes one; the zero value is not usable.
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
	pause    time.Duration // the length of the next pause; zero: the server has answered the last write
	until    time.Time     // end of the pause

	// Dropped counts events that were not written because the queue was full or the server refused them.
	// Filtered counts occurrences that were not written because their object had too many events.
	Dropped, Filtered int
}

// topic has the fields that equal events share.
type topic struct {
	object                     v1.ObjectReference
	eventType, reason, message string
	combined                   bool
}

// messages are the different messages of similar events.
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

// series is an event with all its occurrences.
type series struct {
	event    v1.Event
	combined bool
	state    state
	exists   bool  // the server has the event
	stored   int32 // count of the event at the server
	failures int
	due      time.Time
	place    int // position in the queue; the lowest is written first
}

// New returns an empty Table for the events of a component on a host.
func New(component, host string) *Table {
	return &Table{source: v1.EventSource{Component: component, Host: host}, rate: bucket{burst: rateBurst, period: ratePeriod}}
}

// PendingCount returns the number of events that wait or are being written.
func (t *Table) PendingCount() int { return len(t.queue) + t.sending }

// Record adds an occurrence. It returns the event that was dropped because the queue is full, or nil.
func (t *Table) Record(o Occurrence) (dropped *v1.Event) {
	version := o.Object.ResourceVersion
	o.Object.ResourceVersion = ""
	of := topic{object: o.Object, eventType: o.Type, reason: o.Reason, message: o.Message}
	if t.recordMessageAndCheckSimilar(o) {
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
		return nil // The pending write contains this occurrence too.
	}
	return t.enqueueUnlessSpam(s, 1, o.At)
}

// enqueueUnlessSpam enqueues a series, which is the repeated occurrences of one event, for sending. If the
// object of the series has had too many events, it only counts the n new occurrences as filtered. It returns
// the event that a full queue has dropped for it, or nil.
func (t *Table) enqueueUnlessSpam(s *series, n int, now time.Time) (dropped *v1.Event) {
	of := topic{object: s.event.InvolvedObject, eventType: s.event.Type}
	of.object.FieldPath, of.object.ResourceVersion = "", ""
	if !t.spam.getOrMake(of, maxRemembered, func() *bucket { return &bucket{burst: spamBurst, period: spamPeriod} }, alwaysTrue[*bucket]).takeToken(now) {
		t.Filtered += n
		return nil
	}
	return t.enqueueAndDropOldestIfFull(s)
}

// alwaysTrue returns true for any value. It is the canEvict function of maps whose values can all be evicted.
func alwaysTrue[V any](V) bool { return true }

// recordMessageAndCheckSimilar reports whether the object recently had many other messages with this type and
// reason. If it did not, the message is remembered for later calls.
func (t *Table) recordMessageAndCheckSimilar(o Occurrence) (similar bool) {
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

// newEvent returns a new event for the first of its occurrences, with a unique name and without a count.
func (t *Table) newEvent(o Occurrence) v1.Event {
	const longest = 253 - 17
	t.lastName = max(t.lastName+1, o.At.UnixNano())
	at := metav1.NewTime(o.At)
	return v1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:        fmt.Sprintf("%s.%x", o.Object.Name[:min(len(o.Object.Name), longest)], t.lastName),
			Namespace:   cmp.Or(o.Object.Namespace, metav1.NamespaceDefault),
			Annotations: o.Annotations,
		},
		InvolvedObject: o.Object, Type: o.Type, Reason: o.Reason,
		Source: t.source, ReportingController: t.source.Component, ReportingInstance: t.source.Host,
		FirstTimestamp: at,
	}
}

// enqueueAndDropOldestIfFull adds a series (the repeated occurrences of one event) to the end of the queue. If
// the queue is full, it drops the oldest series and returns the event of that series. It returns nil if it
// drops none.
func (t *Table) enqueueAndDropOldestIfFull(s *series) (dropped *v1.Event) {
	if t.PendingCount() >= maxPending && len(t.queue) > 0 {
		oldest := t.queue[0]
		t.queue = slices.Delete(t.queue, 0, 1)
		dropped = t.dropSeriesAndCopyEvent(oldest)
	}
	t.places++
	s.state, s.due, s.place = queued, time.Time{}, t.places
	t.queue = append(t.queue, s)
	return dropped
}

// dropSeriesAndCopyEvent drops the pending write of a series (the repeated occurrences of one event). It makes the
// series idle, so that the next occurrence enqueues it again, and increases the counter of dropped events by one.
// It returns a copy of the event of this series, never nil. The caller has already taken the series out of the
// queue.
func (t *Table) dropSeriesAndCopyEvent(s *series) *v1.Event {
	s.state, s.failures = idle, 0
	t.Dropped++
	return s.event.DeepCopy()
}

// NextWrite returns the next due write, or nil and the time to call again. A zero time means that only Record
// or FinishWrite changes the answer. The caller calls FinishWrite for each write.
func (t *Table) NextWrite(now time.Time) (*Write, time.Time) {
	var next time.Time
	for i, s := range t.queue {
		due := latestTime(s.due, t.until, t.rate.nextTokenTime())
		if !due.After(now) {
			t.queue = slices.Delete(t.queue, i, i+1)
			t.rate.takeToken(now)
			return t.newWriteAndMarkSending(s), time.Time{}
		}
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	return nil, next
}

// latestTime returns the latest of the times.
func latestTime(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// newWriteAndMarkSending returns the request that creates or patches the event of a series (its repeated
// occurrences) at the server, and marks the series as being sent.
func (t *Table) newWriteAndMarkSending(s *series) *Write {
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
	w.Patch, _ = json.Marshal(change) // Marshalling numbers, times and texts never fails.
	return w
}

// FinishWrite handles the result of a write. It returns the event if it is dropped, or nil.
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
		if !t.until.After(now) { // Otherwise another write has already started a pause.
			t.pause = min(max(2*t.pause, firstPause), lastPause)
			t.until = now.Add(max(answer.After, t.pause))
		}
		t.requeueSeries(s, time.Time{})
	case apierrors.IsAlreadyExists(err): // The answer to an earlier create was lost.
		s.exists = true
		t.requeueSeries(s, time.Time{})
	case answer.Kind == patch.Gone && s.exists:
		s.exists = false
		t.requeueSeries(s, time.Time{})
	case answer.Kind == patch.Gone, answer.Kind == patch.Refused, apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause), s.failures+1 >= maxAttempts:
		return t.dropSeriesAndCopyEvent(s)
	default:
		t.requeueSeries(s, now.Add(max(answer.After, min(firstPause<<s.failures, lastPause))))
		s.failures++
	}
	return nil
}

// requeueSeries puts a series (the repeated occurrences of one event) back at its old position in the queue, to
// be sent at the time due.
func (t *Table) requeueSeries(s *series, due time.Time) {
	s.state, s.due = queued, due
	at := slices.IndexFunc(t.queue, func(o *series) bool { return o.place > s.place })
	if at < 0 {
		at = len(t.queue)
	}
	t.queue = slices.Insert(t.queue, at, s)
}

// Retry ends the pause, because the server answers again.
func (t *Table) Retry() { t.pause, t.until = 0, time.Time{} }

// IsPaused reports whether writes are paused because the server did not answer.
func (t *Table) IsPaused(now time.Time) bool { return t.until.After(now) }

// RememberedCount returns the number of remembered series, messages and spam limits.
func (t *Table) RememberedCount() int {
	return len(t.series.values) + len(t.similar.values) + len(t.spam.values)
}
