package node

import (
	"context"
	"errors"
	"iter"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// ErrExpired is returned by WatchFrom for a version after which not every change is known:
// List again and go on from there.
var ErrExpired = errors.New("node: the version is too old, or of another start of the node")

// Event is what has become of a pod that is selected.
type Event struct {
	// Type is watch.Added, watch.Modified or watch.Deleted. A pod that begins to be
	// selected is Added, and one that is not selected any more is Deleted.
	Type watch.EventType
	// Pod is shared and must not be changed. That of Deleted is its last state, or the last
	// one that was selected. Its resource version is Version.
	Pod *v1.Pod
	// Version is the one that the event leads to: WatchFrom goes on from there.
	Version uint64
}

// WatchFrom yields every change of the selected pods after this version, which is that of a
// List or of an Event. It returns when ctx ends, which is no error, or when the caller breaks
// the loop. From version 0 it first yields an Added for every pod that exists, all with the
// same version. Changes of a pod that come while no caller reads are one change. Of a pod that
// ends several events may come, first while its resources still count; the last one comes when
// Allocated counts it no more.
//
// The last error is ErrExpired or ErrFieldSelector. A node remembers its last WatchHistory
// changes; a caller that falls further behind gets ErrExpired as well.
//
// Versions rise with each change. The first one is the time in microseconds, so that the
// versions of an earlier process are expired, unless the clock was set back. The node keeps
// pods and changes for List and WatchFrom from the first call on. It drops them at the first
// housekeeping after five minutes without a call and without a running WatchFrom.
//
// WatchFrom may be called from any goroutine, several times at once, before and after Run as
// well. Each range over the result begins with the given version.
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
		for r.yieldChanges(match, yield) && r.event.Wait(ctx) == nil {
		}
	}
}

// reader is one WatchFrom.
type reader struct {
	feed  *feed
	view  *podsView
	event interface {
		Wait(context.Context) error
		Signal()
	}
	version uint64 // of what it has yielded
}

// ensureHistory yields what there is, and reports whether to go on.
func (r *reader) yieldExistingPods(options ListOptions, match func(*v1.Pod) bool, yield func(Event, error) bool) bool {
	pods, version := r.feed.list(r.view, options, match)
	r.version = version
	for _, pod := range pods {
		if !yield(Event{watch.Added, pod, version}, nil) {
			return false
		}
	}
	return true
}

// yieldChanges yields what is new, and reports whether to go on.
func (r *reader) yieldChanges(match func(*v1.Pod) bool, yield func(Event, error) bool) bool {
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
