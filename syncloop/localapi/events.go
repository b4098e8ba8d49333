package localapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/syncloop/events"
)

const (
	// maxEvents is the number of events that are kept. A new event then replaces the least recently recorded one.
	maxEvents = 1000
	// eventLifetime is how long an event is kept after it was last recorded, as in an API server.
	eventLifetime = time.Hour
)

// Events stores the last 1000 events of a node in memory, each for an hour. Equal events are one event with a count. It
// is a runtime.EventRecorder whose methods never block. Set it as node.Config.Recorder and as Config.Events. API.Run
// writes the recorded events and removes old ones.
type Events struct {
	*events.Recorder
	cache *cache
	clock clock.Clock
	mu    sync.Mutex // serializes writes
}

// NewEvents returns empty Events for a node. A nil clock means the real clock. It starts no goroutine.
func NewEvents(nodeName string, c clock.Clock) (*Events, error) {
	if nodeName == "" {
		return nil, errors.New("localapi: events need the name of the node")
	}
	c = cmp.Or[clock.Clock](c, clock.RealClock{})
	e := &Events{cache: newCache(uint64(max(c.Now().UnixMicro(), 1))), clock: c}
	var err error
	e.Recorder, err = events.New(events.Config{Events: eventStore{e}, Host: nodeName, Clock: c})
	return e, err
}

// eventStore receives the recorder's writes. It implements apiserver.Events without a server.
type eventStore struct{ events *Events }

// CreateEvent implements apiserver.Events.
func (s eventStore) CreateEvent(_ context.Context, event *v1.Event) (*v1.Event, error) {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	event = withKind(event.DeepCopy(), "Event")
	now := s.events.clock.Now()
	event.UID, event.CreationTimestamp = newUID(), metav1.NewTime(now.Truncate(time.Second))
	s.events.cache.putIfChanged(event)
	s.events.removeOldEventsLocked(now)
	return event, nil
}

// PatchEvent implements apiserver.Events.
func (s eventStore) PatchEvent(_ context.Context, namespace, name string, patch []byte) (*v1.Event, error) {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	o := s.events.cache.shownObjectOrNil(namespace, name)
	if o == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "events"}, name)
	}
	before, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	text, err := applyPatch(types.StrategicMergePatchType, before, patch, v1.Event{})
	event := &v1.Event{}
	if err == nil {
		err = json.Unmarshal(text, event)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	s.events.cache.putIfChanged(event)
	return event, nil
}

// removeOldEvents removes events that are older than eventLifetime, and the oldest events above maxEvents. It
// does nothing if e is nil.
func (e *Events) removeOldEvents() {
	if e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.removeOldEventsLocked(e.clock.Now())
	}
}

// removeOldEventsLocked removes events that are older than eventLifetime, and then the events with the oldest
// changes until at most maxEvents are left.
func (e *Events) removeOldEventsLocked(now time.Time) {
	all, _ := e.cache.shownObjectsAndVersion()
	excess := len(all) - maxEvents
	for _, o := range all {
		if now.Sub(o.(*v1.Event).LastTimestamp.Time) > eventLifetime {
			e.cache.removeAndWakeWatchers(o.GetUID())
			excess--
		}
	}
	for ; excess > 0; excess-- {
		all, _ = e.cache.shownObjectsAndVersion()
		e.cache.removeAndWakeWatchers(slices.MinFunc(all, func(a, b object) int { return cmp.Compare(parsedResourceVersion(a), parsedResourceVersion(b)) }).GetUID())
	}
}

// parsedResourceVersion returns the resource version of an object as a number.
func parsedResourceVersion(o metav1.Object) uint64 {
	v, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64) // The cache writes only numbers.
	return v
}
