package podsync

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
)

// syncPass is one sync of one pod: one call of SyncPod, SyncTerminatingPod, SyncTerminatingRuntimePod
// or SyncTerminatedPod. It has the state of the pod and the calls that every kind of pass needs. One
// goroutine uses a syncPass. That goroutine may run some of the methods in parallel. All syncPasses share the
// Syncer.
//
// Four types embed a syncPass. A statusWriter writes the status of the pod. A podKiller stops
// containers and sandboxes. A podStarter creates sandboxes and starts containers. A podSync does the
// steps of plan.Decide.
type syncPass struct {
	*Syncer
	pod            *v1.Pod
	incarnation    *incarnation
	status         *runtime.PodStatus // the newest observed status of the pod; never nil
	mayHaveChanged atomic.Bool        // the sync has sent a call that may have changed the pod's records
}

// newSyncPass returns the state of one sync of a pod. A nil status is replaced by an empty one. It also counts
// the sync in the state that lasts over several syncs of the pod.
func (s *Syncer) newSyncPass(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) *syncPass {
	if status == nil {
		status = &runtime.PodStatus{UID: pod.UID, Name: pod.Name, Namespace: pod.Namespace}
	}
	return &syncPass{Syncer: s, pod: pod, incarnation: s.findOrCreateIncarnation(pod, podworkers.IncarnationFrom(ctx), status), status: status}
}

// runtimePodRef returns the UID, name, namespace and incarnation number of the pod for requests to the runtime.
func (p *syncPass) runtimePodRef() runtime.PodRef {
	return runtime.PodRef{UID: p.pod.UID, Name: p.pod.Name, Namespace: p.pod.Namespace, Incarnation: p.incarnation.number}
}

// containerRecord returns the container with an ID from the newest runtime status of the pod. It returns nil if
// the status does not have it.
func (p *syncPass) containerRecord(id string) *runtime.ContainerStatus {
	for i := range p.status.Containers {
		if c := &p.status.Containers[i]; c.ID == id {
			return c
		}
	}
	return nil
}

// setAndRecordObservedStatus replaces the runtime status of the pod by a newer one. It also records in the
// memory of the pod that the pod was observed after all starts so far.
func (p *syncPass) setAndRecordObservedStatus(status *runtime.PodStatus) {
	p.status = status
	p.incarnation.memory = p.incarnation.memory.RecordObservation()
}

// callRuntimeUncancelled calls the runtime with the timeout Config.CallTimeout, and stores that the pod may
// have changed. The end of ctx does not cancel the call, because some runtimes turn a cancelled start into a
// failed container.
func (p *syncPass) callRuntimeUncancelled(ctx context.Context, call func(context.Context) error) error {
	p.mayHaveChanged.Store(true)
	return p.callWithTimeout(executor.Detach(ctx), p.cfg.CallTimeout, call)
}

// runActionAndReport calls action, writes the result to the debug log, passes it to Hooks.ActionDone, and
// returns the error of action. It may be called concurrently.
func (p *syncPass) runActionAndReport(ctx context.Context, result Result, action func() error) error {
	result.UID = p.pod.UID
	began := p.executor.Now()
	result.Err = action()
	result.Took = p.executor.Now().Sub(began)
	p.cfg.Log.DebugContext(ctx, "pod action", "uid", result.UID, "action", result.Action, "target", result.Target, "why", result.Why, "err", result.Err)
	p.cfg.Hooks.ActionDone(result)
	return result.Err
}

// callChangedHookIfMayHaveChanged calls Config.Changed if this sync has sent a runtime call that may have
// changed the pod, even if the call failed. In any other sync the hook would cause an endless loop of syncs.
func (p *syncPass) callChangedHookIfMayHaveChanged() {
	if p.mayHaveChanged.Load() {
		p.cfg.Changed(p.pod.UID)
	}
}
