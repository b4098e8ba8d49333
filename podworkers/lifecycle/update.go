package lifecycle

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

var (
	// ErrInvalid: the update makes no sense. It has changed nothing.
	ErrInvalid = errors.New("lifecycle: invalid update")
	// ErrShutdown: the table has been shut down. The update changed nothing.
	ErrShutdown = errors.New("lifecycle: shut down")
)

// SyncPodType is the reason of an update.
type SyncPodType uint8

// The reasons of an update, in the kubelet's order.
const (
	// SyncPodSync: it is time to look again.
	SyncPodSync SyncPodType = iota
	// SyncPodUpdate: the content may have changed.
	SyncPodUpdate
	// SyncPodCreate: the pod is new, or new again under an old UID.
	SyncPodCreate
	// SyncPodKill: the pod must end.
	SyncPodKill
)

var syncPodTypeNames = [...]string{
	SyncPodSync:   "sync",
	SyncPodUpdate: "update",
	SyncPodCreate: "create",
	SyncPodKill:   "kill",
}

// String returns the kubelet's name of the reason, "unknown" for any other value.
func (t SyncPodType) String() string { return name(syncPodTypeNames[:], int(t)) }

// Subject says what an update speaks of.
type Subject uint8

const (
	// NoPod is the zero Subject: the update speaks of nothing, and is refused.
	NoPod Subject = iota
	// ConfigPod: a pod from a source.
	ConfigPod
	// RuntimePod: a pod that only the runtime shows. It can only be killed.
	RuntimePod
)

// Facts is what the table has to know about the content of a pod. The content
// itself stays with the caller. The table keeps the strings as they are, so
// that they cost nothing if they are part of the content.
type Facts struct {
	// FullName is name_namespace. It is fixed at first sight. Only static pods
	// need it.
	FullName string
	// Source names the source that the pod comes from.
	Source string
	// Static pods are exclusive: at most one of a full name is started at a
	// time. Fixed at first sight.
	Static bool
	// Deleted: the pod has a deletion timestamp.
	Deleted bool
	// TerminalPhase: the phase of the pod is Failed or Succeeded.
	TerminalPhase bool
	// SpecGrace is the grace period of the spec.
	SpecGrace Grace
	// DeletionGrace is the grace period of the deletion.
	DeletionGrace Grace
}

// KillOptions say how a pod ends. They are read when it terminates.
type KillOptions struct {
	// Evict makes the pod's content removable at once. It counts in kills only.
	Evict bool
	// PodStatusFunc: the update brings a function that changes the final status. The
	// last one brought counts.
	PodStatusFunc bool
	// Grace can only shorten the effective grace.
	Grace Grace
}

// Update is one input about one pod.
type Update struct {
	UID     types.UID
	Type    SyncPodType
	Subject Subject
	// Facts of a ConfigPod.
	Facts Facts
	Kill  KillOptions
	// Runtime is what the runtime shows of this UID. It matters only when a pod is
	// seen for the first time.
	Runtime RuntimeState
	// Observation: the runtime shows a change of the pod, and that is all that the
	// update says. It counts for the Type SyncPodSync only. Where the last work of
	// the pod has failed, Changed decides whether the pod is synced for it.
	Observation bool
	// AsOf, for a RuntimePod, is Table.Generation as it was before the runtime
	// was observed. A pod that was updated later is spared.
	AsOf uint64
}

// RuntimeState is what the runtime shows of a UID.
type RuntimeState uint8

const (
	// RuntimeUnknown: the runtime could not be asked, or was not.
	RuntimeUnknown RuntimeState = iota
	// RuntimeStopped: it shows no running container and no ready sandbox. A pod in a
	// terminal phase has nothing left to stop.
	RuntimeStopped
	// RuntimeRunning: a container runs or a sandbox is ready. Another process started
	// it, and it has to be stopped if the pod ends before its first sync.
	RuntimeRunning
)

var runtimeStateNames = [...]string{RuntimeUnknown: "unknown", RuntimeStopped: "stopped", RuntimeRunning: "running"}

// String returns the name of the state.
func (s RuntimeState) String() string { return name(runtimeStateNames[:], int(s)) }

// Disposition is what became of an update's content.
type Disposition uint8

const (
	// Ignored: the content is not kept. Facts and the ticket may have counted.
	Ignored Disposition = iota
	// Current: it is now the newest content of the pod's incarnation.
	Current
	// Queued: it is the content of the incarnation that follows the present
	// one; a Promote effect, perhaps of the same call, makes it current.
	Queued
)

var dispositionNames = [...]string{Ignored: "ignored", Current: "current", Queued: "queued"}

// String returns the disposition's name.
func (d Disposition) String() string { return name(dispositionNames[:], int(d)) }

// Accepted is the answer to an update. Act on the disposition before the effects.
type Accepted struct {
	Disposition Disposition
	// Ref is the pod's record, the zero Ref if there is none.
	Ref Ref
	// Generation of the content, 0 if it was ignored.
	Generation uint64
	// Ticket of a Kill, 0 for an Update.
	Ticket Ticket
}
