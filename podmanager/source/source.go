package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
)

// Source is one source of pods. Implement it to bring pods from anywhere;
// package sourcetest checks an implementation.
type Source interface {
	// Run hands over a snapshot as soon as it knows what it has, even if that
	// is nothing, and a new one after every change, until ctx ends. It is
	// called by [Mux.Run], one call at a time.
	//
	// An error, or a panic, means that the source has failed: its last
	// snapshot stays, and Run is called again after a pause. A nil error
	// before ctx ends means that the source needs no goroutine: it has said
	// everything, or calls sink from elsewhere, which is allowed at any time.
	//
	// What cannot be read is never left out of a snapshot: hand over its last
	// good version, or mark the snapshot incomplete, or hand over nothing.
	Run(ctx context.Context, sink Sink) error
}

// Sink is where a source puts its snapshots.
type Sink interface {
	// Set replaces everything the source has said before. It never blocks and
	// may be called from any goroutine; of two concurrent calls either may
	// win.
	Set(Snapshot)
}

// ChangeSink is a Sink that also takes changes of single pods, at a cost that does not depend on
// the number of pods. The Sink that a Mux gives to its sources is one; a Source tests for it with a
// type assertion. A source may call all three methods, from any goroutine.
type ChangeSink interface {
	Sink
	// Apply replaces the pod with this UID, or adds the pod after all others. The other pods of the
	// source stay as they are. It never blocks, and does nothing before the first Set. The caller
	// must not modify the pod any more.
	Apply(pod *v1.Pod)
	// Delete removes the pod with this UID, if there is one. Otherwise it is like Apply.
	Delete(uid types.UID)
}

// Snapshot is the complete list of the pods of one source.
type Snapshot struct {
	// Pods must not be modified any more: a changed pod is a new object. Of two pods with one full
	// name, or one UID, the first counts.
	Pods []*v1.Pod
	// Incomplete: something of the source could not be read and there is no
	// last good version of it. Pods not mentioned may still be desired.
	Incomplete bool
	// Guarded: an API server has validated every change of these pods, so a pod whose spec changes
	// under its UID is an UPDATE, whatever has changed. Without it a change that no API server
	// would allow is a REMOVE and an ADD.
	Guarded bool
}

// ErrConfig is what every fault of a Config is.
var ErrConfig = errors.New("source: bad config")

// Config is what a Mux is made of.
type Config struct {
	// Sources are the sources by name. The Mux writes the name into each of their pods; it tells
	// static pods from others, see the package comment.
	Sources map[string]Source
	// Wake is called after every snapshot and change, by the source's goroutine and without a lock:
	// TakeAll may have something new. It must not block. SetWake replaces it.
	Wake func()
	// Owner, if not nil, returns the pod that records of the runtime or kept volumes belong to under
	// a UID, and false if there are none. TakeAll asks it for new pods, and it must not block. A new pod
	// of another name than the owner waits until every source has delivered all of its pods, because
	// the source of the owner may only be late.
	Owner func(uid types.UID) (owner types.NamespacedName, known bool)
	// Clock is read for the first-seen time and waits between restarts of a
	// source. nil is the real one.
	Clock clock.Clock
	// Log gets a line for each failed source and each rejected pod. Nil discards.
	Log *slog.Logger
	// Recorder, if not nil, records an event FailedValidation for each rejected pod.
	Recorder runtime.EventRecorder
	// Hooks observe.
	Hooks Hooks
}

// Hooks are called without a lock. Any of them may be nil; none may block.
type Hooks struct {
	// Rejected is called, within TakeAll, once for each pod of a snapshot that
	// cannot be delivered. The pod is nil if that was the fault.
	Rejected func(source string, pod *v1.Pod, err error)
	// Failed is called when a source has failed with an error it has not
	// failed with since it last ran well. Its last snapshot stays.
	Failed func(source string, err error)
	// Panicked is called after each panic of a source, the recorder, the log or
	// another hook that was contained, with the name of the call.
	Panicked func(call string, err error)
}

// contain wraps whatever a Mux calls that others have written: a panic there is the
// error of that call.
func (c *Config) contain() *contain.Guard {
	g := contain.New(contain.Config{Package: "source", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
	c.Log = g.Log()
	if c.Recorder != nil {
		c.Recorder = contain.NewRecorder(g, c.Recorder)
	}
	c.Hooks.Rejected = contain.Hook3(g, "Hooks.Rejected", c.Hooks.Rejected)
	c.Hooks.Failed = contain.Hook2(g, "Hooks.Failed", c.Hooks.Failed)
	return g
}

// complete fills in the defaults and names every fault.
func (c *Config) complete() error {
	done := contain.CheckConfigAs(ErrConfig)
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		done.FaultIf(name == "", "a source has an empty name")
		done.FaultIf(c.Sources[name] == nil, fmt.Sprintf("source %q is nil", name))
	}
	contain.SetDefault(&c.Wake, func() {})
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
