package syncloop

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
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

// HandlersConfig is what Handlers need. Manager, Workers, Status, Runtime and
// Sources are required.
type HandlersConfig struct {
	// Manager holds the desired pods. Handlers are its only writer, on the loop.
	Manager podmanager.Manager
	// Workers run the pods.
	Workers podworkers.PodWorkers
	// Status has the newest status of each pod: a status.Store.
	Status Statuses
	// Runtime shows what runs: a pleg.PLEG.
	Runtime pleg.Snapshot
	// Sources says which sources are complete: a source.Mux.
	Sources Sources
	// Admit is asked in order for every new pod; nil admits all. AdmitRule makes a handler of a rule
	// that decides by sums, which is what a node with thousands of pods needs.
	Admit []PodAdmitHandler
	// FromAPIServer says whether a pod is an API server's, which has another one made
	// elsewhere if this one is rejected. Such a pod waits for others to end for their
	// grace and 30 s more; any other waits for as long as it takes. It is called on
	// the loop, and by Fits, and must not block. nil: no pod is.
	FromAPIServer func(pod *v1.Pod) bool
	// WhenFull says what becomes of a pod that does not fit beside the pods that the node
	// has. Zero is Reject.
	WhenFull WhenFull
	// OrphanGrace is how long a pod is left alone that an agent before this one has
	// started and that no source names, from the moment when its source is complete
	// for the first time; so long nothing that such an agent has left is discarded
	// either. It ends early if another pod needs the pod's name or a host port. Zero
	// is DefaultOrphanGrace, negative is none.
	OrphanGrace time.Duration
	// TerminalStatus returns how a pod had ended under an agent before this one, as far as
	// that is not in the pod. It is called on the loop when a source has begun to
	// want the pod, and must not block. nil: nothing is known.
	TerminalStatus func(pod *v1.Pod) (v1.PodStatus, bool)
	// DropTerminalStatus is called on the loop when a pod comes under the UID of a pod that its source
	// has removed, and again when the former pod is finished and the new one waits or was
	// refused: how the former pod ended does not count for the new one, also not after a
	// restart. It must not block. nil: it is not called.
	DropTerminalStatus func(uid types.UID)
	// SaveTerminalStatus is called on the loop when a pod that is not static was refused and its terminal
	// status is stored, and again after each update of such a pod: TerminalStatus of the next agent returns
	// that status. It is not called for the refusals of a node that is Closed. It must not block
	// and must not change the pod. nil: it is not called.
	SaveTerminalStatus func(pod *v1.Pod, status v1.PodStatus)
	// Closed reports whether the node takes no new pods: a pod without a worker gets one only to be
	// terminated. It is called on the loop, and by Fits. nil: the node is never closed.
	Closed func() bool
	// Discard is called with the pods whose records and files are no longer needed, at each housekeeping
	// that finds some. It must not block, and the remover checks again right before it removes
	// something; gc.Pods.Discard does both. nil keeps everything.
	Discard func(pods []types.UID)
	// Rejected is called on the loop after each rejection of a pod, with the reason and the
	// message. It must not block. nil: it is not called.
	Rejected func(pod *v1.Pod, reason, message string)
	// Recorder receives events; nil drops them.
	Recorder runtime.EventRecorder
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each contained panic, with the name of the call that
	// panicked; nil discards it.
	Panicked func(call string, err error)
}

// Statuses is the part of a status.Store that the loop uses. The methods are called on the
// loop, by one goroutine, and must not block.
type Statuses interface {
	podmanager.PodStatuses
	// PodIsFinished reports whether the termination of the pod of the stored status is complete. If the
	// UID is used again, the status belongs to the previous incarnation. Such a pod has no deadline.
	PodIsFinished(uid types.UID) bool
	// RemoveOrphanedStatuses drops the statuses of all pods that are not in keep. It is
	// called at each housekeeping, once every source has delivered.
	RemoveOrphanedStatuses(keep map[types.UID]bool)
}

// Sources says what the sources of pods have delivered: a source.Mux. The methods are
// called on the loop, by one goroutine, and must not block.
type Sources interface {
	// Names are the names of all sources, as in the pods' annotation.
	Names() []string
	// Complete reports whether a source has delivered all its pods and could read all
	// of them: a pod of that source that is not desired is ended then.
	Complete(source string) bool
	// AllSeen reports whether every source has delivered. Before that nothing of pods
	// that are not desired is removed.
	AllSeen() bool
}

// Handlers are the standard SyncHandler: the kubelet's rules for what a change
// of the desired state means.
type Handlers struct {
	config *HandlersConfig
	chain  *admitChain
	*podStates
	*orphans
	*unstartedPods
	// changedWorkers are the pods whose workers have reported a change.
	changedWorkers *dirty.Set[struct{}]
	changed        []dirty.Entry[struct{}] // reused by observeChangedWorkers

	// Scheduling answers questions of other goroutines.
	*Scheduling
}

// NewHandlers makes handlers for a Loop.
func NewHandlers(config HandlersConfig) (*Handlers, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	guard := config.containPanics()
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
	contain.SetDefault(&c.Closed, func() bool { return false })
	c.Clock = cmp.Or[clock.PassiveClock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}

// updateUsage sends an update to the worker of a pod. If the workers refuse it, that is a fault of the program:
// update logs the error. It logs nothing if the workers have stopped, because the loop stops then too.
func (h *Handlers) updateWorker(kind podworkers.SyncPodType, pod, mirror *v1.Pod) {
	h.sendToWorker(podworkers.UpdatePodOptions{UpdateType: kind, Pod: pod, MirrorPod: mirror})
}

func (h *Handlers) sendToWorker(options podworkers.UpdatePodOptions) {
	pod := options.Pod
	if options.UpdateType != podworkers.SyncPodKill && h.isNameInUse(pod) {
		return
	}
	h.ensureRecord(pod.UID).hadWorker = true
	defer h.observePod(pod.UID)
	if options.UpdateType != podworkers.SyncPodKill {
		h.observePod(pod.UID) // If the UID has to end, the pod that was given before ends.
		h.ensureRecord(pod.UID).lastSpec = pod
	}
	options.StartTime = h.config.Clock.Now()
	err := h.config.Workers.UpdatePod(options)
	if err != nil && !errors.Is(err, podworkers.ErrStopped) {
		h.config.Log.Error("a pod could not be handed to its worker", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
	}
}

// isUnstarted reports whether a pod was rejected or waits: it has no worker, and a sync gives it none.
func (s *podStates) isUnstarted(uid types.UID) bool {
	return s.isRejected(uid) || s.awaitsAdmission(uid)
}

// isRejected reports whether a desired pod was rejected.
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

func (h *Handlers) syncPods(pods []*v1.Pod, observation bool) {
	for _, pod := range pods {
		if podmanager.IsMirrorPod(pod) {
			h.config.Log.Error("a mirror pod can not be synced", "pod", podmanager.FullName(pod), "uid", pod.UID)
			continue
		}
		if h.isUnstarted(pod.UID) || h.isAdditionPending(pod.UID) {
			continue
		}
		mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
		h.sendToWorker(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodSync, Observation: observation, Pod: pod, MirrorPod: mirror})
	}
}

var (
	_ SyncHandler   = (*Handlers)(nil)
	_ ChangeHandler = (*Handlers)(nil)
)
