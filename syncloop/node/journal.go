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

// journal records what happens to pods, once for each hook: for Explain in the history, and for
// Config.Hooks.Timeline.
type journal struct {
	config   *Config
	executor executor.Executor
	history  *historyStore
	manager  *podmanager.Store
	workers  *podworkers.Workers
	status   *status.Store
}

// recordSyncerAction records an action of the syncer.
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

// recordBackoff records that a container waits for its next attempt.
func (j *journal) recordBackoff(h podsync.RestartDelay) {
	j.history.setBackoff(h.UID, h.Container, h.Until)
	j.addToTimeline(h.UID, timeline.Record{Kind: timeline.KindBackoff, Container: h.Container, Until: h.Until})
}

// recordProbeAttempt records a check of a probe that has a result.
func (j *journal) recordProbeAttempt(a prober.Attempt) {
	if a.Result == 0 {
		return
	}
	j.addProbeToTimeline(a)
	j.history.recordProbe(a.UID, probeResult{a.ContainerID, explain.Probe{
		Container: a.Container, Kind: strings.ToLower(a.Kind.String()), Success: a.Result != prober.Failed, Message: a.Message, At: j.executor.Now(),
	}})
}

// recordProbeVerdict records a new verdict of a probe.
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

// recordAcceptedStatus records a new status.
func (j *journal) recordAcceptedStatus(uid types.UID, _ uint64) {
	j.history.clearRefusal(uid)
	pod, wanted := j.manager.GetPodByUID(uid)
	j.addStatusToTimeline(uid)
	if !wanted {
		return // recordPhase records how the pod ends.
	}
	j.status.ReadPodStatus(uid, func(status *v1.PodStatus) {
		j.config.Hooks.Status(pod, status)
		looks := v1.Pod{Spec: pod.Spec, Status: *status}
		j.history.recordSummary(uid, pod, string(status.Phase)+", "+Summarize(&looks, false).String(), j.executor.Now())
	})
}

// reasonStatusRefused is the reason of the event that reports a refused status.
const reasonStatusRefused = "StatusRefused"

// recordRefusedStatus records a status that was refused because it cannot follow the one before. It records an event
// once, because only a person can find out what is wrong.
func (j *journal) recordRefusedStatus(uid types.UID, reason error) {
	why := strings.ReplaceAll(plain.Text(reason.Error()), "\n", "; ")
	if !j.history.recordRefusal(uid, why, j.executor.Now()) || j.config.Recorder == nil {
		return
	}
	if pod, wanted := j.manager.GetPodByUID(uid); wanted {
		j.config.Recorder.Event(pod, v1.EventTypeWarning, reasonStatusRefused,
			"The status of the pod stays as it was, since what the runtime shows cannot follow it: "+why+"; remove the pod to let it begin anew")
	}
}

// recordSync records a sync.
func (j *journal) recordSync(s podworkers.Synced) {
	last := explain.Sync{At: j.executor.Now()}
	if s.Err != nil {
		last.Err = s.Err.Error()
		j.addToTimeline(s.UID, timeline.Record{Kind: timeline.KindSync, Name: s.Kind.String(), Took: s.Took, Err: last.Err})
		j.history.addEntry(s.UID, explain.Entry{At: last.At, What: "sync", Text: s.Kind.String(), Err: last.Err})
	}
	j.history.recordSync(s.UID, last)
}

// recordPhase records a new phase of a worker.
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

// addToTimeline calls Config.Hooks.Timeline with a record, if there is such a hook. It is called with no lock held.
// Each recorded pod has a history, so that a housekeeping records when the pod is gone.
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

// addActionToTimeline records an action of the syncer in the timeline. Only some targets are containers.
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

// addProbeToTimeline records one check of a probe in the timeline.
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

// addStatusToTimeline records the newest status of a pod in the timeline. The pod need not be desired.
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

// timelineRecorder is an event recorder that records the events of pods in the timeline, and passes them on.
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

// podUID returns the UID of the pod that an event is about, and false if it is about another object.
func podUID(object k8sruntime.Object) (types.UID, bool) {
	switch o := object.(type) {
	case *v1.ObjectReference:
		return o.UID, o.Kind == "Pod"
	case *v1.Pod:
		return o.UID, true
	}
	return "", false
}
