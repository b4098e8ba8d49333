package node

import (
	"cmp"
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/evictor"
)

// EvictionConfig configures evictions of pods because the node lacks memory, process IDs or disk space, or because a
// pod exceeds its limits of local storage. The comment of each field names its default.
type EvictionConfig struct {
	// Signals measures the node. Package observe has an implementation for Linux. Nil: the node evicts no pod by
	// itself, and has no pressure conditions.
	Signals evictor.SignalReader
	// Policy has the thresholds. The zero value has none.
	Policy eviction.Policy
	// Storage measures the logs and volumes of pods. Nil: they count as 0.
	Storage StorageReader
	// MemoryNotifier requests a pass of the evictor when memory becomes scarce. Package observe has an
	// implementation for cgroup v1. Nil: only Policy.Period and the decisions say when passes happen.
	MemoryNotifier MemoryNotifier
}

// MemoryNotifier notices between two measurements that memory becomes scarce.
type MemoryNotifier interface {
	// Run calls request when memory becomes scarce, until ctx ends. Run of the node calls it once. request never
	// blocks, and a request during a pass of the evictor causes one more pass after it. An error is logged, and the
	// node goes on without notifications.
	Run(ctx context.Context, request func()) error
}

// runMemoryNotifier runs Config.Eviction.MemoryNotifier. It returns nil also after an error of it.
func (n *Node) runMemoryNotifier(ctx context.Context) error {
	_, err := contain.CallWithResult(n.guard, "MemoryNotifier.Run", func() (struct{}, error) {
		return struct{}{}, n.config.Eviction.MemoryNotifier.Run(ctx, n.evictor.RequestPass)
	})
	if err != nil {
		n.config.Log.Warn("there are no notifications about memory any longer", "err", err)
	}
	return nil
}

// StorageReader measures the local storage of pods.
type StorageReader interface {
	// ReadStorage measures the volumes, logs and other files of a pod. It is called concurrently for different pods.
	// After an error the figures are lower bounds, and the pod still exceeds a limit that is below them. Its memory and
	// processes count too.
	ReadStorage(ctx context.Context, pod *v1.Pod) (eviction.Storage, error)
}

// buildEvictorIfConfigured builds the evictor if Config.Eviction.Signals is set.
func (b *builder) buildEvictorIfConfigured() (err error) {
	n := b.node
	if n.config.Eviction.Signals == nil {
		return nil
	}
	policy, signals := n.config.Eviction.Policy, n.config.Eviction.Signals
	if limited, ok := b.allocatableMemorySignals(signals); ok {
		policy.Thresholds, signals = eviction.AddAllocatableMemory(policy.Thresholds), limited
	}
	n.evictor, err = evictor.New(evictor.Config{
		Policy: policy, Signals: signals, Node: evictablePods{n},
		Hooks: n.config.Hooks.evictorHooks(n),
		Clock: n.config.Clock, Log: n.config.Log, Panicked: n.guard.RecordPanic,
	})
	return err
}

// evictorObservations returns the last measurements of Config.Eviction.Signals. It returns none without them, and before the first
// measurement.
func (n *Node) evictorObservations() eviction.Observations {
	if n.evictor == nil {
		return eviction.Observations{}
	}
	return n.evictor.Observations()
}

// reasonThresholdMet is the reason of the event of the node when a threshold acts.
const reasonThresholdMet = "EvictionThresholdMet"

// recordThresholdMet records a warning event for the node about a threshold that acts. (EV-14)
func (n *Node) recordThresholdMet(t eviction.Threshold) {
	if n.config.Recorder != nil {
		object := &v1.ObjectReference{Kind: "Node", Name: n.config.Name, UID: types.UID(n.config.Name)}
		n.config.Recorder.Eventf(object, v1.EventTypeWarning, reasonThresholdMet, "Attempting to reclaim %s", t.Signal.Resource())
	}
}

// evictorPressure returns the pressure conditions and the missing measurements of the node. Without an evictor it returns
// nothing.
func (n *Node) evictorPressure() evictor.Pressure {
	if n.evictor == nil {
		return evictor.Pressure{}
	}
	return n.evictor.Pressure()
}

// pressureConditions returns for each pressure condition whether the node has it, or nil without an evictor. The
// condition about missing measurements is included.
func (n *Node) pressureConditions() map[v1.NodeConditionType]bool {
	if n.evictor == nil {
		return nil
	}
	p := n.evictorPressure()
	conditions := map[v1.NodeConditionType]bool{eviction.NodeSignalsUnobserved: len(p.Unobserved) > 0}
	for _, c := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
		conditions[c] = slices.Contains(p.Conditions, c)
	}
	return conditions
}

// admitUnderPressure returns the handler that rejects pods because of the pressure conditions of the node.
func admitUnderPressure(conditions func() []v1.NodeConditionType) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		admit, message := eviction.CheckAdmission(attrs.Pod, conditions())
		if admit {
			return syncloop.PodAdmitResult{Admit: true}
		}
		return syncloop.PodAdmitResult{Reason: eviction.Reason, Message: message}
	})
}

// evictablePods implements evictor.Node.
type evictablePods struct{ node *Node }

// Pods returns the pods that have a worker which is not finished, except those that Config.Scheduling excludes from
// evictions. Terminating pods that are no longer desired are included. A pod whose containers have stopped is listed
// until its volumes and cgroup are removed.
func (e evictablePods) Pods() (pods []evictor.Pod) {
	n := e.node
	listed := map[types.UID]bool{}
	for _, pod := range n.manager.GetPods() {
		view := n.workers.View(pod.UID)
		listed[pod.UID] = true
		if !usesNodeResources(view) || n.handlers.IsRefused(pod.UID) || !n.config.Scheduling.Evictable(pod) {
			continue
		}
		p := evictor.Pod{Pod: pod, Terminating: view.IsPodTerminationRequested(), Stopped: !view.CouldHaveRunningContainers()}
		if terminating, ok := n.handlers.TerminatingPod(pod.UID); ok && p.Terminating {
			p.StopBy = terminating.Until
		}
		pods = append(pods, p)
	}
	for _, t := range n.handlers.TerminatingPods() {
		view := n.workers.View(t.Pod.UID)
		if !t.RuntimeOnly && !listed[t.Pod.UID] && usesNodeResources(view) && n.config.Scheduling.Evictable(t.Pod) {
			pods = append(pods, evictor.Pod{Pod: t.Pod, Terminating: true, StopBy: t.Until, Stopped: !view.CouldHaveRunningContainers()})
		}
	}
	return pods
}

// usesNodeResources reports whether the pod has a worker that is not finished: its containers may run, or its volumes
// and cgroup are not removed.
func usesNodeResources(view lifecycle.View) bool {
	return view.Known && view.Phase() != lifecycle.Finished
}

// ReadUsage measures a pod by the runtime, and its local storage by Config.Eviction.Storage. It does not use the
// samples of NodeStats, which are up to ten seconds old.
func (e evictablePods) ReadUsage(ctx context.Context, pod *v1.Pod) (eviction.Usage, error) {
	reader := e.node.runtime.Features().StatsReader
	if reader == nil {
		return eviction.Usage{}, errStatsUnsupported()
	}
	stats, err := reader.PodStats(ctx, pod.UID)
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return eviction.Usage{}, err
	}
	s := e.node.config.Eviction.Storage
	if s == nil {
		return eviction.UsageOf(stats, eviction.Storage{}), nil
	}
	storage, err := s.ReadStorage(ctx, pod)
	if err != nil {
		e.node.config.Log.Debug("the local storage of a pod could not be measured completely", "pod", pod.Namespace+"/"+pod.Name, "uid", pod.UID, "err", err)
	}
	usage := eviction.UsageOf(stats, storage)
	usage.StorageIncomplete = err != nil
	return usage, nil
}

// Evict evicts a pod as Node.Evict does. A terminating pod that is no longer desired only gets the shorter grace
// period.
func (e evictablePods) Evict(v eviction.Victim) error {
	n := e.node
	_, err := n.Evict(v.UID, Eviction{
		Reason: eviction.Reason, Message: v.Message, GraceSeconds: &v.GraceSeconds, Annotations: v.Annotations, OmitCondition: v.Condition == nil,
	})
	if terminating, ok := n.handlers.TerminatingPod(v.UID); ok && errors.Is(err, ErrUnknownPod) {
		n.workers.Kill(podworkers.UpdatePodOptions{
			Pod: terminating.Pod, KillPodOptions: &podworkers.KillPodOptions{PodTerminationGracePeriodSecondsOverride: &v.GraceSeconds},
		})
		return nil
	}
	return err
}

// Reclaim removes the unused images that Config.Images.GC does not keep, or requests a check of all pods for dead
// containers. It does not wait for that check: dead containers that Config.Containers.GC does not keep are removed soon
// after each exit anyway.
func (e evictablePods) Reclaim(ctx context.Context, kind eviction.ReclaimKind) error {
	n := e.node
	if kind == eviction.UnusedImages {
		_, err := n.imageCollector.DeleteUnusedImages(ctx)
		return err
	}
	for _, pod := range n.pleg.Pods() {
		n.containerCollector.Changed(pod.UID)
	}
	return nil
}

// notifyEvictorIfFinished starts a new pass of the evictor if the worker of an evicted pod has finished: its containers
// have stopped, and its volumes and cgroup are removed.
func (n *Node) notifyEvictorIfFinished(uid types.UID, phase lifecycle.Phase) {
	if n.evictor != nil && phase == lifecycle.Finished {
		n.evictor.PodReclaimed(uid)
	}
}

// annotatedRecorder is an event recorder that can add annotations to events, as client-go's recorder can.
type annotatedRecorder interface {
	AnnotatedEventf(object k8sruntime.Object, annotations map[string]string, eventtype, reason, messageFmt string, args ...any)
}

// recordEvictionEvent records a warning event for an evicted pod. It adds the annotations if Config.Recorder can do
// that. (EV-24)
func (n *Node) recordEvictionEvent(pod *v1.Pod, e Eviction) {
	message := truncateEventMessage(cmp.Or(e.Message, "The pod is evicted"))
	if n.annotated == nil || len(e.Annotations) == 0 {
		n.config.Recorder.Event(pod, v1.EventTypeWarning, reasonEvicted, message)
		return
	}
	_ = n.guard.Call("Recorder.AnnotatedEventf", func() {
		n.annotated.AnnotatedEventf(pod, e.Annotations, v1.EventTypeWarning, reasonEvicted, "%s", message)
	})
}
