package localapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// longestWatch ends a watch whose client has asked for no end, or for a later one.
	longestWatch = time.Hour
	// bookmarkPeriod is how often a watch that allows bookmarks gets one.
	bookmarkPeriod = time.Minute
	// stuck is how long a client may take nothing of a watch.
	stuck = 30 * time.Second
	// mostWatches is how many watches are served at once.
	mostWatches = 128
)

// watcher is one watch.
type watcher struct {
	resource *resource
	view     *view
	selection
	w       http.ResponseWriter
	out     *http.ResponseController
	version uint64 // of the newest change that was looked at
	ended   <-chan struct{}
}

// watchServer answers watches.
type watchServer struct {
	open  atomic.Int32
	ended <-chan struct{} // Run has ended
}

// watchAll streams changes until the client goes, the time is over, it is too slow, or Run ends.
func (h *watchServer) watchAll(r *resource, v *view, w http.ResponseWriter, req *http.Request, o options) {
	if h.open.Add(1) > mostWatches {
		h.open.Add(-1)
		sendError(w, apierrors.NewTooManyRequests("too many watches are open", 1))
		return
	}
	defer h.open.Add(-1)
	if o.timeout == 0 {
		o.timeout = longestWatch
	}
	ctx, cancel := context.WithTimeout(req.Context(), o.timeout)
	defer cancel()
	s := &watcher{resource: r, view: v, selection: o.selection, w: w, out: http.NewResponseController(w), version: o.version, ended: h.ended}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	s.extend()
	w.WriteHeader(http.StatusOK)
	err := s.begin(&o)
	if err == nil {
		err = s.follow(ctx, o.bookmarks)
	}
	if status := apierrors.APIStatus(nil); asStatus(err, &status) {
		_ = s.send(watch.Error, statusOf(err)) // The client may have gone.
	}
}

// begin sends what there is, to a client that does not know it.
func (s *watcher) begin(o *options) error {
	if o.hasVersion && !o.initial {
		return s.flush()
	}
	objects, version := s.resource.list()
	if o.version > version {
		return tooLarge(o.version, version)
	}
	s.version = version
	for _, one := range objects {
		if s.selects(s.resource, one) {
			if err := s.send(watch.Added, s.view.event(one)); err != nil {
				return err
			}
		}
	}
	if o.initial && o.bookmarks {
		return s.bookmark(true)
	}
	return s.flush()
}

// follow sends changes as they come. The client gets an error that has a Status.
func (s *watcher) follow(ctx context.Context, bookmarks bool) error {
	due := time.NewTicker(bookmarkPeriod)
	defer due.Stop()
	for {
		changes, newest, next, err := s.resource.since(s.version)
		if err != nil {
			return err
		}
		for _, ch := range changes {
			if err := s.change(ch); err != nil {
				return err
			}
		}
		s.version = newest
		select {
		case <-next:
		case <-due.C:
			if bookmarks {
				err = s.bookmark(false)
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ended:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// change sends what a change is to a watch of the selected objects.
func (s *watcher) change(ch change) error {
	e, shown := ch.For(func(o object) bool { return s.selects(s.resource, o) })
	if !shown {
		return nil
	}
	return s.send(e.Type, s.view.event(e.Object))
}

func (s *watcher) bookmark(end bool) error {
	return s.send(watch.Bookmark, s.view.bookmark(strconv.FormatUint(s.version, 10), end))
}

// send writes one event. Each has its own time, as a watch may go on for long.
func (s *watcher) send(kind watch.EventType, o any) error {
	text, err := json.Marshal(struct {
		Type   watch.EventType `json:"type"`
		Object any             `json:"object"`
	}{kind, o})
	if err != nil {
		return err
	}
	s.extend()
	if _, err = s.w.Write(append(text, '\n')); err != nil {
		return err
	}
	return s.flush()
}

func (s *watcher) extend() {
	_ = s.out.SetWriteDeadline(time.Now().Add(stuck)) // That of RoundTripper has none: it waits for its reader, or for the end of the context.
}

func (s *watcher) flush() error { return s.out.Flush() }

func asStatus(err error, status *apierrors.APIStatus) (ok bool) {
	*status, ok = err.(apierrors.APIStatus)
	return ok
}
