package lifecycle

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

var (
	// ErrInvalid is returned for an invalid update. The update changed nothing.
	ErrInvalid = errors.New("lifecycle: invalid update")
	// ErrShutdown is returned when the table has been shut down. The update changed nothing.
	ErrShutdown = errors.New("lifecycle: shut down")
)

// SyncPodType is the reason of an update.
type SyncPodType uint8

// The reasons of an update, in the kubelet's order.
const (
	// SyncPodSync: no change of the desired state. It is the reason of a resync and of a change in
	// the runtime. In Work it is also the reason of a retry, a cleanup and the termination of an
	// orphan.
	SyncPodSync SyncPodType = iota
	// SyncPodUpdate: the content may have changed.
	SyncPodUpdate
	// SyncPodCreate: the pod is new, or was created again under an old UID.
	SyncPodCreate
	// SyncPodKill: the pod must terminate.
	SyncPodKill
)

var syncPodTypeNames = [...]string{
	SyncPodSync:   "sync",
	SyncPodUpdate: "update",
	SyncPodCreate: "create",
	SyncPodKill:   "kill",
}

// String returns the kubelet's name of the reason, "unknown" for any other value.
func (t SyncPodType) String() string { return enumName(syncPodTypeNames[:], int(t)) }

// Subject is the kind of pod that an update is about.
type Subject uint8

const (
	// NoPod is the zero Subject. An update with it is refused.
	NoPod Subject = iota
	// ConfigPod: a pod from a source.
	ConfigPod
	// RuntimePod: a pod that only the runtime shows. It can only be killed.
	RuntimePod
)

// Facts are the properties of a pod that the table needs. The pod itself stays with the caller. The
// table keeps the strings without a copy, so they cost no memory if they are part of the pod.
type Facts struct {
	// FullName is name_namespace. It is fixed by the first update. Only static pods need it.
	FullName string
	// Source is the name of the source that delivered the pod.
	Source string
	// Static pods are exclusive: at most one pod with a full name is started at a time. The first
	// update fixes the value.
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

// KillOptions are the options of a termination. They are read when the pod terminates.
type KillOptions struct {
	// Evict makes the pod's content removable at once. It counts in kills only.
	Evict bool
	// PodStatusFunc is true if the update has a function that changes the final status. The
	// function of the last such update is used.
	PodStatusFunc bool
	// Grace can only shorten the grace period of a pod: the effective one of a pod that terminates
	// already, or else the pod's own. A pod that only the runtime shows has none of its own.
	Grace Grace
}

// Update is one update of one pod.
type Update struct {
	UID     types.UID
	Type    SyncPodType
	Subject Subject
	// Facts are set for a ConfigPod.
	Facts Facts
	Kill  KillOptions
	// Runtime is the state of this UID in the runtime. It matters only for an unknown pod.
	Runtime RuntimeState
	// Observation means that the only reason of the update is a change that the runtime shows. It
	// counts for the Type SyncPodSync only. If the pod's last call failed, the pod is synced after
	// EndBackoff, or after Due of its retry. If a call runs, the pod is synced after Done, unless
	// the call fails.
	Observation bool
	// AsOf, for a RuntimePod, is Table.Generation from before the runtime was observed. A pod that
	// was updated later is not killed.
	AsOf uint64
}

// RuntimeState is the state of a UID in the runtime.
type RuntimeState uint8

const (
	// RuntimeUnknown: the runtime was not asked, or did not answer.
	RuntimeUnknown RuntimeState = iota
	// RuntimeStopped: no container runs and no sandbox is ready. A pod in a terminal phase needs no
	// termination.
	RuntimeStopped
	// RuntimeRunning: a container runs or a sandbox is ready. An earlier process started it. It
	// must be stopped even if the pod terminates before its first sync.
	RuntimeRunning
)

var runtimeStateNames = [...]string{RuntimeUnknown: "unknown", RuntimeStopped: "stopped", RuntimeRunning: "running"}

// String returns the name of the state.
func (s RuntimeState) String() string { return enumName(runtimeStateNames[:], int(s)) }

// Disposition says whether the table keeps the content of an update.
type Disposition uint8

const (
	// Ignored: the content is not kept. The update may have had an effect nevertheless. For
	// example, the kill of a RuntimePod has no content but starts a termination, and a deletion
	// marks a finished pod as deleted.
	Ignored Disposition = iota
	// Current: the content is now the newest content of the pod's incarnation.
	Current
	// Queued: it is the content of the next incarnation. OpPromote makes it current, perhaps in the
	// same call.
	Queued
)

var dispositionNames = [...]string{Ignored: "ignored", Current: "current", Queued: "queued"}

// String returns the disposition's name.
func (d Disposition) String() string { return enumName(dispositionNames[:], int(d)) }

// Accepted is the result of an update. Act on the disposition before the effects.
type Accepted struct {
	Disposition Disposition
	// Ref identifies the pod's record. It is the zero Ref if there is no record.
	Ref Ref
	// Generation of the content; 0 if it was ignored.
	Generation uint64
	// Ticket of a Kill; 0 for an Update.
	Ticket Ticket
}
