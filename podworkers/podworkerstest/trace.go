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
	// Updated: the workers got an update.
	Updated EventKind = iota + 1
	// Refused: the workers returned an error for the update.
	Refused
	// Begun: a call of the syncer began.
	Begun
	// Ended: the call returned, or panicked.
	Ended
	// Entered: an incarnation entered a phase.
	Entered
	// Housekeeping: the workers got a snapshot of the whole desired state.
	Housekeeping
	// Forgotten: the workers have deleted the record of the pod.
	Forgotten
	// Crashed: the process has crashed. Later events belong to another process.
	Crashed
	// Stopped: the context of Run was cancelled.
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
	Running     bool                   // Updated: of a pod that only the runtime shows
	Ends        bool                   // Ended: SyncPod reported that the pod has completed
	Err         error                  // Ended, Refused
	Desired     []types.UID            // Housekeeping
}

// Trace records what happens to pods, in order. It is safe for concurrent use. With goroutines the
// events are in the order in which they were added.
type Trace struct {
	clock clock.PassiveClock
	start time.Time
	mu    struct {
		sync.Mutex
		events []Event
	}
}

// NewTrace returns an empty trace that begins now. A nil clock is the real one.
func NewTrace(clk clock.PassiveClock) *Trace {
	if clk == nil {
		clk = clock.RealClock{}
	}
	return &Trace{clock: clk, start: clk.Now()}
}

// Add appends an event with the present time.
func (t *Trace) Add(e Event) {
	e.At = t.clock.Since(t.start)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.events = append(t.mu.events, e)
}

// RecordUpdate adds the event of an update. Call it before the workers get the update.
func (t *Trace) RecordUpdate(o podworkers.UpdatePodOptions) { t.Add(updateEvent(o)) }

// updateEvent returns the trace event of an update. It has the type and UID and, if they are set, the version,
// the full name of a static pod, and the grace period of a kill.
func updateEvent(o podworkers.UpdatePodOptions) Event {
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
	if k := o.KillPodOptions; k != nil {
		e.Grace = lifecycle.GraceFromAPI(k.PodTerminationGracePeriodSecondsOverride)
	}
	return e
}

// Events returns a copy of all events so far.
func (t *Trace) Events() []Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Event(nil), t.mu.events...)
}

// Hooks returns hooks for podworkers.Config that add events for phases and forgotten pods.
func (t *Trace) Hooks() podworkers.Hooks {
	return podworkers.Hooks{
		Phase: func(uid types.UID, incarnation uint64, phase lifecycle.Phase) {
			t.Add(Event{What: Entered, UID: uid, Incarnation: incarnation, Phase: phase})
		},
		Forgotten: func(uid types.UID) { t.Add(Event{What: Forgotten, UID: uid}) },
	}
}

// WrapSyncer returns a syncer that calls s and adds an event before and after every call.
func (t *Trace) WrapSyncer(s podworkers.PodSyncer) podworkers.PodSyncer { return &tracingSyncer{t, s} }

// tracingSyncer is a PodSyncer that adds its calls to a trace.
type tracingSyncer struct {
	trace *Trace
	next  podworkers.PodSyncer
}

// traceCall calls f, and adds one event to the trace before and one after it. If f panics, the second event has
// the error errPanicked, and the panic continues.
func (r *tracingSyncer) traceCall(ctx context.Context, e Event, f func() (bool, error)) (ends bool, err error) {
	e.What, e.Incarnation = Begun, podworkers.IncarnationFrom(ctx)
	r.trace.Add(e)
	e.What, e.Err = Ended, errPanicked
	defer func() { r.trace.Add(e) }()
	ends, err = f()
	e.Ends, e.Err = ends, err
	return ends, err
}

var errPanicked = errors.New("panicked")

// SyncPod implements podworkers.PodSyncer.
func (r *tracingSyncer) SyncPod(ctx context.Context, u podworkers.SyncPodType, pod, mirror *v1.Pod, status *runtime.PodStatus) (bool, error) {
	e := Event{UID: pod.UID, Method: lifecycle.SyncPod, Type: u, Version: pod.Generation}
	return r.traceCall(ctx, e, func() (bool, error) { return r.next.SyncPod(ctx, u, pod, mirror, status) })
}

// SyncTerminatingPod implements podworkers.PodSyncer.
func (r *tracingSyncer) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus, grace *int64, statusFunc podworkers.PodStatusFunc) error {
	e := Event{UID: pod.UID, Method: lifecycle.SyncTerminatingPod, Version: pod.Generation, Grace: lifecycle.GraceFromAPI(grace)}
	_, err := r.traceCall(ctx, e, func() (bool, error) { return false, r.next.SyncTerminatingPod(ctx, pod, status, grace, statusFunc) })
	return err
}

// SyncTerminatingRuntimePod implements podworkers.PodSyncer.
func (r *tracingSyncer) SyncTerminatingRuntimePod(ctx context.Context, running *runtime.Pod) error {
	e := Event{UID: running.UID, Method: lifecycle.SyncTerminatingRuntimePod}
	_, err := r.traceCall(ctx, e, func() (bool, error) { return false, r.next.SyncTerminatingRuntimePod(ctx, running) })
	return err
}

// SyncTerminatedPod implements podworkers.PodSyncer.
func (r *tracingSyncer) SyncTerminatedPod(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) error {
	e := Event{UID: pod.UID, Method: lifecycle.SyncTerminatedPod, Version: pod.Generation}
	_, err := r.traceCall(ctx, e, func() (bool, error) { return false, r.next.SyncTerminatedPod(ctx, pod, status) })
	return err
}

// String returns the trace as a table with the columns time, pod and event. A call that returned at
// once, with no event in between, is one line. Any other call is two lines, and the second line has
// its duration.
func (t *Trace) String() string { return Format(t.Events()) }

// Format returns a table like Trace.String for some events.
func Format(events []Event) string {
	rows, wide := transcriptRows(events), 0
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

// row is one line of the table.
type row struct {
	at        time.Duration
	pod, text string
}

// transcriptRows returns the rows of the transcript. A call that returns at once has one row, any other call
// has two.
func transcriptRows(events []Event) (rows []row) {
	begun := map[types.UID]time.Duration{}
	for i, e := range events {
		r := row{e.At, podColumn(e), e.describe()}
		switch {
		case e.What == Begun && !returnsAtOnce(events, i):
			r.text += " ..."
			begun[e.UID] = e.At
		case e.What == Begun:
			continue // The next line describes the whole call.
		case e.What == Ended && !returnsAtOnce(events, i-1):
			r.text = "... " + r.text + fmt.Sprintf(", after %s", e.At-begun[e.UID])
		}
		rows = append(rows, r)
	}
	return rows
}

// returnsAtOnce reports whether event i is the begin of a call and the next event is its return at the same
// time.
func returnsAtOnce(events []Event, i int) bool {
	if i < 0 || i+1 >= len(events) {
		return false
	}
	b, e := events[i], events[i+1]
	return b.What == Begun && e.What == Ended && b.UID == e.UID && b.At == e.At
}

// podColumn returns the pod's UID. It appends # and the number of the incarnation if that is above 1, that is,
// if the pod was created again under its UID.
func podColumn(e Event) string {
	if e.Incarnation > 1 {
		return fmt.Sprintf("%s#%d", e.UID, e.Incarnation)
	}
	return string(e.UID)
}

// describe returns the text of the event for the transcript.
func (e Event) describe() string {
	switch e.What {
	case Updated:
		return e.describeUpdate()
	case Refused:
		return fmt.Sprintf("refused: %v", e.Err)
	case Begun:
		return e.describeCall()
	case Ended:
		return e.describeCall() + ": " + e.describeResult()
	case Entered:
		return "is " + e.Phase.String()
	case Housekeeping:
		return fmt.Sprintf("desired: %v", e.Desired)
	case Forgotten:
		return "is forgotten"
	case Crashed:
		return "crash"
	case Stopped:
		return "stop"
	}
	return "unknown"
}

// describeUpdate returns the type of an update, with the version and grace period if they are set. It marks an
// update of a pod that only the runtime shows.
func (e Event) describeUpdate() string {
	s := e.Type.String()
	if e.Running {
		s += " running pod"
	}
	if e.Version != 0 {
		s += fmt.Sprintf(" v%d", e.Version)
	}
	if e.Grace.Set {
		s += " within " + e.Grace.String()
	}
	return s
}

// describeCall returns the method of a call, with its type for SyncPod, and with the version and grace period
// if they are set.
func (e Event) describeCall() string {
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

// describeResult returns the text of a call's result: its error, or "ok", with "completed" if the pod has
// completed.
func (e Event) describeResult() string {
	switch {
	case e.Err != nil:
		return fmt.Sprint(e.Err)
	case e.Ends:
		return "ok, completed"
	}
	return "ok"
}
