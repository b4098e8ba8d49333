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
	// mostEvents is how many events are kept. The one that was recorded least recently is
	// dropped for a new one.
	mostEvents = 1000
	// eventLifetime is how long an event is kept after it was recorded last, as in an API
	// server.
	eventLifetime = time.Hour
)

// Events keeps the events of a node in memory: the last 1000, each for an hour, equal ones
// as one with a count. It is a runtime.EventRecorder, whose methods never block. Give it to
// node.Config.Recorder, and to Config.Events: API.Run stores what was recorded, and drops what
// is older than an hour.
type Events struct {
	*events.Recorder
	cache *cache
	clock clock.Clock
	mu    sync.Mutex // orders writes
}

// NewEvents returns Events without any, of a node of this name. A nil clock is the real one.
// It starts nothing.
func NewEvents(nodeName string, c clock.Clock) (*Events, error) {
	if nodeName == "" {
		return nil, errors.New("localapi: events need the name of the node")
	}
	c = cmp.Or[clock.Clock](c, clock.RealClock{})
	e := &Events{cache: newCache(uint64(max(c.Now().UnixMicro(), 1))), clock: c}
	var err error
	e.Recorder, err = events.New(events.Config{Events: store{e}, Host: nodeName, Clock: c})
	return e, err
}

// store is where the recorder writes: an apiserver.Events without a server.
type store struct{ e *Events }

// CreateEvent implements apiserver.Events.
func (s store) CreateEvent(_ context.Context, event *v1.Event) (*v1.Event, error) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	event = kinded(event.DeepCopy(), "Event")
	now := s.e.clock.Now()
	event.UID, event.CreationTimestamp = newUID(), metav1.NewTime(now.Truncate(time.Second))
	s.e.cache.put(event)
	s.e.tidyLocked(now)
	return event, nil
}

// PatchEvent implements apiserver.Events.
func (s store) PatchEvent(_ context.Context, namespace, name string, patch []byte) (*v1.Event, error) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	o := s.e.cache.get(namespace, name)
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
	s.e.cache.put(event)
	return event, nil
}

// tidy drops events that are old. Nil has none.
func (e *Events) tidy() {
	if e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.tidyLocked(e.clock.Now())
	}
}

// tidyLocked drops events that are old, and the least recent ones of too many.
func (e *Events) tidyLocked(now time.Time) {
	all, _ := e.cache.list()
	excess := len(all) - mostEvents
	for _, o := range all {
		if now.Sub(o.(*v1.Event).LastTimestamp.Time) > eventLifetime {
			e.cache.remove(o.GetUID())
			excess--
		}
	}
	for ; excess > 0; excess-- {
		all, _ = e.cache.list()
		e.cache.remove(slices.MinFunc(all, func(a, b object) int { return cmp.Compare(versionOf(a), versionOf(b)) }).GetUID())
	}
}

// versionOf is the version of the last change of an object.
func versionOf(o metav1.Object) uint64 {
	v, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64) // The cache has written it.
	return v
}
