package apiservertest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// eventFor is an element of a watch.
type watchEvent struct {
	kind    apiserver.EventType
	object  Object
	version uint64
	initial bool // the end of the initial events
}

// watch is a stream on the server's side. All but its event is guarded by the server.
type watch struct {
	request  Request
	resource string
	selected func(Object) bool
	event    executor.Event
	queue    []watchEvent
	after    uint64 // shows nothing up to this version
	ended    bool
	err      error // nil: the regular end
	due      time.Time
	bookmark time.Time
}

// queueChange queues a change.
func (w *watch) queueChange(c change) {
	if c.key.resource != w.resource || c.version <= w.after {
		return
	}
	if e, ok := c.eventFor(w.selected); ok {
		w.queue = append(w.queue, e)
		w.event.Signal()
	}
}

// endStream is the stream's, after what it still has to show.
func (w *watch) endStream(err error) {
	w.ended, w.err = true, err
	if err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		w.queue = nil // The connection is broken.
	}
	w.event.Signal()
}

// feed is a selection of one resource.
type feed[T Object] struct {
	c *Client
	// request has the resource, and namespace and name of a single object.
	request  Request
	selected func(Object) bool
	allowed  func() error // called under the server's lock
}

// List implements apiserver.Feed.
func (f feed[T]) List(ctx context.Context, resourceVersion string) (apiserver.List[T], error) {
	r := f.request
	r.Verb = "list"
	return doRequest(ctx, f.c, r, func() (apiserver.List[T], error) {
		s := f.c.s
		if err := f.allowed(); err != nil {
			return apiserver.List[T]{}, err
		}
		if _, err := s.parseVersionLocked(resourceVersion); err != nil {
			return apiserver.List[T]{}, err
		}
		out := apiserver.List[T]{ResourceVersion: s.versionLocked()}
		for _, o := range s.listLocked(r.Resource, f.selected) {
			out.Items = append(out.Items, o.DeepCopyObject().(T))
		}
		return out, nil
	})
}

// Watch implements apiserver.Feed.
func (f feed[T]) Watch(ctx context.Context, opts apiserver.WatchOptions) (apiserver.Stream[T], error) {
	r := f.request
	r.Verb = "watch"
	s := f.c.s
	o := watchOpening{}
	out, err := doRequest(ctx, f.c, r, func() (apiserver.Stream[T], error) {
		w, err := f.newWatchLocked(r, opts)
		if err != nil {
			return nil, err
		}
		o.addStreamLocked(s, w)
		return &stream[T]{s: s, w: w}, nil
	})
	if err != nil {
		o.abandonWatch(s)
	}
	return out, err
}

// newWatchLocked is the stream that a request asks for, with what it shows first.
func (f feed[T]) newWatchLocked(r Request, opts apiserver.WatchOptions) (*watch, error) {
	s := f.c.s
	if err := f.allowed(); err != nil {
		return nil, err
	}
	version, err := s.parseVersionLocked(opts.ResourceVersion)
	if err != nil && !apierrors.IsTimeout(err) {
		return nil, err
	}
	now := s.executor.Now()
	timeout := s.config.WatchTimeout
	if opts.Timeout > 0 {
		timeout = opts.Timeout
	}
	w := &watch{request: r, resource: r.Resource, selected: f.selected, event: s.executor.NewEvent(), due: now.Add(timeout), bookmark: now.Add(s.config.BookmarkInterval)}
	if err != nil && opts.SendInitialEvents {
		w.endStream(err) // It is in the future.
		return w, nil
	}
	s.queueInitialEventsLocked(w, version, opts.SendInitialEvents)
	return w, nil
}

// watchOpening is the request for a stream. A caller that has gone, or that the answer does not
// reach, has no stream: a connection that is cut ends it.
type watchOpening struct {
	w         *watch
	abandoned bool
}

func (o *watchOpening) addStreamLocked(s *Server, w *watch) {
	if o.abandoned || w.ended {
		return
	}
	o.w = w
	s.mu.streams = append(s.mu.streams, w)
}

func (o *watchOpening) abandonWatch(s *Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.abandoned = true
	s.removeStreamLocked(o.w)
}

func (s *Server) removeStreamLocked(gone *watch) {
	s.mu.streams = slices.DeleteFunc(s.mu.streams, func(w *watch) bool { return w == gone })
}

// parseVersionLocked reads a version. One that is in the future is a timeout.
func (s *Server) parseVersionLocked(version string) (uint64, error) {
	if version == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version %q", version))
	}
	if n > s.mu.version {
		refusal := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", n, s.mu.version), 1)
		refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
		return n, refusal
	}
	return n, nil
}

// queueInitialEventsLocked fills the queue with what comes first.
func (s *Server) queueInitialEventsLocked(w *watch, version uint64, initial bool) {
	switch {
	case initial || version == 0:
		for _, o := range s.listLocked(w.resource, w.selected) {
			n, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
			w.queue = append(w.queue, watchEvent{kind: apiserver.Added, object: o, version: n})
		}
		if initial {
			w.queue = append(w.queue, watchEvent{kind: apiserver.Bookmark, version: s.mu.version, initial: true})
		}
		w.after = s.mu.version
	case version < s.mu.lost:
		w.endStream(apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, s.mu.lost)))
	default:
		w.after = version
		for _, c := range s.mu.history {
			w.queueChange(c)
		}
	}
}

// stream is a watch on the caller's side.
type stream[T Object] struct {
	s *Server
	w *watch
}

// Next implements apiserver.Stream.
func (t *stream[T]) Next(ctx context.Context) (apiserver.Event[T], error) {
	if err := t.s.executor.Sleep(ctx, 0); err != nil {
		return apiserver.Event[T]{}, err
	}
	for {
		e, until, err := t.nextEvent()
		if err != nil || e.Type != "" {
			return e, err
		}
		if until.IsZero() {
			err = t.w.event.Wait(ctx)
		} else {
			_, err = t.w.event.WaitUntil(ctx, until)
		}
		if err != nil {
			return apiserver.Event[T]{}, err
		}
	}
}

// nextEvent is the next event, or until when there is none; no time while the server is frozen.
func (t *stream[T]) nextEvent() (out apiserver.Event[T], until time.Time, err error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	w, now := t.w, t.s.executor.Now()
	if t.s.mu.frozen != nil && !w.ended {
		return out, time.Time{}, nil
	}
	if len(w.queue) == 0 {
		switch {
		case w.ended && w.err == nil, !now.Before(w.due):
			return out, until, io.EOF
		case w.ended:
			return out, until, w.err
		case now.Before(w.bookmark):
			if w.bookmark.Before(w.due) {
				return out, w.bookmark, nil
			}
			return out, w.due, nil
		}
		if t.s.mu.version < w.after { // It began at a version of another history.
			w.bookmark = w.due
			return out, w.due, nil
		}
		w.queue = append(w.queue, watchEvent{kind: apiserver.Bookmark, version: t.s.mu.version})
	}
	e := w.queue[0]
	w.queue = w.queue[1:]
	w.bookmark = now.Add(t.s.config.BookmarkInterval)
	out = apiserver.Event[T]{Type: e.kind, ResourceVersion: strconv.FormatUint(e.version, 10), InitialEventsEnd: e.initial}
	if e.object != nil {
		out.Object = e.object.DeepCopyObject().(T)
	}
	return out, until, nil
}

// Close implements apiserver.Stream.
func (t *stream[T]) Close() {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.removeStreamLocked(t.w)
}
