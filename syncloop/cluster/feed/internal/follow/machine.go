package follow

import (
	"errors"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/internal/patch"
)

const (
	firstPause = 800 * time.Millisecond
	lastPause  = 15 * time.Second
	// A collection that is denied before it was ever seen is asked for so often after these pauses,
	// doubled each time: the server may not know yet that a pod that names it is on the node.
	earlyPause = 50 * time.Millisecond
	earlyAsks  = 5
	// shortStream is how long a stream lives at least that is no failure. One that has shown
	// something is none either, but only so many of them in a row.
	shortStream  = time.Second
	shortStreams = 3
	// silentStream is how long a stream lives at least that should have shown something: a
	// server sends a bookmark each minute.
	silentStream = 2 * time.Minute
)

// Do is what the owner of a Machine does next.
type Do int

// What there is to do.
const (
	// List: call Feed.List with Version, then Listed.
	List Do = iota
	// Watch: call Feed.Watch with Options, then Watching.
	Watch
	// Read: call Stream.Next, then Event, or Ended after an error.
	Read
	// Wait: wait for Pause, or until an outage ends if UntilAnswer, then Waited.
	Wait
)

// Step says what to do next.
type Step struct {
	Do          Do
	Version     string
	Options     apiserver.WatchOptions
	Pause       time.Duration
	UntilAnswer bool
}

// Health is how the collection is followed.
type Health struct {
	// Synced is when the first complete state came; zero before.
	Synced time.Time
	// LastEvent is when the server sent something last.
	LastEvent time.Time
	// Failures are those in a row; zero while a watch stands.
	Failures int
	// Err is the last failure; nil while a watch stands.
	Err error
	// Version is the last resource version seen.
	Version string
}

// Machine follows one collection. Make one with New.
type Machine[T metav1.Object] struct {
	do         Do
	stream     time.Duration // the least time after which the server is asked to end one
	noInitial  bool          // the server has no initial events
	initial    bool          // the stream begins with the state, or is at that
	newest     bool          // list the newest state
	again      bool          // the history was lost since there was progress
	version    string
	objects    *table[T]
	news       news[T]   // since Take
	fresh      *table[T] // of a stream that shows the state
	began      time.Time // the stream
	events     int       // of the stream, after the state
	short      int       // streams in a row that ended early
	failures   int
	err        error
	asked      time.Duration // the server asks to wait so long
	away       bool          // the server could not be reached
	denied     bool          // the node has no right to the collection
	next       Do            // after the pause
	synced, at time.Time
}

// New returns a Machine that knows nothing. The server is asked to end a stream after the given
// time, or up to twice that.
func New[T metav1.Object](stream time.Duration) *Machine[T] {
	return &Machine[T]{do: Watch, stream: stream, initial: true, objects: newTable[T](), news: news[T]{whole: true}}
}

// Next says what to do now. random is in [0, 1).
func (m *Machine[T]) Next(random float64) Step {
	s := Step{Do: m.do}
	switch m.do {
	case List:
		if s.Version = m.version; m.newest {
			s.Version = ""
		} else if s.Version == "" {
			s.Version = "0"
		}
	case Watch:
		s.Options.Timeout = m.stream + time.Duration(random*float64(m.stream))
		if s.Options.SendInitialEvents = m.initial; !m.initial {
			s.Options.ResourceVersion = m.version
		}
	case Wait:
		pause := m.pause()
		s.Pause = max(m.asked, pause+time.Duration(random*float64(pause)))
		s.UntilAnswer = m.away || m.denied
	}
	return s
}

// pause is the one after the failures so far, without what is random.
func (m *Machine[T]) pause() time.Duration {
	n := m.failures - 1
	if m.denied && m.synced.IsZero() {
		if n < earlyAsks {
			return earlyPause << n
		}
		n -= earlyAsks
	}
	return min(firstPause<<min(n, 10), lastPause)
}

// Waited says that a pause is over; answered, that it has ended early because the server
// answers. That may go on to deny the collection.
func (m *Machine[T]) Waited(answered bool) {
	if m.do = m.next; answered && !m.denied {
		m.failures = 0
	}
}

// Listed says how a List went. It reports whether the collection has changed.
func (m *Machine[T]) Listed(list apiserver.List[T], err error, now time.Time) bool {
	if err != nil {
		if lost(err) && !m.newest && m.version != "" {
			m.newest = true
			return false
		}
		m.fail(err, List)
		return false
	}
	fresh := newTable[T]()
	for _, o := range list.Items {
		fresh.put(o)
	}
	m.do, m.newest, m.at = Watch, false, now
	return m.complete(fresh, list.ResourceVersion, now)
}

// Watching says how the beginning of a Watch went.
func (m *Machine[T]) Watching(err error, now time.Time) {
	if err != nil {
		m.refused(err, false)
		return
	}
	m.do, m.began, m.events, m.fresh = Read, now, 0, newTable[T]()
}

// Event takes an event of the stream. It reports whether the collection has changed.
func (m *Machine[T]) Event(e apiserver.Event[T], now time.Time) (changed bool) {
	m.at = now
	if e.Type == apiserver.Bookmark && m.initial {
		if !e.InitialEventsEnd {
			return false
		}
		m.initial = false
		return m.complete(m.fresh, e.ResourceVersion, now)
	}
	if !m.initial {
		if m.short <= shortStreams { // Or each event would end the row of short streams.
			m.progress()
		}
		m.events++
		m.seen(e.ResourceVersion)
	}
	return m.apply(e) && !m.initial
}

// apply applies an event to the collection, or to the state that comes.
func (m *Machine[T]) apply(e apiserver.Event[T]) bool {
	into, noted := m.objects, &m.news
	if m.initial {
		into, noted = m.fresh, &news[T]{whole: true}
	}
	switch e.Type {
	case apiserver.Added, apiserver.Modified:
		before, ok := into.get(keyOf(e.Object))
		if !into.put(e.Object) {
			return false
		}
		if ok && before.GetUID() != e.Object.GetUID() {
			noted.note(Change[T]{Object: before, Gone: true}, into.len())
		}
		noted.note(Change[T]{Object: e.Object}, into.len())
		return true
	case apiserver.Deleted:
		before, _ := into.get(keyOf(e.Object))
		if !into.remove(e.Object) {
			return false
		}
		noted.note(Change[T]{Object: before, Gone: true}, into.len())
		return true
	}
	return false
}

// Ended says how a stream ended.
func (m *Machine[T]) Ended(err error, now time.Time) {
	lived := now.Sub(m.began) >= shortStream
	if m.short++; lived {
		m.short = 0
	}
	if lived && !m.initial {
		m.progress()
	}
	m.refused(err, !m.initial && (lived || m.events > 0 && m.short <= shortStreams))
	if m.do == Watch && !m.initial && m.events == 0 && now.Sub(m.began) >= silentStream {
		m.relist()
	}
}

// Closed says that the owner has closed the stream, if there is one: the next goes on from there.
func (m *Machine[T]) Closed() {
	if m.do == Read {
		m.do = Watch
	}
}

// refused decides what follows the error of a watch. well: the stream has worked.
func (m *Machine[T]) refused(err error, well bool) {
	answered := apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	switch {
	case lost(err) && !m.initial:
		m.relist()
		if m.again {
			m.fail(err, m.do)
		}
		m.again = true
	case m.initial && m.lacksInitial(err):
		m.noInitial = true
		m.relist()
	case !answered && well:
		m.do = Watch // The connection has ended, in order or not.
	case answered && !m.initial && apierrors.IsInternalError(err):
		m.relist()
		m.fail(err, m.do)
	default:
		m.fail(err, Watch)
		if m.away { // What answers next may have other data.
			m.relist()
			m.next, m.do = m.do, Wait
		}
	}
}

// lost reports whether the server does not have the version any more, or not yet.
func lost(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// lacksInitial reports whether a server refuses initial events as such.
func (m *Machine[T]) lacksInitial(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err)
}

// relist has the whole state read next.
func (m *Machine[T]) relist() {
	if m.do, m.initial = Watch, true; m.noInitial {
		m.do, m.initial = List, false
	}
}

// fail has next done after a pause.
func (m *Machine[T]) fail(err error, next Do) {
	a := patch.AnswerToPatch(err)
	m.failures++
	m.err, m.do, m.next, m.asked = err, Wait, next, a.After
	m.denied = a.Forbidden
	m.away = a.Kind == patch.WaitAll && !apierrors.IsTooManyRequests(err) && !errors.Is(err, io.EOF)
}

// progress ends a row of failures.
func (m *Machine[T]) progress() { m.failures, m.again = 0, false }

func (m *Machine[T]) seen(version string) {
	if version != "" {
		m.version = version
	}
}

// complete puts a complete state in the place of the collection, whatever its version is. One
// that is older than the last is of another history, in which the same versions were, or will
// be, given to other states.
func (m *Machine[T]) complete(fresh *table[T], version string, now time.Time) bool {
	order, err := resourceversion.CompareResourceVersion(version, m.version)
	restored := err == nil && order < 0
	changed := restored || fresh.adopt(m.objects) || m.synced.IsZero()
	m.objects = fresh
	if changed {
		m.news = news[T]{whole: true}
	}
	m.seen(version)
	if m.synced.IsZero() {
		m.synced = now
	}
	return changed
}

// Objects returns the collection, in a slice of the caller's; false before the first complete
// state.
func (m *Machine[T]) Objects() ([]T, bool) { return m.objects.all(), !m.synced.IsZero() }

// Empty reports whether the collection has no object.
func (m *Machine[T]) Empty() bool { return m.objects.len() == 0 }

// Get returns an object of the collection.
func (m *Machine[T]) Get(namespace, name string) (T, bool) {
	return m.objects.get(key{namespace, name})
}

// Health returns how the collection is followed.
func (m *Machine[T]) Health() Health {
	h := Health{Synced: m.synced, LastEvent: m.at, Version: m.version}
	if m.do != Read || m.initial {
		h.Failures, h.Err = m.failures, m.err
	}
	return h
}
