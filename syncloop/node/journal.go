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

// recordSyncerAction records an action of the PodSyncer in the history and in the timeline.
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

// recordBackoff records until when a container waits for its next attempt.
func (j *journal) recordBackoff(h podsync.RestartDelay) {
	j.history.setBackoff(h.UID, h.Container, h.Until)
	j.addToTimeline(h.UID, timeline.Record{Kind: timeline.KindBackoff, Container: h.Container, Until: h.Until})
}

// recordProbeAttempt records a check of a probe, unless the check had no result.
func (j *journal) recordProbeAttempt(a prober.Attempt) {
	if a.Result == 0 {
		return
	}
	j.addProbeToTimeline(a)
	j.history.recordProbe(a.UID, probeResult{a.ContainerID, explain.Probe{
		Container: a.Container, Kind: strings.ToLower(a.Kind.String()), Success: a.Result != prober.Failed, Message: a.Message, At: j.executor.Now(),
	}})
}

// recordProbeVerdict records in the history that a probe has changed between success and failure.
func (j *journal) recordProbeVerdict(r prober.Result) {
	text := strings.ToLower(r.Kind.String()) + " probe of " + r.Container + " fails"
	if r.Success {
		text = strings.TrimSuffix(text, "fails") + "succeeds"
	}
	if r.Message != "" {
		text += ": " + r.Message
	}
	j.history.addEntry(r.UID, explain.Entry{At: j.executor.Now(), What: "probe", Text: text})
}

// recordAcceptedStatus records a new status of a pod.
func (j *journal) recordAcceptedStatus(uid types.UID, _ uint64) {
	j.history.clearRefusal(uid)
	pod, wanted := j.manager.GetPodByUID(uid)
	j.addStatusToTimeline(uid)
	if !wanted {
		return // recordPhase records the termination.
	}
	j.status.ReadPodStatus(uid, func(status *v1.PodStatus) {
		j.config.Hooks.Status(pod, status)
		looks := v1.Pod{Spec: pod.Spec, Status: *status}
		j.history.recordSummary(uid, pod, string(status.Phase)+", "+Summarize(&looks, false).String(), j.executor.Now())
	})
}

// reasonStatusRefused is the reason of the event for a rejected status.
const reasonStatusRefused = "StatusRefused"

// recordRefusedStatus records a status that the status store rejected because it contradicts the status
// before. It records one event for each reason, because only a person can find the cause.
func (j *journal) recordRefusedStatus(uid types.UID, reason error) {
	why := strings.ReplaceAll(plain.Text(reason.Error()), "\n", "; ")
	if !j.history.recordRefusal(uid, why, j.executor.Now()) || j.config.Recorder == nil {
		return
	}
	if pod, wanted := j.manager.GetPodByUID(uid); wanted {
		j.config.Recorder.Event(pod, v1.EventTypeWarning, reasonStatusRefused,
			"The status of the pod stays as it was, since the state in the runtime cannot follow it: "+why+"; delete the pod so that it can start again")
	}
}

// recordSync records the result of a sync.
func (j *journal) recordSync(s podworkers.Synced) {
	last := explain.Sync{At: j.executor.Now()}
	if s.Err != nil {
		last.Err = s.Err.Error()
		j.addToTimeline(s.UID, timeline.Record{Kind: timeline.KindSync, Name: s.Kind.String(), Took: s.Took, Err: last.Err})
		j.history.addEntry(s.UID, explain.Entry{At: last.At, What: "sync", Text: s.Kind.String(), Err: last.Err})
	}
	j.history.recordSync(s.UID, last)
}

// recordPhase records that the worker of a pod has entered a phase.
func (j *journal) recordPhase(uid types.UID, phase lifecycle.Phase) {
	if phase == lifecycle.Finished {
		j.history.resetForNextIncarnation(uid)
	}
	j.history.addEntry(uid, explain.Entry{At: j.executor.Now(), What: "phase", Text: phase.String()})
	j.addToTimeline(uid, timeline.Record{Kind: timeline.KindPhase, Name: phase.String()})
	if phase == lifecycle.Terminating {
		j.addStatusToTimeline(uid)
	}
}

// addToTimeline calls Config.Hooks.Timeline with a record, if the hook is set. Call it without a lock.
// It makes a history for the pod, so that a later housekeeping records the removal of the pod.
func (j *journal) addToTimeline(uid types.UID, r timeline.Record) {
	if j.config.Hooks.Timeline == nil {
		return
	}
	if r.Kind != timeline.KindGone {
		j.history.ensureHistory(uid)
	}
	r.At = j.executor.Now()
	j.config.Hooks.Timeline(uid, r)
}

// addActionToTimeline adds an action of the PodSyncer to the timeline. The target of only some actions
// is a container.
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

// addProbeToTimeline adds one check of a probe to the timeline.
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

// addStatusToTimeline adds the newest status of a pod to the timeline. It also does so for a pod that
// is no longer desired.
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

// Event implements runtime.EventRecorder.
func (a timelineRecorder) Event(object k8sruntime.Object, eventtype, reason, message string) {
	if uid, ok := podUID(object); ok {
		a.j.addToTimeline(uid, timeline.Record{Kind: timeline.KindEvent, Name: reason, Text: message, Warning: eventtype == v1.EventTypeWarning})
	}
	if a.next != nil {
		a.next.Event(object, eventtype, reason, message)
	}
}

// Eventf implements runtime.EventRecorder.
func (a timelineRecorder) Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	a.Event(object, eventtype, reason, plain.Sentence(messageFmt, args...))
}

// podUID returns the UID of the pod that an event is about, and false if the event is about another
// object.
func podUID(object k8sruntime.Object) (types.UID, bool) {
	switch o := object.(type) {
	case *v1.ObjectReference:
		return o.UID, o.Kind == "Pod"
	case *v1.Pod:
		return o.UID, true
	}
	return "", false
}
