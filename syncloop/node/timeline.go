package node

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// record hands a record to Config.Hooks.Timeline, if there is one. It is called with no lock held. Each
// pod of which something was recorded has a history, so that a housekeeping tells when it is gone.
func (n *Node) record(uid types.UID, r timeline.Record) {
	if n.config.Hooks.Timeline == nil {
		return
	}
	if r.Kind != timeline.KindGone {
		n.historyStore.begin(uid)
	}
	r.At = n.executor.Now()
	n.config.Hooks.Timeline(uid, r)
}

// recordAction records what the syncer did. Only some targets are containers.
func (n *Node) recordAction(r podsync.Result) {
	if n.config.Hooks.Timeline == nil {
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
	n.record(r.UID, rec)
}

// recordProbe records one check of a probe.
func (n *Node) recordProbe(a prober.Attempt) {
	if n.config.Hooks.Timeline == nil {
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
	n.record(a.UID, rec)
}

// recordStatus records the newest status of a pod, which may be no longer desired.
func (n *Node) recordStatus(uid types.UID) {
	if n.config.Hooks.Timeline == nil {
		return
	}
	pod, wanted := n.manager.GetPodByUID(uid)
	if !wanted {
		pod = n.historyStore.pod(uid)
	}
	if pod == nil {
		return
	}
	terminating := !wanted || n.workers.View(uid).IsPodTerminationRequested()
	var looks *timeline.Status
	n.status.ReadPodStatus(uid, func(status *v1.PodStatus) {
		shown := v1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec, Status: *status}
		looks = timeline.StatusOf(&shown, Summarize(&shown, terminating).String())
	})
	if looks != nil {
		n.record(uid, timeline.Record{Kind: timeline.KindStatus, Status: looks})
	}
}

// announced is an event recorder that records the events of pods, and passes them on.
type announced struct {
	n    *Node
	next runtime.EventRecorder // nil: there is none
}

// Event implements runtime.EventRecorder.
func (a announced) Event(object k8sruntime.Object, eventtype, reason, message string) {
	if uid, ok := podOf(object); ok {
		a.n.record(uid, timeline.Record{Kind: timeline.KindEvent, Name: reason, Text: message, Warning: eventtype == v1.EventTypeWarning})
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
