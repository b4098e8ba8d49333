package node

import (
	"context"
	"errors"
	"iter"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// ErrExpired is returned by WatchFrom if the node does not have every change after the version. Call
// List again, and watch from its version.
var ErrExpired = errors.New("node: the version is too old, or from an earlier process")

// Event is a change of a selected pod.
type Event struct {
	// Type is watch.Added, watch.Modified or watch.Deleted. A pod that is selected for the first time
	// is Added. A pod that is no longer selected is Deleted.
	Type watch.EventType
	// Pod is shared and must not be modified. In a Deleted event it is the last state that was
	// selected. Its resource version is Version.
	Pod *v1.Pod
	// Version is the version after the event. WatchFrom can continue from it.
	Version uint64
}

// WatchFrom yields every change of the selected pods after a version, which comes from List or from an
// Event. It returns when ctx ends, without an error, or when the caller breaks the loop. From version 0
// it first yields an Added event for every existing pod, all with the same version. Several changes of
// a pod between two reads are one event. For a terminating pod several events may come. The last one
// comes when Allocated no longer counts the pod.
//
// The last error is ErrExpired or ErrFieldSelector. A node stores its last WatchHistory changes; a
// caller that falls further behind gets ErrExpired too.
//
// Versions increase with each change. The first version is the time in microseconds. So versions of an
// earlier process have expired, unless the clock was set back. The node stores pods and changes for
// List and WatchFrom from the first call on. It drops them at the first housekeeping after five minutes
// without a call and without a running WatchFrom.
//
// WatchFrom may be called from any goroutine, several times at once, before and after Run as well. Each
// range over the result begins with the given version.
func (n *Node) WatchFrom(ctx context.Context, version uint64, options ListOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		match, err := options.newMatcher()
		if err != nil {
			yield(Event{}, err)
			return
		}
		r := &reader{feed: n.feed, view: n.view, event: n.executor.NewEvent(), version: version}
		n.feed.addReader(r)
		defer n.feed.removeReader(r)
		if version == 0 && !r.yieldExistingPods(options, match, yield) {
			return
		}
		for r.yieldChangesOrErrExpired(match, yield) && r.event.Wait(ctx) == nil {
		}
	}
}

// reader is one call of WatchFrom.
type reader struct {
	feed  *feed
	view  *podsView
	event interface {
		Wait(context.Context) error
		Signal()
	}
	version uint64 // version of the last yielded event
}

// yieldExistingPods yields an Added event for each existing pod that options select, and sets the version of
// the reader to the version of the list. It returns false if yield returns false.
func (r *reader) yieldExistingPods(options ListOptions, match func(*v1.Pod) bool, yield func(Event, error) bool) (continues bool) {
	pods, version := r.feed.listPods(r.view, options, match)
	r.version = version
	for _, pod := range pods {
		if !yield(Event{watch.Added, pod, version}, nil) {
			return false
		}
	}
	return true
}

// yieldChangesOrErrExpired yields an event for each pod change that is newer than the version of the reader and
// that match selects. It advances that version. It returns false if yield returns false. If some of the newer
// changes are no longer stored, it yields ErrExpired and returns false.
func (r *reader) yieldChangesOrErrExpired(match func(*v1.Pod) bool, yield func(Event, error) bool) (continues bool) {
	changes, ok := r.feed.changesSince(r.view, r.version)
	if !ok {
		yield(Event{}, ErrExpired)
		return false
	}
	for _, c := range changes {
		r.version = c.Version
		if e, shown := c.EventFor(match); shown && !yield(Event{e.Type, e.Object, c.Version}, nil) {
			return false
		}
	}
	return true
}
