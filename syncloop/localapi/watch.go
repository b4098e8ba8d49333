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
	// maxWatchDuration is the default and maximum duration of a watch.
	maxWatchDuration = time.Hour
	// bookmarkPeriod is how often a watch with bookmarks receives one.
	bookmarkPeriod = time.Minute
	// watchWriteTimeout is how long one write to a watch may take.
	watchWriteTimeout = 30 * time.Second
	// maxWatches is the maximum number of concurrent watches.
	maxWatches = 128
)

// watcher serves one watch.
type watcher struct {
	resource *resource
	view     *view
	selection
	w       http.ResponseWriter
	out     *http.ResponseController
	version uint64 // newest version that was sent or skipped
	ended   <-chan struct{}
}

// watchServer serves watches.
type watchServer struct {
	open  atomic.Int32
	ended <-chan struct{} // closed when Run returns
}

// serveWatch streams changes until the client disconnects or reads too slowly, the timeout expires, or Run
// returns. Above maxWatches open watches it sends a 429. If streaming fails with an error that has a Status,
// the last event is that Status.
func (h *watchServer) serveWatch(r *resource, v *view, w http.ResponseWriter, req *http.Request, o options) {
	if h.open.Add(1) > maxWatches {
		h.open.Add(-1)
		sendError(w, apierrors.NewTooManyRequests("too many watches are open", 1))
		return
	}
	defer h.open.Add(-1)
	if o.timeout == 0 {
		o.timeout = maxWatchDuration
	}
	ctx, cancel := context.WithTimeout(req.Context(), o.timeout)
	defer cancel()
	s := &watcher{resource: r, view: v, selection: o.selection, w: w, out: http.NewResponseController(w), version: o.version, ended: h.ended}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	s.extendWriteDeadline()
	w.WriteHeader(http.StatusOK)
	err := s.sendInitialEventsIfWanted(&o)
	if err == nil {
		err = s.sendChanges(ctx, o.bookmarks)
	}
	if status := apierrors.APIStatus(nil); castToAPIStatus(err, &status) {
		_ = s.sendEvent(watch.Error, statusOfError(err)) // The client may have disconnected.
	}
}

// sendInitialEventsIfWanted sends the selected existing objects as ADDED events if the request has no version
// or sets sendInitialEventsIfWanted. If the request sets sendInitialEventsIfWanted and allowWatchBookmarks, a
// bookmark follows. It returns an error if the version does not exist yet.
func (s *watcher) sendInitialEventsIfWanted(o *options) error {
	if o.hasVersion && !o.initialEvents {
		return s.flush()
	}
	objects, version := s.resource.shownObjectsAndVersion()
	if o.version > version {
		return versionTooLargeError(o.version, version)
	}
	s.version = version
	for _, one := range objects {
		if s.matches(s.resource, one) {
			if err := s.sendEvent(watch.Added, s.view.renderWatchObject(one)); err != nil {
				return err
			}
		}
	}
	if o.initialEvents && o.bookmarks {
		return s.sendBookmark(true)
	}
	return s.flush()
}

// sendChanges sends changes as they happen, and bookmarks if the client wants them, until ctx is done or Run
// returns. If the error has a Status, serveWatch sends it to the client.
func (s *watcher) sendChanges(ctx context.Context, bookmarks bool) error {
	due := time.NewTicker(bookmarkPeriod)
	defer due.Stop()
	for {
		changes, newest, next, err := s.resource.changesSince(s.version)
		if err != nil {
			return err
		}
		for _, ch := range changes {
			if err := s.sendChange(ch); err != nil {
				return err
			}
		}
		s.version = newest
		select {
		case <-next:
		case <-due.C:
			if bookmarks {
				err = s.sendBookmark(false)
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

// sendChange sends a change if the selection includes the old or the new object. The event is ADDED if only the
// new object is selected, and DELETED if only the old one is.
func (s *watcher) sendChange(ch change) error {
	e, shown := ch.EventFor(func(o object) bool { return s.matches(s.resource, o) })
	if !shown {
		return nil
	}
	return s.sendEvent(e.Type, s.view.renderWatchObject(e.Object))
}

// sendBookmark sends a bookmark with the current version. If initialEventsEnd is set, the bookmark ends the
// initial events.
func (s *watcher) sendBookmark(initialEventsEnd bool) error {
	return s.sendEvent(watch.Bookmark, s.view.renderBookmark(strconv.FormatUint(s.version, 10), initialEventsEnd))
}

// sendEvent writes one event. Each write has its own deadline, because a watch may last for long.
func (s *watcher) sendEvent(kind watch.EventType, o any) error {
	text, err := json.Marshal(struct {
		Type   watch.EventType `json:"type"`
		Object any             `json:"object"`
	}{kind, o})
	if err != nil {
		return err
	}
	s.extendWriteDeadline()
	if _, err = s.w.Write(append(text, '\n')); err != nil {
		return err
	}
	return s.flush()
}

// extendWriteDeadline sets the deadline of the next write to watchWriteTimeout from now.
func (s *watcher) extendWriteDeadline() {
	_ = s.out.SetWriteDeadline(time.Now().Add(watchWriteTimeout)) // The writer of RoundTripper has no deadline: it waits for the reader or the context.
}

func (s *watcher) flush() error { return s.out.Flush() }

// castToAPIStatus stores err in status and returns true if err itself is an apierrors.APIStatus. If not, it
// stores nil and returns false, also if err wraps one.
func castToAPIStatus(err error, status *apierrors.APIStatus) (ok bool) {
	*status, ok = err.(apierrors.APIStatus)
	return ok
}
