package node

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node/explain"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// journal records the events of pods. Explain reads them from the history, and Config.Hooks.Timeline
// receives them.
type journal struct {
	config   *Config
	executor executor.Executor
	history  *historyStore
	manager  *podmanager.Store
	workers  *podworkers.Workers
	status   *status.Store
}

// recordSyncerAction records an action of the PodSyncer in the history and in the timeline. For the start of a
// container it also stores until when the next start is delayed, or clears that time if the error has none.
func (j *journal) recordSyncerAction(r podsync.Result) {
	j.addActionToTimeline(r)
	e := explain.Entry{At: j.executor.Now(), What: "action", Text: string(r.Action) + " " + r.Target}
	if r.Why != "" {
		e.Text += " (" + r.Why + ")"
	}
	var until time.Time
	if r.Err != nil {
		e.Err = r.Err.Error()
		if wait, ok := contain.AsType[interface{ RetryAt() time.Time }](r.Err); ok {
			until = wait.RetryAt()
		}
	}
	j.history.addEntry(r.UID, e)
	if r.Action == podsync.StartContainer {
		j.history.setBackoff(r.UID, r.Target, until)
	}
}

// recordBackoff records in the history and in the timeline until when a container waits for its next start.
func (j *journal) recordBackoff(h podsync.RestartDelay) {
	j.history.setBackoff(h.UID, h.Container, h.Until)
	j.addToTimeline(h.UID, timeline.Record{Kind: timeline.KindBackoff, Container: h.Container, Until: h.Until})
}

// recordProbeAttempt records the result of one check of a probe in the history and in the timeline. It does
// nothing if the check had no result.
func (j *journal) recordProbeAttempt(a prober.Attempt) {
	if a.Result == 0 {
		return
	}
	j.addProbeToTimeline(a)
	j.history.setProbeResult(a.UID, probeResult{a.ContainerID, explain.Probe{
		Container: a.Container, Kind: strings.ToLower(a.Kind.String()), Success: a.Result != prober.Failed, Message: a.Message, At: j.executor.Now(),
	}})
}

// recordProbeChange adds an event to the history that a probe now succeeds or fails. The caller calls it only
// when the result has changed.
func (j *journal) recordProbeChange(r prober.Result) {
	text := strings.ToLower(r.Kind.String()) + " probe of " + r.Container + " fails"
	if r.Success {
		text = strings.TrimSuffix(text, "fails") + "succeeds"
	}
	if r.Message != "" {
		text += ": " + r.Message
	}
	j.history.addEntry(r.UID, explain.Entry{At: j.executor.Now(), What: "probe", Text: text})
}

// addAcceptedStatusAndCallHook adds the new status of a pod to the timeline, and clears the stored reason of an
// earlier rejected status. If the pod is desired, it also calls Hooks.Status and stores the summary of the
// status in the history.
func (j *journal) addAcceptedStatusAndCallHook(uid types.UID, _ uint64) {
	j.history.clearRefusal(uid)
	pod, wanted := j.manager.GetPodByUID(uid)
	j.addStatusToTimeline(uid)
	if !wanted {
		return // recordPhaseAndClearFinished records the termination.
	}
	j.status.ReadPodStatus(uid, func(status *v1.PodStatus) {
		j.config.Hooks.Status(pod, status)
		looks := v1.Pod{Spec: pod.Spec, Status: *status}
		j.history.setPodAndAddSummaryIfNew(uid, pod, string(status.Phase)+", "+Summarize(&looks, false).String(), j.executor.Now())
	})
}

// reasonStatusRefused is the reason of the event for a rejected status.
const reasonStatusRefused = "StatusRefused"

// storeRefusedStatusAndWarnIfNew stores why the status store rejected a status, which contradicts the status
// before. If the reason is new and the pod is desired, it also records a warning event, because only a person
// can find the cause.
func (j *journal) storeRefusedStatusAndWarnIfNew(uid types.UID, reason error) {
	why := strings.ReplaceAll(plain.Text(reason.Error()), "\n", "; ")
	if !j.history.setRefusalAndAddIfNew(uid, why, j.executor.Now()) || j.config.Recorder == nil {
		return
	}
	if pod, wanted := j.manager.GetPodByUID(uid); wanted {
		j.config.Recorder.Event(pod, v1.EventTypeWarning, reasonStatusRefused,
			"The status of the pod stays as it was, since the state in the runtime cannot follow it: "+why+"; delete the pod so that it can start again")
	}
}

// storeLastSyncAndRecordFailure stores the time and the error of the last sync in the history. If the sync
// failed, it also adds an event to the history and to the timeline.
func (j *journal) storeLastSyncAndRecordFailure(s podworkers.Synced) {
	last := explain.Sync{At: j.executor.Now()}
	if s.Err != nil {
		last.Err = s.Err.Error()
		j.addToTimeline(s.UID, timeline.Record{Kind: timeline.KindSync, Name: s.Kind.String(), Took: s.Took, Err: last.Err})
		j.history.addEntry(s.UID, explain.Entry{At: last.At, What: "sync", Text: s.Kind.String(), Err: last.Err})
	}
	j.history.setLastSync(s.UID, last)
}

// recordPhaseAndClearFinished adds the new phase of a pod's worker to the history and to the timeline. For the
// phase Finished it first clears the back-offs, probe results and last sync of the finished pod. For the phase
// Terminating it also adds the newest status to the timeline.
func (j *journal) recordPhaseAndClearFinished(uid types.UID, phase lifecycle.Phase) {
	if phase == lifecycle.Finished {
		j.history.clearAfterPodFinished(uid)
	}
	j.history.addEntry(uid, explain.Entry{At: j.executor.Now(), What: "phase", Text: phase.String()})
	j.addToTimeline(uid, timeline.Record{Kind: timeline.KindPhase, Name: phase.String()})
	if phase == lifecycle.Terminating {
		j.addStatusToTimeline(uid)
	}
}

// addToTimeline calls Config.Hooks.Timeline with a record and the present time; without that hook it does
// nothing. Except for the removal of a pod, it also creates a history for the pod, so that a later housekeeping
// can record its removal. The caller must hold no lock.
func (j *journal) addToTimeline(uid types.UID, r timeline.Record) {
	if j.config.Hooks.Timeline == nil {
		return
	}
	if r.Kind != timeline.KindGone {
		j.history.createHistoryIfMissing(uid)
	}
	r.At = j.executor.Now()
	j.config.Hooks.Timeline(uid, r)
}

// addActionToTimeline adds an action of the PodSyncer to the timeline, if there is a timeline hook. Only the
// start, kill and hooks of a container name the container.
func (j *journal) addActionToTimeline(r podsync.Result) {
	if j.config.Hooks.Timeline == nil {
		return
	}
	rec := timeline.Record{Kind: timeline.KindAction, Name: string(r.Action), Took: r.Took, Text: r.Why}
	switch r.Action {
	case podsync.StartContainer, podsync.KillContainer, podsync.RunPostStartHook, podsync.RunPreStopHook:
		rec.Container = r.Target
	}
	if r.Err != nil {
		rec.Err = r.Err.Error()
	}
	j.addToTimeline(r.UID, rec)
}

// addProbeToTimeline adds one check of a probe to the timeline, if there is a timeline hook.
func (j *journal) addProbeToTimeline(a prober.Attempt) {
	if j.config.Hooks.Timeline == nil {
		return
	}
	rec := timeline.Record{Kind: timeline.KindProbe, Container: a.Container, Name: strings.ToLower(a.Kind.String()), Took: a.Took}
	if a.Result == prober.Failed {
		rec.Err = a.Message
		if rec.Err == "" {
			rec.Err = "the check failed"
		}
	} else {
		rec.Text = a.Message
	}
	j.addToTimeline(a.UID, rec)
}

// addStatusToTimeline adds the newest status of a pod to the timeline, if there is a timeline hook. For a pod
// that is no longer desired it uses the last desired spec. It does nothing if the pod has no status or no known
// spec.
func (j *journal) addStatusToTimeline(uid types.UID) {
	if j.config.Hooks.Timeline == nil {
		return
	}
	pod, wanted := j.manager.GetPodByUID(uid)
	if !wanted {
		pod = j.history.lastPod(uid)
	}
	if pod == nil {
		return
	}
	terminating := !wanted || j.workers.View(uid).IsPodTerminationRequested()
	var looks *timeline.Status
	j.status.ReadPodStatus(uid, func(status *v1.PodStatus) {
		shown := v1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec, Status: *status}
		looks = timeline.StatusOf(&shown, Summarize(&shown, terminating).String())
	})
	if looks != nil {
		j.addToTimeline(uid, timeline.Record{Kind: timeline.KindStatus, Status: looks})
	}
}

// timelineRecorder is an event recorder that adds the events of pods to the timeline and passes all
// events on.
type timelineRecorder struct {
	j    *journal
	next runtime.EventRecorder // nil: there is none
}

// Event implements runtime.EventRecorder. It adds an event about a pod to the timeline, and passes every event
// to the next recorder.
func (a timelineRecorder) Event(object k8sruntime.Object, eventtype, reason, message string) {
	if uid, ok := podUID(object); ok {
		a.j.addToTimeline(uid, timeline.Record{Kind: timeline.KindEvent, Name: reason, Text: message, Warning: eventtype == v1.EventTypeWarning})
	}
	if a.next != nil {
		a.next.Event(object, eventtype, reason, message)
	}
}

// Eventf implements runtime.EventRecorder. It formats the message and then calls Event.
func (a timelineRecorder) Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	a.Event(object, eventtype, reason, plain.Sentence(messageFmt, args...))
}

// podUID returns the UID of the object of an event, and true if the object is a pod. The bool is false for any
// other object.
func podUID(object k8sruntime.Object) (types.UID, bool) {
	switch o := object.(type) {
	case *v1.ObjectReference:
		return o.UID, o.Kind == "Pod"
	case *v1.Pod:
		return o.UID, true
	}
	return "", false
}
