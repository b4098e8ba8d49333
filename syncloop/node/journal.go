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

// recordResult follows every action of the syncer.
func (j *journal) recordResult(r podsync.Result) {
	j.recordAction(r)
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
	j.history.add(r.UID, e)
	if r.Action == podsync.StartContainer {
		j.history.hold(r.UID, r.Target, until)
	}
}

// recordHold follows every container that waits.
func (j *journal) recordHold(h podsync.Hold) {
	j.history.hold(h.UID, h.Container, h.Until)
	j.record(h.UID, timeline.Record{Kind: timeline.KindBackoff, Container: h.Container, Until: h.Until})
}

// recordAttempt follows every check of a probe that has an answer.
func (j *journal) recordAttempt(a prober.Attempt) {
	if a.Result == 0 {
		return
	}
	j.recordProbe(a)
	j.history.probed(a.UID, probed{a.ContainerID, explain.Probe{
		Container: a.Container, Kind: strings.ToLower(a.Kind.String()), Success: a.Result != prober.Failed, Message: a.Message, At: j.executor.Now(),
	}})
}

// recordVerdict follows every verdict of a probe.
func (j *journal) recordVerdict(r prober.Result) {
	text := strings.ToLower(r.Kind.String()) + " probe of " + r.Container + " fails"
	if r.Success {
		text = strings.TrimSuffix(text, "fails") + "succeeds"
	}
	if r.Message != "" {
		text += ": " + r.Message
	}
	j.history.add(r.UID, explain.Entry{At: j.executor.Now(), What: "probe", Text: text})
}

// recordAccepted follows every new status. The first says when the pod has started.
func (j *journal) recordAccepted(uid types.UID, _ uint64) {
	j.history.agrees(uid)
	pod, wanted := j.manager.GetPodByUID(uid)
	j.recordStatus(uid)
	if !wanted {
		return // How it ends is told by its worker.
	}
	j.status.ReadPodStatus(uid, func(status *v1.PodStatus) {
		j.config.Hooks.Status(pod, status)
		looks := v1.Pod{Spec: pod.Spec, Status: *status}
		j.history.looks(uid, pod, string(status.Phase)+", "+Summarize(&looks, false).String(), j.executor.Now())
	})
}

// reasonRefused is that of the event which says that a status is not what the
// runtime shows.
const reasonRefused = "StatusRefused"

// recordRefused follows every status that cannot be true after the one before.
// Nobody but people can tell what is wrong, so they are told, once.
func (j *journal) recordRefused(uid types.UID, reason error) {
	why := strings.ReplaceAll(plain.Text(reason.Error()), "\n", "; ")
	if !j.history.refuses(uid, why, j.executor.Now()) || j.config.Recorder == nil {
		return
	}
	if pod, wanted := j.manager.GetPodByUID(uid); wanted {
		j.config.Recorder.Event(pod, v1.EventTypeWarning, reasonRefused,
			"The status of the pod stays as it was, since what the runtime shows cannot follow it: "+why+"; remove the pod to let it begin anew")
	}
}

// recordSynced follows every sync.
func (j *journal) recordSynced(s podworkers.Synced) {
	last := explain.Sync{At: j.executor.Now()}
	if s.Err != nil {
		last.Err = s.Err.Error()
		j.record(s.UID, timeline.Record{Kind: timeline.KindSync, Name: s.Kind.String(), Took: s.Took, Err: last.Err})
		j.history.add(s.UID, explain.Entry{At: last.At, What: "sync", Text: s.Kind.String(), Err: last.Err})
	}
	j.history.synced(s.UID, last)
}

// recordPhase follows every phase of a worker.
func (j *journal) recordPhase(uid types.UID, phase lifecycle.Phase) {
	if phase == lifecycle.Finished {
		j.history.over(uid)
	}
	j.history.add(uid, explain.Entry{At: j.executor.Now(), What: "phase", Text: phase.String()})
	j.record(uid, timeline.Record{Kind: timeline.KindPhase, Name: phase.String()})
	if phase == lifecycle.Terminating {
		j.recordStatus(uid)
	}
}

// record hands a record to Config.Hooks.Timeline, if there is one. It is called with no lock held. Each
// pod of which something was recorded has a history, so that a housekeeping tells when it is gone.
func (j *journal) record(uid types.UID, r timeline.Record) {
	if j.config.Hooks.Timeline == nil {
		return
	}
	if r.Kind != timeline.KindGone {
		j.history.begin(uid)
	}
	r.At = j.executor.Now()
	j.config.Hooks.Timeline(uid, r)
}

// recordAction records what the syncer did. Only some targets are containers.
func (j *journal) recordAction(r podsync.Result) {
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
	j.record(r.UID, rec)
}

// recordProbe records one check of a probe.
func (j *journal) recordProbe(a prober.Attempt) {
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
	j.record(a.UID, rec)
}

// recordStatus records the newest status of a pod, which may be no longer desired.
func (j *journal) recordStatus(uid types.UID) {
	if j.config.Hooks.Timeline == nil {
		return
	}
	pod, wanted := j.manager.GetPodByUID(uid)
	if !wanted {
		pod = j.history.pod(uid)
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
		j.record(uid, timeline.Record{Kind: timeline.KindStatus, Status: looks})
	}
}

// announced is an event recorder that records the events of pods, and passes them on.
type announced struct {
	j    *journal
	next runtime.EventRecorder // nil: there is none
}

// Event implements runtime.EventRecorder.
func (a announced) Event(object k8sruntime.Object, eventtype, reason, message string) {
	if uid, ok := podOf(object); ok {
		a.j.record(uid, timeline.Record{Kind: timeline.KindEvent, Name: reason, Text: message, Warning: eventtype == v1.EventTypeWarning})
	}
	if a.next != nil {
		a.next.Event(object, eventtype, reason, message)
	}
}

// Eventf implements runtime.EventRecorder. The message is made here, as it is recorded too.
func (a announced) Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	a.Event(object, eventtype, reason, plain.Sentence(messageFmt, args...))
}

// podOf is the pod that an event is about, if it is one.
func podOf(object k8sruntime.Object) (types.UID, bool) {
	switch o := object.(type) {
	case *v1.ObjectReference:
		return o.UID, o.Kind == "Pod"
	case *v1.Pod:
		return o.UID, true
	}
	return "", false
}
