package source

import (
	"context"

	v1 "k8s.io/api/core/v1"
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

// Snapshot is all that one source has.
type Snapshot struct {
	// Pods are not to be modified any more: a changed pod is a new object. Of
	// two pods with one full name, or one UID, the first counts.
	Pods []*v1.Pod
	// Incomplete: something of the source could not be read and there is no
	// last good version of it. Pods not mentioned may still be desired.
	Incomplete bool
}
