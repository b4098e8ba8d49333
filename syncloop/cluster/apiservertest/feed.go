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

// watchEvent is an event of a watch.
type watchEvent struct {
	kind    apiserver.EventType
	object  Object
	version uint64
	initial bool // the bookmark that ends the initial events
}

// watch is the server's side of a stream. The server's lock guards all fields but event.
type watch struct {
	request      Request
	resource     string
	selected     func(Object) bool
	event        executor.Event
	queue        []watchEvent
	afterVersion uint64 // changes up to this version are not shown
	ended        bool
	endError     error // nil: io.EOF
	deadline     time.Time
	nextBookmark time.Time
}

// queueChangeIfSelected queues the event of a change and wakes the reader. It ignores a change of another
// resource, a change that is too old, and a change of an object that the watch does not select.
func (w *watch) queueChangeIfSelected(c change) {
	if c.key.resource != w.resource || c.version <= w.afterVersion {
		return
	}
	if e, ok := c.eventFor(w.selected); ok {
		w.queue = append(w.queue, e)
		w.event.Signal()
	}
}

// endStream makes the stream end after its queued events, with err, or regularly if err is nil. If err is a
// connection error, which has no API status, the queued events are discarded.
func (w *watch) endStream(err error) {
	w.ended, w.endError = true, err
	if err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		w.queue = nil // The connection is broken.
	}
	w.event.Signal()
}

// feed lists and watches one resource.
type feed[T Object] struct {
	c *Client
	// request has the resource, and the namespace and name of a single object.
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

// newWatchLocked returns the watch for a request, with its first events queued. It returns an error if the node
// may not watch or if the version is malformed. If the version is in the future and the client wants initial
// events, the returned watch has ended with an error.
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
	w := &watch{request: r, resource: r.Resource, selected: f.selected, event: s.executor.NewEvent(), deadline: now.Add(timeout), nextBookmark: now.Add(s.config.BookmarkInterval)}
	if err != nil && opts.SendInitialEvents {
		w.endStream(err) // The version is in the future.
		return w, nil
	}
	s.queueInitialEventsLocked(w, version, opts.SendInitialEvents)
	return w, nil
}

// watchOpening is a running watch request. If the caller gives up or the response is lost, no stream stays open.
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

// parseVersionLocked parses a resource version. An empty text is version 0. A version in the future returns the
// version and a timeout error.
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

// queueInitialEventsLocked queues the first events of a watch. With initialEvents or version 0 these are the
// existing objects, and otherwise the changes after the version. With initialEvents a bookmark follows. If the
// changes after the version are lost, the stream ends with Expired.
func (s *Server) queueInitialEventsLocked(w *watch, version uint64, initialEvents bool) {
	switch {
	case initialEvents || version == 0:
		for _, o := range s.listLocked(w.resource, w.selected) {
			n, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
			w.queue = append(w.queue, watchEvent{kind: apiserver.Added, object: o, version: n})
		}
		if initialEvents {
			w.queue = append(w.queue, watchEvent{kind: apiserver.Bookmark, version: s.mu.version, initial: true})
		}
		w.afterVersion = s.mu.version
	case version < s.mu.lost:
		w.endStream(apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, s.mu.lost)))
	default:
		w.afterVersion = version
		for _, c := range s.mu.history {
			w.queueChangeIfSelected(c)
		}
	}
}

// stream is the caller's side of a watch.
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

// nextEvent removes and returns the next event of the queue, or a bookmark if one is due. If there is none, it
// returns the time of the next bookmark or of the end, or a zero time while the server is frozen. The error is
// io.EOF at the regular end.
func (t *stream[T]) nextEvent() (out apiserver.Event[T], until time.Time, err error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	w, now := t.w, t.s.executor.Now()
	if t.s.mu.frozen != nil && !w.ended {
		return out, time.Time{}, nil
	}
	if len(w.queue) == 0 {
		switch {
		case w.ended && w.endError == nil, !now.Before(w.deadline):
			return out, until, io.EOF
		case w.ended:
			return out, until, w.endError
		case now.Before(w.nextBookmark):
			if w.nextBookmark.Before(w.deadline) {
				return out, w.nextBookmark, nil
			}
			return out, w.deadline, nil
		}
		if t.s.mu.version < w.afterVersion { // It started at a version that a restored backup has not reached.
			w.nextBookmark = w.deadline
			return out, w.deadline, nil
		}
		w.queue = append(w.queue, watchEvent{kind: apiserver.Bookmark, version: t.s.mu.version})
	}
	e := w.queue[0]
	w.queue = w.queue[1:]
	w.nextBookmark = now.Add(t.s.config.BookmarkInterval)
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
