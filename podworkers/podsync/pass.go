package podsync

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
)

// syncPass is one pass over one pod: one call of SyncPod, SyncTerminatingPod, SyncTerminatingRuntimePod
// or SyncTerminatedPod. It has the state of the pod, and makes the calls that every kind of pass needs.
// One goroutine uses a pass. It may run some of the methods in parallel. All passes share the Syncer.
//
// Four types embed it. A statusWriter writes the status of the pod. A podKiller stops containers
// and sandboxes. A podStarter creates sandboxes and starts containers. A podSync does the steps of
// plan.Decide.
type syncPass struct {
	*Syncer
	pod         *v1.Pod
	incarnation *incarnation
	status      *runtime.PodStatus // the newest observed status of the pod; never nil
	touched     atomic.Bool        // the pass has sent a call that may have changed the pod's records
}

// newSyncPass returns a pass over a pod. A nil status means that the runtime has no records of the pod.
func (s *Syncer) newSyncPass(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) *syncPass {
	if status == nil {
		status = &runtime.PodStatus{UID: pod.UID, Name: pod.Name, Namespace: pod.Namespace}
	}
	return &syncPass{Syncer: s, pod: pod, incarnation: s.findIncarnation(pod, podworkers.IncarnationFrom(ctx), status), status: status}
}

// podRef returns the pod as requests to the runtime name it.
func (p *syncPass) podRef() runtime.PodRef {
	return runtime.PodRef{UID: p.pod.UID, Name: p.pod.Name, Namespace: p.pod.Namespace, Incarnation: p.incarnation.number}
}

// containerRecord returns the runtime's record of a container, or nil if the newest status has none.
func (p *syncPass) containerRecord(id string) *runtime.ContainerStatus {
	for i := range p.status.Containers {
		if c := &p.status.Containers[i]; c.ID == id {
			return c
		}
	}
	return nil
}

// useStatus replaces the observed status of the pod by a newer one.
func (p *syncPass) useStatus(status *runtime.PodStatus) {
	p.status = status
	p.incarnation.memory = p.incarnation.memory.RecordObservation()
}

// callUncancelled makes a call of the runtime that Config.CallTimeout alone ends. The end of ctx does
// not: some runtimes turn a cancelled start into a container that has failed.
func (p *syncPass) callUncancelled(ctx context.Context, call func(context.Context) error) error {
	p.touched.Store(true)
	return p.callWithTimeout(executor.Detach(ctx), p.cfg.CallTimeout, call)
}

// runAction calls f and reports the result to Hooks.ActionDone. It returns the error of f. It may be called
// concurrently for one pass.
func (p *syncPass) runAction(ctx context.Context, r Result, f func() error) error {
	r.UID = p.pod.UID
	began := p.executor.Now()
	r.Err = f()
	r.Took = p.executor.Now().Sub(began)
	p.cfg.Log.DebugContext(ctx, "pod action", "uid", r.UID, "action", r.Action, "target", r.Target, "why", r.Why, "err", r.Err)
	p.cfg.Hooks.ActionDone(r)
	return r.Err
}

// reportChanged calls Config.Changed if the pass has sent a call that may have changed the pod. A call
// that failed counts too. A pod that only waits has not changed: otherwise it would be synced without
// end.
func (p *syncPass) reportChanged() {
	if p.touched.Load() {
		p.cfg.Changed(p.pod.UID)
	}
}
