package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/events/internal/correlate"
)

// MaxParallelRequests is the maximum number of requests at the same time.
const MaxParallelRequests = 4

// DefaultFlush is how long Run writes pending events after its context was cancelled.
const DefaultFlush = 3 * time.Second

// requestTimeout bounds one request.
const requestTimeout = 10 * time.Second

// Config configures a Recorder. Events and Host are required.
type Config struct {
	// Events writes events to the API server.
	Events apiserver.Events
	// Host is the name of the node in the source of the events.
	Host string
	// Component is the program in the source of the events. Empty: kubelet, because other programs look for
	// its events.
	Component string
	// Flush is how long Run writes pending events after its context was cancelled. Zero: DefaultFlush.
	Flush time.Duration
	// RequestDone is called after each request with its error, by the goroutine that made the request; nil is
	// not called.
	RequestDone func(err error)
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
}

func (c *Config) complete() error {
	if c.Events == nil || c.Host == "" {
		return errors.New("events: Config: Events or Host is missing")
	}
	c.Component = cmp.Or(c.Component, "kubelet")
	c.Flush = cmp.Or(c.Flush, DefaultFlush)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	g := contain.New(contain.Config{Package: "events", Clock: c.Clock, Log: c.Log})
	c.Log, c.RequestDone = g.Log(), contain.Hook1(g, "RequestDone", c.RequestDone)
	return nil
}

// Recorder writes events to an API server. New makes one. It is safe for concurrent use.
type Recorder struct {
	cfg      Config
	executor executor.Executor
	wake     executor.Event
	ran      atomic.Bool

	mu struct {
		sync.Mutex
		table    *correlate.Table
		flushing bool
		ended    bool
	}
}

var _ runtime.EventRecorder = (*Recorder)(nil)

// State is what a Recorder has not written.
type State struct {
	// Pending is the number of events that wait or are being written.
	Pending int
	// Dropped is the number of events that were dropped: the queue was full, or the server refused them.
	Dropped int
	// Filtered is the number of occurrences that were only counted, because their object had too many events.
	Filtered int
}

// New returns a Recorder that writes nothing until Run is called. It returns an error if the configuration is
// invalid.
func New(config Config) (*Recorder, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	t := executor.Over(config.Clock)
	r := &Recorder{cfg: config, executor: t, wake: t.NewEvent()}
	r.mu.table = correlate.New(config.Component, config.Host)
	return r, nil
}

// Event implements runtime.EventRecorder. It accepts a *v1.Pod, a *v1.Node or a *v1.ObjectReference, and drops
// an event about any other object.
func (r *Recorder) Event(object k8sruntime.Object, eventtype, reason, message string) {
	r.recordAnnotated(object, nil, eventtype, reason, message)
}

// AnnotatedEventf records an event with annotations, as the method of this name in client-go. An event that was recorded
// before keeps its annotations. The caller may change the map afterwards.
func (r *Recorder) AnnotatedEventf(object k8sruntime.Object, annotations map[string]string, eventtype, reason, messageFmt string, args ...any) {
	r.recordAnnotated(object, maps.Clone(annotations), eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

// recordAnnotated records an event with annotations. It logs and drops an event about an object of another type than Event
// accepts.
func (r *Recorder) recordAnnotated(object k8sruntime.Object, annotations map[string]string, eventtype, reason, message string) {
	ref, err := referenceToPodOrNode(object)
	if err != nil {
		r.cfg.Log.Error("an event was dropped", "reason", reason, "message", message, "err", err)
		return
	}
	r.recordOccurrence(correlate.Occurrence{Object: ref, Type: eventtype, Reason: reason, Message: message, At: r.executor.Now(), Annotations: annotations})
}

// Eventf implements runtime.EventRecorder.
func (r *Recorder) Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	r.Event(object, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

// recordOccurrence adds an occurrence of an event to the table of events to send, and wakes Run. If the table
// drops another event for lack of space, it logs that event. It does nothing after Run has returned.
func (r *Recorder) recordOccurrence(o correlate.Occurrence) {
	r.mu.Lock()
	if r.mu.ended {
		r.mu.Unlock()
		return
	}
	dropped := r.mu.table.Record(o)
	r.mu.Unlock()
	r.logDropped(dropped, errQueueFull)
	r.wake.Signal()
}

var errQueueFull = errors.New("events: too many events wait for the API server")

// logDropped logs a warning for a dropped event. It does nothing for nil.
func (r *Recorder) logDropped(e *v1.Event, err error) {
	if e != nil {
		r.cfg.Log.Warn("an event was dropped", "kind", e.InvolvedObject.Kind, "namespace", e.InvolvedObject.Namespace, "name", e.InvolvedObject.Name,
			"reason", e.Reason, "message", e.Message, "count", e.Count, "err", err)
	}
}

// referenceToPodOrNode returns the reference of an event to a pod or a node. If the object is an
// ObjectReference, it returns a copy. It returns an error for any other object and for a nil pointer.
func referenceToPodOrNode(object k8sruntime.Object) (v1.ObjectReference, error) {
	ref := v1.ObjectReference{APIVersion: "v1"}
	var meta metav1.Object
	switch o := object.(type) {
	case *v1.ObjectReference:
		if o != nil {
			return *o, nil
		}
	case *v1.Pod:
		if o != nil {
			meta, ref.Kind = o, "Pod"
		}
	case *v1.Node:
		if o != nil {
			meta, ref.Kind = o, "Node"
		}
	}
	if meta == nil {
		return ref, fmt.Errorf("events: the object is a %T, not a pod, node or reference", object)
	}
	ref.Namespace, ref.Name, ref.UID, ref.ResourceVersion = meta.GetNamespace(), meta.GetName(), meta.GetUID(), meta.GetResourceVersion()
	return ref, nil
}

// State returns the numbers of events that are not written.
func (r *Recorder) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return State{r.mu.table.PendingCount(), r.mu.table.Dropped, r.mu.table.Filtered}
}

// Retry ends the pause after errors, because the server answers again. It never blocks.
func (r *Recorder) Retry() {
	r.mu.Lock()
	r.mu.table.Retry()
	r.mu.Unlock()
	r.wake.Signal()
}

// Run writes events until the context is cancelled, and then the pending events for at most Config.Flush. It
// returns nil after the last request. A second call returns runtime.ErrSecondRun.
func (r *Recorder) Run(ctx context.Context) error {
	if r.ran.Swap(true) {
		return fmt.Errorf("events: %w", runtime.ErrSecondRun)
	}
	work, cancel := executor.WithCancel(executor.Detach(ctx))
	group := executor.NewGroup(r.executor)
	group.Go(func() {
		_ = r.executor.NewLatch().Wait(ctx) // The latch is never opened: this waits for ctx.
		r.mu.Lock()
		r.mu.flushing = true
		r.mu.Unlock()
		r.Retry()
		_ = r.executor.Sleep(work, r.cfg.Flush)
		cancel()
	})
	for r.writeDueOrWait(work) {
	}
	cancel()
	group.Wait()
	r.mu.Lock()
	r.mu.ended = true
	r.mu.Unlock()
	if left := r.State().Pending; left > 0 {
		r.cfg.Log.Warn("pending events were dropped at the end", "events", left)
	}
	return nil
}

// writeDueOrWait sends the due writes to the server in parallel. If none is due, it waits until one is due or
// an event is added. It returns false if Run must return, because ctx is done, or because a flush has sent
// everything or is paused after errors.
func (r *Recorder) writeDueOrWait(ctx context.Context) (goOn bool) {
	due, next := r.takeDueWrites()
	if len(due) > 0 {
		executor.Each(r.executor, MaxParallelRequests, len(due), func(i int) { r.sendWrite(ctx, due[i]) })
		return ctx.Err() == nil
	}
	r.mu.Lock()
	end := r.mu.flushing && (r.mu.table.PendingCount() == 0 || r.mu.table.IsPaused(r.executor.Now()))
	r.mu.Unlock()
	if end {
		return false
	}
	var err error
	if next.IsZero() {
		err = r.wake.Wait(ctx)
	} else {
		_, err = r.wake.WaitUntil(ctx, next)
	}
	return err == nil
}

// takeDueWrites takes at most MaxParallelRequests due requests from the table of events. If there are fewer,
// next is the time of the next one, or zero if that is unknown.
func (r *Recorder) takeDueWrites() (due []*correlate.Write, next time.Time) {
	now := r.executor.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(due) < MaxParallelRequests {
		w, at := r.mu.table.NextWrite(now)
		if w == nil {
			return due, at
		}
		due = append(due, w)
	}
	return due, time.Time{}
}

// sendWrite creates or patches one event at the server, calls RequestDone, and reports the result to the table
// of events. It logs the event if the table drops it after an error.
func (r *Recorder) sendWrite(ctx context.Context, w *correlate.Write) {
	call, cancel := r.executor.WithDeadline(ctx, r.executor.Now().Add(requestTimeout))
	defer cancel()
	var err error
	if w.Create != nil {
		_, err = r.cfg.Events.CreateEvent(call, w.Create)
	} else {
		_, err = r.cfg.Events.PatchEvent(call, w.Namespace, w.Name, w.Patch)
	}
	if err == nil || ctx.Err() == nil {
		r.cfg.RequestDone(err)
	}
	r.mu.Lock()
	dropped := r.mu.table.FinishWrite(w, err, r.executor.Now())
	r.mu.Unlock()
	r.logDropped(dropped, err)
}
