package syncloop

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/dirty"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// HandlersConfig configures Handlers. Manager, Workers, Status, Runtime and Sources are required.
type HandlersConfig struct {
	// Manager holds the desired pods. Handlers are its only writer, on the goroutine of the loop.
	Manager podmanager.Manager
	// Workers run the pods.
	Workers podworkers.PodWorkers
	// Status has the newest status of each pod: a status.Store.
	Status Statuses
	// Runtime has the pods that the runtime has listed: a pleg.PLEG.
	Runtime pleg.Snapshot
	// Sources reports which sources are complete: a source.Mux.
	Sources Sources
	// Admit is the chain of admission handlers, called in order for each new pod; nil admits all pods.
	// AdmitRule makes a handler from a rule that decides by sums. A node with thousands of pods needs such
	// rules.
	Admit []PodAdmitHandler
	// FromAPIServer reports whether a pod comes from an API server. The owner of such a pod replaces it
	// elsewhere if the node rejects it, so it waits for terminating pods only for their grace period and 30 s.
	// Other pods wait without a limit. It is called on the loop and by Fits, and must not block. nil: no pod
	// does.
	FromAPIServer func(pod *v1.Pod) bool
	// WhenFull decides whether a pod that does not fit is rejected or waits. Zero is Reject.
	WhenFull WhenFull
	// OrphanGrace is how long a pod of an earlier agent keeps running although no source names it. It starts
	// when the pod's source is complete for the first time. During this time no records or files of such pods
	// are discarded. The pod is killed earlier if another pod needs its name or host port. Zero is
	// DefaultOrphanGrace, negative is none.
	OrphanGrace time.Duration
	// TerminalStatus returns the terminal status that an earlier agent has saved for a pod. It is called on
	// the loop when a source adds the pod, and must not block. nil: no status is saved.
	TerminalStatus func(pod *v1.Pod) (v1.PodStatus, bool)
	// DropTerminalStatus drops the saved terminal status of a UID, because a new pod uses the UID of a removed
	// pod. It is called on the loop when the new pod is added, and again when the removed pod has finished and
	// the new one waits or was rejected. It must not block. nil is not called.
	DropTerminalStatus func(uid types.UID)
	// SaveTerminalStatus saves the terminal status of a rejected pod for TerminalStatus of the next agent. It
	// is called on the loop when the status is stored, and after each update of the pod. It is not called for
	// static pods, nor for rejections of a node that is Closed. It must not block or change the pod. nil is
	// not called.
	SaveTerminalStatus func(pod *v1.Pod, status v1.PodStatus)
	// Resizes says how admitted pods get other resources. The zero value resizes none.
	Resizes Resizes
	// Closed reports whether the node starts no new pods. A pod without a worker then gets a worker only for
	// its termination. It is called on the loop and by Fits. nil: the node is never closed.
	Closed func() bool
	// Discard is called in housekeeping with the pods whose records and files are no longer needed. It must
	// not block, and it must check each pod again before it removes anything: gc.Pods.Discard does both. nil
	// removes nothing.
	Discard func(pods []types.UID)
	// Rejected is called on the loop after each rejection, with the reason and the message. It must not block.
	// nil is not called.
	Rejected func(pod *v1.Pod, reason, message string)
	// Recorder receives events; nil drops them.
	Recorder runtime.EventRecorder
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each contained panic, with the name of the call that panicked; nil discards it.
	Panicked func(call string, err error)
}

// Statuses is the part of a status.Store that the loop uses. The methods are called on the loop, by one
// goroutine, and must not block.
type Statuses interface {
	podmanager.PodStatuses
	// PodIsFinished reports whether the pod of the stored status has finished terminating. If the UID is
	// reused, the status belongs to the previous incarnation. A finished pod has no deadline.
	PodIsFinished(uid types.UID) bool
	// RemoveOrphanedStatuses removes the statuses of all pods that are not in keep. It is called in each
	// housekeeping after every source has delivered.
	RemoveOrphanedStatuses(keep map[types.UID]bool)
}

// Sources reports what the sources of pods have delivered: a source.Mux. The methods are called on the loop,
// by one goroutine, and must not block.
type Sources interface {
	// Names returns the names of all sources, as in the annotation of the pods.
	Names() []string
	// Complete reports whether a source has delivered all its pods without a read error. Only then a running
	// pod of this source that is not desired is terminated.
	Complete(source string) bool
	// AllSeen reports whether every source has delivered. Before that no status, record or file of a pod that
	// is not desired is removed.
	AllSeen() bool
}

// Handlers are the standard SyncHandler, with the kubelet's rules for changes of the desired state.
type Handlers struct {
	config *HandlersConfig
	chain  *admitChain
	*podStates
	*orphans
	*unstartedPods
	// changedWorkers are the pods whose workers have reported a change.
	changedWorkers *dirty.Set[struct{}]
	changed        []dirty.Entry[struct{}] // reused by updateAllocationsOfChangedWorkers
	// workersAreReported is true once NotifyWorkerChange was called.
	workersAreReported atomic.Bool

	// Scheduling answers questions of other goroutines.
	*Scheduling
}

// NewHandlers returns Handlers for one Loop.
func NewHandlers(config HandlersConfig) (*Handlers, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	guard := config.wrapFunctionsAgainstPanics()
	chain := newAdmitChain(config.Admit, guard)
	states := newPodStates(&config, guard, chain)
	h := &Handlers{
		config: &config, chain: chain, podStates: states, orphans: &orphans{podStates: states, graces: newGraces(config.OrphanGrace)},
		unstartedPods: &unstartedPods{states},
	}
	h.changedWorkers = dirty.New[struct{}](nil, func() { h.wake() })
	h.Scheduling = &Scheduling{config: &config, chain: chain}
	h.Scheduling.mu.Usage = allocation.NewUsage(chain.rules)
	h.updateUsage() // The table records changes for the usage from now on.
	return h, nil
}

func (c *HandlersConfig) complete() error {
	done := contain.CheckConfig("syncloop: HandlersConfig")
	done.MissingIf(c.Manager == nil, "Manager")
	done.MissingIf(c.Workers == nil, "Workers")
	done.MissingIf(c.Status == nil, "Status")
	done.MissingIf(c.Runtime == nil, "Runtime")
	done.MissingIf(c.Sources == nil, "Sources")
	contain.SetDefault(&c.TerminalStatus, func(*v1.Pod) (v1.PodStatus, bool) { return v1.PodStatus{}, false })
	c.OrphanGrace = cmp.Or(c.OrphanGrace, DefaultOrphanGrace)
	contain.SetDefault(&c.FromAPIServer, func(*v1.Pod) bool { return false })
	contain.SetDefault(&c.DropTerminalStatus, func(types.UID) {})
	contain.SetDefault(&c.SaveTerminalStatus, func(*v1.Pod, v1.PodStatus) {})
	contain.SetDefault(&c.Resizes.Supported, func() bool { return false })
	contain.SetDefault(&c.Resizes.Refuse, func(_, _ *v1.Pod) string { return "" })
	contain.SetDefault(&c.Resizes.Allocated, func(*v1.Pod) (allocation.PodResources, bool) { return allocation.PodResources{}, false })
	contain.SetDefault(&c.Resizes.Save, func(*v1.Pod, allocation.PodResources) {})
	contain.SetDefault(&c.Closed, func() bool { return false })
	c.Clock = cmp.Or[clock.PassiveClock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}

// updateWorker sends an update of the given kind to the worker of a pod. It ignores an update, except a kill,
// for a static pod whose full name another running pod has.
func (h *Handlers) updateWorker(kind podworkers.SyncPodType, pod, mirror *v1.Pod) {
	h.sendToWorkerAndUpdateAllocation(podworkers.UpdatePodOptions{UpdateType: kind, Pod: pod, MirrorPod: mirror})
}

// sendToWorkerAndUpdateAllocation passes an update to the workers and updates the pod's allocation; it logs an
// error unless the workers have stopped. Unless the update is a kill, it also stores the pod as the last spec
// that the worker has. It ignores an update, except a kill, for a static pod whose full name another running
// pod has.
func (h *Handlers) sendToWorkerAndUpdateAllocation(options podworkers.UpdatePodOptions) {
	pod := options.Pod
	if options.UpdateType != podworkers.SyncPodKill && h.isStaticPodNameInUse(pod) {
		h.updatePodAllocation(pod.UID)
		return
	}
	h.ensureRecord(pod.UID).hadWorker = true
	defer h.updatePodAllocation(pod.UID)
	if options.UpdateType != podworkers.SyncPodKill {
		h.updatePodAllocation(pod.UID) // If the UID is terminating, the previous spec terminates.
		h.ensureRecord(pod.UID).lastSpec = pod
	}
	options.StartTime = h.config.Clock.Now()
	err := h.config.Workers.UpdatePod(options)
	if err != nil && !errors.Is(err, podworkers.ErrStopped) {
		h.config.Log.Error("cannot update the worker of a pod", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
	}
}

// isRejectedOrWaiting reports whether a pod was rejected or waits for admission. Such a pod is not synced.
func (s *podStates) isRejectedOrWaiting(uid types.UID) bool {
	return s.isRejected(uid) || s.awaitsAdmission(uid)
}

// isRejected reports whether the pod is Rejected in the allocation table.
func (s *podStates) isRejected(uid types.UID) bool {
	state, _ := s.table.State(uid)
	return state == allocation.Rejected
}

// awaitsAdmission reports whether a pod waits for its admission.
func (s *podStates) awaitsAdmission(uid types.UID) bool { return s.readRecord(uid).waiter != nil }

// HandlePodSyncs implements SyncHandler.
func (h *Handlers) HandlePodSyncs(_ context.Context, pods []*v1.Pod) { h.syncPods(pods, false) }

// HandlePodChanges implements ChangeHandler.
func (h *Handlers) HandlePodChanges(_ context.Context, pods []*v1.Pod) { h.syncPods(pods, true) }

// syncPods sends a sync to the worker of each pod. It skips mirror pods, rejected pods, pods that wait for
// admission, and pods that are to be added again after a panic. observation is true if the runtime has reported
// a change of the pods.
func (h *Handlers) syncPods(pods []*v1.Pod, observation bool) {
	for _, pod := range pods {
		if podmanager.IsMirrorPod(pod) {
			h.config.Log.Error("cannot sync a mirror pod", "pod", podmanager.FullName(pod), "uid", pod.UID)
			continue
		}
		if h.isRejectedOrWaiting(pod.UID) || h.isAdditionRetryPending(pod.UID) {
			continue
		}
		mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
		h.sendToWorkerAndUpdateAllocation(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodSync, Observation: observation, Pod: pod, MirrorPod: mirror})
	}
}

var (
	_ SyncHandler   = (*Handlers)(nil)
	_ ChangeHandler = (*Handlers)(nil)
)
