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
	minBackoff = 800 * time.Millisecond
	maxBackoff = 15 * time.Second
	// A collection that is forbidden before the first read is retried this often with these pauses, doubled each time:
	// the server may not know yet that a pod that refers to it is on the node.
	earlyForbiddenPause    = 50 * time.Millisecond
	earlyForbiddenAttempts = 5
	// minStreamDuration is the minimum duration of a stream that is no failure. A shorter stream with an event is no
	// failure either, but only maxShortStreams times in a row.
	minStreamDuration = time.Second
	maxShortStreams   = 3
	// silentStreamDuration is the duration after which a stream without any event is suspicious: a server sends a
	// bookmark every minute.
	silentStreamDuration = 2 * time.Minute
)

// Do is the next action of a Machine's owner.
type Do int

// The actions.
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

// Step is the next action with its arguments.
type Step struct {
	Do          Do
	Version     string
	Options     apiserver.WatchOptions
	Pause       time.Duration
	UntilAnswer bool
}

// Health describes how well the collection is followed.
type Health struct {
	// Synced is the time of the first complete state; zero before.
	Synced time.Time
	// LastEvent is when the server last sent something.
	LastEvent time.Time
	// Failures is the number of failures in a row; zero while a watch is open.
	Failures int
	// Err is the last failure; nil while a watch is open.
	Err error
	// Version is the last resource version seen.
	Version string
}

// Machine is the state machine of one collection. Make one with New.
type Machine[T metav1.Object] struct {
	do                       Do
	minStreamTimeout         time.Duration // minimum timeout of a watch request
	initialEventsUnsupported bool          // the server does not support initial events, so a list replaces them
	awaitsInitialEvents      bool          // the stream, or the next one, sends the complete state first; set again for each full read
	listNewest               bool          // list the newest state
	historyLost              bool          // the history was lost, without progress since
	version                  string
	objects                  *table[T]
	changeLog                changeLog[T] // changes since Take
	incoming                 *table[T]    // the state that the initial events build
	began                    time.Time    // start of the stream
	events                   int          // number of events after the initial ones
	shortStreamCount         int          // number of streams in a row that ended early
	failures                 int
	err                      error
	retryAfter               time.Duration // Retry-After of the server
	unreachable              bool          // no response, or 401 or 503
	forbidden                bool          // the node has no right to the collection
	next                     Do            // action after the pause
	synced, lastEvent        time.Time
}

// New returns a Machine without objects. stream is the minimum timeout of a watch request; a random duration up to the
// same length is added.
func New[T metav1.Object](stream time.Duration) *Machine[T] {
	return &Machine[T]{do: Watch, minStreamTimeout: stream, awaitsInitialEvents: true, objects: newTable[T](), changeLog: changeLog[T]{incomplete: true}}
}

// Next returns the next action. random is in [0, 1).
func (m *Machine[T]) Next(random float64) Step {
	s := Step{Do: m.do}
	switch m.do {
	case List:
		if s.Version = m.version; m.listNewest {
			s.Version = ""
		} else if s.Version == "" {
			s.Version = "0"
		}
	case Watch:
		s.Options.Timeout = m.minStreamTimeout + time.Duration(random*float64(m.minStreamTimeout))
		if s.Options.SendInitialEvents = m.awaitsInitialEvents; !m.awaitsInitialEvents {
			s.Options.ResourceVersion = m.version
		}
	case Wait:
		pause := m.pauseAfterFailures()
		s.Pause = max(m.retryAfter, pause+time.Duration(random*float64(pause)))
		s.UntilAnswer = m.unreachable || m.forbidden
	}
	return s
}

// pauseAfterFailures returns the pause after the failures so far, without the random part. It is shorter for
// the first attempts that the server forbids before the first list succeeds.
func (m *Machine[T]) pauseAfterFailures() time.Duration {
	n := m.failures - 1
	if m.forbidden && m.synced.IsZero() {
		if n < earlyForbiddenAttempts {
			return earlyForbiddenPause << n
		}
		n -= earlyForbiddenAttempts
	}
	return min(minBackoff<<min(n, 10), maxBackoff)
}

// Waited records the end of a pause. answered means that the pause ended early because the server answers again. The
// server may still forbid the collection.
func (m *Machine[T]) Waited(answered bool) {
	if m.do = m.next; answered && !m.forbidden {
		m.failures = 0
	}
}

// Listed records the result of a List. It reports whether the collection has changed.
func (m *Machine[T]) Listed(list apiserver.List[T], err error, now time.Time) bool {
	if err != nil {
		if isVersionLost(err) && !m.listNewest && m.version != "" {
			m.listNewest = true
			return false
		}
		m.scheduleRetry(err, List)
		return false
	}
	fresh := newTable[T]()
	for _, o := range list.Items {
		fresh.putUnlessSameVersion(o)
	}
	m.do, m.listNewest, m.lastEvent = Watch, false, now
	return m.replaceObjects(fresh, list.ResourceVersion, now)
}

// Watching records the result of a Watch request.
func (m *Machine[T]) Watching(err error, now time.Time) {
	if err != nil {
		m.chooseActionAfterWatchError(err, false)
		return
	}
	m.do, m.began, m.events, m.incoming = Read, now, 0, newTable[T]()
}

// Event applies an event of the stream. It reports whether the collection has changed.
func (m *Machine[T]) Event(e apiserver.Event[T], now time.Time) (changed bool) {
	m.lastEvent = now
	if e.Type == apiserver.Bookmark && m.awaitsInitialEvents {
		if !e.InitialEventsEnd {
			return false
		}
		m.awaitsInitialEvents = false
		return m.replaceObjects(m.incoming, e.ResourceVersion, now)
	}
	if !m.awaitsInitialEvents {
		if m.shortStreamCount <= maxShortStreams { // Otherwise each event would reset the count of short streams.
			m.resetFailures()
		}
		m.events++
		m.setVersion(e.ResourceVersion)
	}
	return m.applyEvent(e) && !m.awaitsInitialEvents
}

// applyEvent applies an event to the collection and its change log. While initial events arrive, it applies the
// event to the incoming collection instead. It returns false if that collection has not changed.
func (m *Machine[T]) applyEvent(e apiserver.Event[T]) (changed bool) {
	into, noted := m.objects, &m.changeLog
	if m.awaitsInitialEvents {
		into, noted = m.incoming, &changeLog[T]{incomplete: true}
	}
	switch e.Type {
	case apiserver.Added, apiserver.Modified:
		before, ok := into.get(objectKey(e.Object))
		if !into.putUnlessSameVersion(e.Object) {
			return false
		}
		if ok && before.GetUID() != e.Object.GetUID() {
			noted.addOrDiscardAllChanges(Change[T]{Object: before, Gone: true}, into.len())
		}
		noted.addOrDiscardAllChanges(Change[T]{Object: e.Object}, into.len())
		return true
	case apiserver.Deleted:
		before, _ := into.get(objectKey(e.Object))
		if !into.removeUnlessNameTakenByOther(e.Object) {
			return false
		}
		noted.addOrDiscardAllChanges(Change[T]{Object: before, Gone: true}, into.len())
		return true
	}
	return false
}

// Ended records the end of a stream.
func (m *Machine[T]) Ended(err error, now time.Time) {
	lived := now.Sub(m.began) >= minStreamDuration
	if m.shortStreamCount++; lived {
		m.shortStreamCount = 0
	}
	if lived && !m.awaitsInitialEvents {
		m.resetFailures()
	}
	m.chooseActionAfterWatchError(err, !m.awaitsInitialEvents && (lived || m.events > 0 && m.shortStreamCount <= maxShortStreams))
	if m.do == Watch && !m.awaitsInitialEvents && m.events == 0 && now.Sub(m.began) >= silentStreamDuration {
		m.setNextToInitialWatchOrList()
	}
}

// Closed records that the owner has closed the stream. The next watch continues from there.
func (m *Machine[T]) Closed() {
	if m.do == Read {
		m.do = Watch
	}
}

// chooseActionAfterWatchError chooses the action after the error of a watch: watch again, pause first, or read
// the whole collection again, for example if the server has lost the version. worked means that the stream has
// delivered something or lasted long enough.
func (m *Machine[T]) chooseActionAfterWatchError(err error, worked bool) {
	answered := apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	switch {
	case isVersionLost(err) && !m.awaitsInitialEvents:
		m.setNextToInitialWatchOrList()
		if m.historyLost {
			m.scheduleRetry(err, m.do)
		}
		m.historyLost = true
	case m.awaitsInitialEvents && m.isInitialEventsUnsupported(err):
		m.initialEventsUnsupported = true
		m.setNextToInitialWatchOrList()
	case !answered && worked:
		m.do = Watch // The connection was closed, regularly or not.
	case answered && !m.awaitsInitialEvents && apierrors.IsInternalError(err):
		m.setNextToInitialWatchOrList()
		m.scheduleRetry(err, m.do)
	default:
		m.scheduleRetry(err, Watch)
		if m.unreachable { // The next server process may have other data.
			m.setNextToInitialWatchOrList()
			m.next, m.do = m.do, Wait
		}
	}
}

// isVersionLost reports whether the error says that the server no longer has the requested resource version, or
// does not have it yet.
func isVersionLost(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// isInitialEventsUnsupported reports whether the error shows that the server does not support
// sendInitialEvents.
func (m *Machine[T]) isInitialEventsUnsupported(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err)
}

// setNextToInitialWatchOrList makes a read of the whole collection the next action. The action is a watch with
// initial events. It is a list if the server does not support initial events.
func (m *Machine[T]) setNextToInitialWatchOrList() {
	if m.do, m.awaitsInitialEvents = Watch, true; m.initialEventsUnsupported {
		m.do, m.awaitsInitialEvents = List, false
	}
}

// scheduleRetry records a failure, makes a pause the next action, and makes next the action after the pause.
func (m *Machine[T]) scheduleRetry(err error, next Do) {
	a := patch.AnswerToPatch(err)
	m.failures++
	m.err, m.do, m.next, m.retryAfter = err, Wait, next, a.After
	m.forbidden = a.Forbidden
	m.unreachable = a.Kind == patch.WaitAll && !apierrors.IsTooManyRequests(err) && !errors.Is(err, io.EOF)
}

// resetFailures sets the number of failures to zero and forgets that the server had lost the version.
func (m *Machine[T]) resetFailures() { m.failures, m.historyLost = 0, false }

// setVersion stores a resource version unless it is empty.
func (m *Machine[T]) setVersion(version string) {
	if version != "" {
		m.version = version
	}
}

// replaceObjects replaces the collection by a complete state, whatever its version. It returns false if no
// object has changed, the version is not lower than before, and this is not the first state. A lower version
// means that the server was restored, so that the same versions can mean other states.
func (m *Machine[T]) replaceObjects(fresh *table[T], version string, now time.Time) (changed bool) {
	order, err := resourceversion.CompareResourceVersion(version, m.version)
	restored := err == nil && order < 0
	changed = restored || fresh.reusePointersAndCompare(m.objects) || m.synced.IsZero()
	m.objects = fresh
	if changed {
		m.changeLog = changeLog[T]{incomplete: true}
	}
	m.setVersion(version)
	if m.synced.IsZero() {
		m.synced = now
	}
	return changed
}

// Objects returns the collection in a new slice. It returns false before the first complete state.
func (m *Machine[T]) Objects() ([]T, bool) { return m.objects.all(), !m.synced.IsZero() }

// Empty reports whether the collection has no object.
func (m *Machine[T]) Empty() bool { return m.objects.len() == 0 }

// Get returns an object of the collection.
func (m *Machine[T]) Get(namespace, name string) (T, bool) {
	return m.objects.get(key{namespace, name})
}

// Health returns how well the collection is followed.
func (m *Machine[T]) Health() Health {
	h := Health{Synced: m.synced, LastEvent: m.lastEvent, Version: m.version}
	if m.do != Read || m.awaitsInitialEvents {
		h.Failures, h.Err = m.failures, m.err
	}
	return h
}
