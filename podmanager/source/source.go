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

// Source is one source of pods. Implement it to deliver pods from anywhere; package sourcetest
// checks an implementation.
type Source interface {
	// Run delivers a snapshot as soon as it has one, even without pods, and a new one after every
	// change, until ctx ends. [Mux.Run] calls it, one call at a time.
	//
	// An error, or a panic, means that the source has failed: its last snapshot stays, and Run is
	// called again after a pause. A nil error before ctx ends means that the source needs no
	// goroutine: it never changes, or other code calls sink, which is allowed at any time.
	//
	// A source never leaves out of a snapshot what it cannot read. It delivers the last good
	// version, or marks the snapshot as incomplete, or delivers nothing.
	Run(ctx context.Context, sink Sink) error
}

// Sink receives the snapshots of a source.
type Sink interface {
	// Set replaces everything that the source has delivered before. It never blocks and may be
	// called from any goroutine. Of two concurrent calls either may win.
	Set(Snapshot)
}

// ChangeSink is a Sink that also takes changes of single pods, at a cost that does not depend on
// the number of pods. The Sink that a Mux passes to its sources is one; a Source tests for it with
// a type assertion. A source may call all three methods, from any goroutine.
type ChangeSink interface {
	Sink
	// Apply replaces the pod with this UID, or adds the pod after all others. The other pods of the
	// source stay. It never blocks, and does nothing before the first Set. The caller must not
	// modify the pod afterwards.
	Apply(pod *v1.Pod)
	// Delete removes the pod with this UID, if it exists. It never blocks, and does nothing before
	// the first Set.
	Delete(uid types.UID)
}

// Snapshot is the complete list of the pods of one source.
type Snapshot struct {
	// Pods must not be modified afterwards: a changed pod is a new object. Of two pods with one
	// full name, or one UID, the first is used.
	Pods []*v1.Pod
	// Incomplete: a part of the source could not be read and has no last good version. Missing pods
	// may still be desired.
	Incomplete bool
	// Guarded: an API server has validated every change of these pods, so any change of a spec
	// under its UID is an UPDATE. Without it a change that no API server would allow is a REMOVE
	// and an ADD.
	Guarded bool
}

// ErrConfig is returned for an invalid Config.
var ErrConfig = errors.New("source: bad config")

// Config configures a Mux.
type Config struct {
	// Sources are the sources by name. The Mux writes the name into each of their pods. The name
	// "api" makes ordinary pods, any other name static pods; see the package comment.
	Sources map[string]Source
	// Wake is called after every snapshot and change, by the source's goroutine and without a lock:
	// TakeAll may have something new. It must not block. SetWake replaces it.
	Wake func()
	// Owner, if not nil, returns the name of the pod to which records of the runtime or kept
	// volumes belong under a UID, and false if there are none. TakeAll calls it for new pods, and
	// it must not block. A new pod with another name than the owner waits until every source has
	// delivered all of its pods, because the source of the owner may only be late.
	Owner func(uid types.UID) (owner types.NamespacedName, known bool)
	// Clock is used for the first-seen time and for the pauses between restarts of a source. Nil is
	// the real clock.
	Clock clock.Clock
	// Log receives a message for each failed source and each rejected pod. Nil discards them.
	Log *slog.Logger
	// Recorder, if not nil, records an event FailedValidation for each rejected pod.
	Recorder runtime.EventRecorder
	// Hooks are optional callbacks.
	Hooks Hooks
}

// Hooks are called without a lock. Any of them may be nil; none may block.
type Hooks struct {
	// Rejected is called, within TakeAll, once for each pod of a snapshot that cannot be delivered.
	// The pod is nil if the snapshot had a nil pod.
	Rejected func(source string, pod *v1.Pod, err error)
	// Failed is called when a source has failed with an error that was not reported since it last
	// ran long enough. Its last snapshot stays.
	Failed func(source string, err error)
	// Panicked is called when a panic of a source, the recorder, the log or another hook was
	// recovered. call is the name of the call that panicked.
	Panicked func(call string, err error)
}

// wrapLogRecorderAndHooks replaces the log, the recorder and the hooks Rejected and Failed by wrappers, so that
// a panic in one of them does not crash the process. It returns the guard that handles the panics.
func (c *Config) wrapLogRecorderAndHooks() *contain.Guard {
	g := contain.New(contain.Config{Package: "source", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
	c.Log = g.Log()
	if c.Recorder != nil {
		c.Recorder = contain.NewRecorder(g, c.Recorder)
	}
	c.Hooks.Rejected = contain.Hook3(g, "Hooks.Rejected", c.Hooks.Rejected)
	c.Hooks.Failed = contain.Hook2(g, "Hooks.Failed", c.Hooks.Failed)
	return g
}

// setDefaultsAndValidate sets the defaults and returns an error that names every source with an empty name or a
// nil value.
func (c *Config) setDefaultsAndValidate() error {
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
