package podworkerstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// EventKind is the kind of an Event.
type EventKind uint8

const (
	// Updated: the workers were given an update.
	Updated EventKind = iota + 1
	// Refused: they answered with an error.
	Refused
	// Begun: a call of the syncer began.
	Begun
	// Ended: it returned, or panicked.
	Ended
	// Entered: an incarnation entered a phase.
	Entered
	// Housekeeping: the workers were given a whole snapshot of the desired state.
	Housekeeping
	// Forgotten: the workers know nothing of the pod any more.
	Forgotten
	// Crashed: the process was crashed; what follows is another one's.
	Crashed
	// Stopped: the context of Run has ended.
	Stopped
)

// Event is one line of a Trace.
type Event struct {
	At          time.Duration // since the trace began
	What        EventKind
	UID         types.UID              // empty for events of the whole node
	Incarnation uint64                 // Begun, Ended, Entered
	Type        podworkers.SyncPodType // Updated; Begun and Ended of a SyncPod
	Method      lifecycle.Kind         // Begun, Ended
	Grace       lifecycle.Grace        // Begun and Ended of a SyncTerminatingPod; Updated
	Phase       lifecycle.Phase        // Entered
	Version     int64                  // of the content: Updated, Begun, Ended
	FullName    string                 // Updated: of a static pod
	Running     bool                   // Updated: the pod is one that only the runtime shows
	Ends        bool                   // Ended: the pod has come to its own end
	Err         error                  // Ended, Refused
	Desired     []types.UID            // Housekeeping
}

// Trace remembers what happens to pods, in order. It is safe for concurrent
// use; under goroutines the order of lines is that in which they were written.
type Trace struct {
	clock clock.PassiveClock
	start time.Time
	mu    struct {
		sync.Mutex
		events []Event
	}
}

// NewTrace makes an empty trace that begins now. A nil clock is the real one.
func NewTrace(clk clock.PassiveClock) *Trace {
	if clk == nil {
		clk = clock.RealClock{}
	}
	return &Trace{clock: clk, start: clk.Now()}
}

// Add appends an event, now.
func (t *Trace) Add(e Event) {
	e.At = t.clock.Since(t.start)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.events = append(t.mu.events, e)
}

// RecordUpdate writes the line of an update that the workers are about to be given.
func (t *Trace) RecordUpdate(o podworkers.UpdatePodOptions) { t.Add(told(o)) }

// told is the line of an update.
func told(o podworkers.UpdatePodOptions) Event {
	e := Event{What: Updated, Type: o.UpdateType}
	switch {
	case o.Pod != nil:
		e.UID, e.Version = o.Pod.UID, o.Pod.Generation
		if podmanager.IsStaticPod(o.Pod) {
			e.FullName = podmanager.FullName(o.Pod)
		}
	case o.RunningPod != nil:
		e.UID, e.Running = o.RunningPod.UID, true
	}
	if k := o.KillPodOptions; k != nil && k.PodTerminationGracePeriodSecondsOverride != nil {
		e.Grace = lifecycle.Seconds(*k.PodTerminationGracePeriodSecondsOverride)
	}
	return e
}

// Events is a copy of everything so far.
func (t *Trace) Events() []Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Event(nil), t.mu.events...)
}

// Hooks are hooks for podworkers.Config that write phases and ends.
func (t *Trace) Hooks() podworkers.Hooks {
	return podworkers.Hooks{
		Phase: func(uid types.UID, incarnation uint64, phase lifecycle.Phase) {
			t.Add(Event{What: Entered, UID: uid, Incarnation: incarnation, Phase: phase})
		},
		Forgotten: func(uid types.UID) { t.Add(Event{What: Forgotten, UID: uid}) },
	}
}

// WrapSyncer is a syncer that writes every call of s into the trace.
func (t *Trace) WrapSyncer(s podworkers.PodSyncer) podworkers.PodSyncer { return &recorded{t, s} }

// recorded is a PodSyncer between two lines of a trace.
type recorded struct {
	trace *Trace
	next  podworkers.PodSyncer
}

// call writes the lines around f. A panic is written as an error and goes on.
func (r *recorded) call(ctx context.Context, e Event, f func() (bool, error)) (ends bool, err error) {
	e.What, e.Incarnation = Begun, podworkers.IncarnationFrom(ctx)
	r.trace.Add(e)
	e.What, e.Err = Ended, errPanicked
	defer func() { r.trace.Add(e) }()
	ends, err = f()
	e.Ends, e.Err = ends, err
	return ends, err
}

var errPanicked = errors.New("panicked")

func (r *recorded) SyncPod(ctx context.Context, u podworkers.SyncPodType, pod, mirror *v1.Pod, status *runtime.PodStatus) (bool, error) {
	e := Event{UID: pod.UID, Method: lifecycle.SyncPod, Type: u, Version: pod.Generation}
	return r.call(ctx, e, func() (bool, error) { return r.next.SyncPod(ctx, u, pod, mirror, status) })
}

func (r *recorded) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus, grace *int64, statusFunc podworkers.PodStatusFunc) error {
	e := Event{UID: pod.UID, Method: lifecycle.SyncTerminatingPod, Version: pod.Generation}
	if grace != nil {
		e.Grace = lifecycle.Seconds(*grace)
	}
	_, err := r.call(ctx, e, func() (bool, error) { return false, r.next.SyncTerminatingPod(ctx, pod, status, grace, statusFunc) })
	return err
}

func (r *recorded) SyncTerminatingRuntimePod(ctx context.Context, running *runtime.Pod) error {
	e := Event{UID: running.UID, Method: lifecycle.SyncTerminatingRuntimePod}
	_, err := r.call(ctx, e, func() (bool, error) { return false, r.next.SyncTerminatingRuntimePod(ctx, running) })
	return err
}

func (r *recorded) SyncTerminatedPod(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) error {
	e := Event{UID: pod.UID, Method: lifecycle.SyncTerminatedPod, Version: pod.Generation}
	_, err := r.call(ctx, e, func() (bool, error) { return false, r.next.SyncTerminatedPod(ctx, pod, status) })
	return err
}

// String is the trace as a table: when, which pod, what. A call that took no
// time, with nothing in between, is one line; any other is two, the second of
// which says how long it took.
func (t *Trace) String() string { return Format(t.Events()) }

// Format is Trace.String for some of a trace's events.
func Format(events []Event) string {
	rows, wide := rows(events), 0
	for _, r := range rows {
		wide = max(wide, len(r.pod))
	}
	var b strings.Builder
	for _, r := range rows {
		line := fmt.Sprintf("%-8s %-*s  %s", r.at, wide, r.pod, r.text)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

type row struct {
	at        time.Duration
	pod, text string
}

func rows(events []Event) (rows []row) {
	begun := map[types.UID]time.Duration{}
	for i, e := range events {
		r := row{e.At, podColumn(e), e.text()}
		switch {
		case e.What == Begun && !returnsAtOnce(events, i):
			r.text += " ..."
			begun[e.UID] = e.At
		case e.What == Begun:
			continue // The next line says it all.
		case e.What == Ended && !returnsAtOnce(events, i-1):
			r.text = "... " + r.text + fmt.Sprintf(", after %s", e.At-begun[e.UID])
		}
		rows = append(rows, r)
	}
	return rows
}

// returnsAtOnce is true if the call that begins at i ends with the next event.
func returnsAtOnce(events []Event, i int) bool {
	if i < 0 || i+1 >= len(events) {
		return false
	}
	b, e := events[i], events[i+1]
	return b.What == Begun && e.What == Ended && b.UID == e.UID && b.At == e.At
}

// podColumn is the pod, with the number of its life if that is not the first.
func podColumn(e Event) string {
	if e.Incarnation > 1 {
		return fmt.Sprintf("%s#%d", e.UID, e.Incarnation)
	}
	return string(e.UID)
}

func (e Event) text() string {
	switch e.What {
	case Updated:
		return e.told()
	case Refused:
		return fmt.Sprintf("refused: %v", e.Err)
	case Begun:
		return e.call()
	case Ended:
		return e.call() + ": " + e.result()
	case Entered:
		return "is " + e.Phase.String()
	case Housekeeping:
		return fmt.Sprintf("wanted: %v", e.Desired)
	case Forgotten:
		return "is forgotten"
	case Crashed:
		return "crash"
	case Stopped:
		return "stop"
	}
	return "unknown"
}

func (e Event) told() string {
	s := e.Type.String()
	if e.Running {
		s += " what runs"
	}
	if e.Version != 0 {
		s += fmt.Sprintf(" v%d", e.Version)
	}
	if e.Grace.Set {
		s += " within " + e.Grace.String()
	}
	return s
}

func (e Event) call() string {
	s := e.Method.String()
	if e.Method == lifecycle.SyncPod {
		s += " " + e.Type.String()
	}
	if e.Version != 0 {
		s += fmt.Sprintf(" v%d", e.Version)
	}
	if e.Grace.Set {
		s += " within " + e.Grace.String()
	}
	return s
}

func (e Event) result() string {
	switch {
	case e.Err != nil:
		return fmt.Sprint(e.Err)
	case e.Ends:
		return "ok, at its own end"
	}
	return "ok"
}
