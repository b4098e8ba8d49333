package node

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/eviction/evictor"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// Hooks are the hooks of a node and of its parts. The node calls each hook after it has handled the
// event itself. Nil hooks are not called. The node calls Workers.Panicked for each contained panic of
// code in the Config, and Loop.Panicked for a panic of a Loop hook. It does not call the hooks named
// Panicked of other parts; see the package comment.
type Hooks struct {
	// Workers, Sources and so on are the hooks of the parts of these names.
	Workers  podworkers.Hooks
	Sources  source.Hooks
	Statuses status.Hooks
	Sender   status.SenderHooks
	PLEG     pleg.Hooks
	Prober   prober.Hooks
	Syncer   podsync.Hooks
	Images   images.Hooks
	Loop     syncloop.Hooks
	Evictor  evictor.Hooks
	// Status is called for each accepted status of a desired pod. It must not modify the pod or the
	// status, and may store them. It is called concurrently, but in order for one pod.
	Status func(pod *v1.Pod, status *v1.PodStatus)
	// Rejected is called on the loop for each pod that admission has rejected.
	Rejected func(pod *v1.Pod, reason, message string)
	// Timeline is called for each event of a pod, so that a timeline can be drawn.
	// recorder.Recorder.Record can be used. Any goroutine calls it, concurrently, and it must not
	// block. Nil: the node records no timeline.
	Timeline func(uid types.UID, r timeline.Record)
}

// containStatusHookPanics wraps the hook Status so that its panic does not stop the node.
func (h *Hooks) containStatusHookPanics(g *contain.Guard) {
	h.Status = contain.Hook2(g, "Hooks.Status", h.Status)
}

// chainHooks returns a hook that calls both hooks in order. If one hook is nil, it returns the other hook
// unchanged. If both are nil, it returns nil.
func chainHooks[A any](first, second func(A)) func(A) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(a A) { first(a); second(a) }
}

// chainHooks2 returns a hook with two arguments that calls both hooks in order. If second is nil, it returns
// first. first must not be nil.
func chainHooks2[A, B any](first, second func(A, B)) func(A, B) {
	if second == nil {
		return first
	}
	return func(a A, b B) { first(a, b); second(a, b) }
}

// evictorHooks returns the Config's hooks for the evictor. Before the hook Acting it records an event of the node.
func (h Hooks) evictorHooks(n *Node) evictor.Hooks {
	h.Evictor.Acting = chainHooks(n.recordThresholdMet, h.Evictor.Acting)
	return h.Evictor
}

// sourceHooks returns the Config's hooks for the pod sources, with a hook that reports panics to the guard.
func (h Hooks) sourceHooks(n *Node) source.Hooks {
	h.Sources.Panicked = n.guard.RecordPanic
	return h.Sources
}

// statusHooks returns the hooks for the status store. Each of them first updates the deadlines or the history
// of the node, and then calls the hook of the Config. Panics are reported to the guard.
func (h Hooks) statusHooks(n *Node) status.Hooks {
	return status.Hooks{
		Accepted:  chainHooks2(n.requestDeadlineUpdateAndRecordStatus, h.Statuses.Accepted),
		Unchanged: chainHooks(func(uid types.UID) { n.journal.history.clearRefusal(uid) }, h.Statuses.Unchanged),
		Refused:   chainHooks2(n.journal.storeRefusedStatusAndWarnIfNew, h.Statuses.Refused),
		Panicked:  n.guard.RecordPanic,
	}
}

// senderHooks returns the Config's hooks for the status sender, with a hook that reports panics to the guard.
func (h Hooks) senderHooks(n *Node) status.SenderHooks {
	h.Sender.Panicked = n.guard.RecordPanic
	return h.Sender
}

// plegHooks returns the hooks for the PLEG. After a relist or an inspection they first call the node's own
// function and then the hook of the Config. Panics are reported to the guard.
func (h Hooks) plegHooks(n *Node) pleg.Hooks {
	return pleg.Hooks{
		Relisted: chainHooks(n.recordRelistAndRequestHousekeeping, h.PLEG.Relisted), Inspected: chainHooks(n.passInspectionToWorkerSyncerAndRotator, h.PLEG.Inspected),
		StreamEnded: h.PLEG.StreamEnded, Panicked: n.guard.RecordPanic,
	}
}

// proberHooks returns the hooks for the prober. Each check of a probe is recorded in the journal before the
// hook of the Config is called. Panics are reported to the guard.
func (h Hooks) proberHooks(n *Node) prober.Hooks {
	return prober.Hooks{Probed: chainHooks(n.journal.recordProbeAttempt, h.Prober.Probed), Resumed: h.Prober.Resumed, Panicked: n.guard.RecordPanic}
}

// syncerHooks returns the hooks for the PodSyncer. Each action and back-off is recorded in the journal before
// the hook of the Config is called. Panics are reported to the guard.
func (h Hooks) syncerHooks(n *Node) podsync.Hooks {
	return podsync.Hooks{
		ActionDone: chainHooks(n.journal.recordSyncerAction, h.Syncer.ActionDone), RestartDelayed: chainHooks(n.journal.recordBackoff, h.Syncer.RestartDelayed),
		ImagePulled: h.Syncer.ImagePulled, OOMKilled: h.Syncer.OOMKilled, Panicked: n.guard.RecordPanic,
	}
}

// imageHooks returns the hooks for the image manager. After each pull they make the garbage collector of images
// check the disk usage again, and then call the hook of the Config. Panics are reported to the guard.
func (h Hooks) imageHooks(n *Node) images.Hooks {
	return images.Hooks{Pulled: chainHooks(func(images.Pull) { n.imageCollector.Changed() }, h.Images.Pulled), Panicked: n.guard.RecordPanic}
}

// loopHooks returns the hooks for the sync loop. After each housekeeping they call the node's
// cleanUpAfterHousekeeping and then the hook of the Config.
func (h Hooks) loopHooks(n *Node) syncloop.Hooks {
	return syncloop.Hooks{Cleanup: chainHooks2(n.cleanUpAfterHousekeeping, h.Loop.Cleanup), Panicked: h.Loop.Panicked}
}
