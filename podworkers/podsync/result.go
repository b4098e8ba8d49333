package podsync

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Action is a kind of thing that a sync does.
type Action string

// What a sync does.
const (
	// KillContainer stops a container within its grace.
	KillContainer Action = "KillContainer"
	// KillPodSandbox stops a sandbox after its containers.
	KillPodSandbox Action = "KillPodSandbox"
	// CreatePodSandbox makes and starts a sandbox.
	CreatePodSandbox Action = "CreatePodSandbox"
	// RemovePodSandbox drops a sandbox that came late, or is of a previous incarnation.
	RemovePodSandbox Action = "RemovePodSandbox"
	// RemoveContainer drops the record of a container that does not run.
	RemoveContainer Action = "RemoveContainer"
	// StartContainer is all the way from the image to a container that runs.
	StartContainer Action = "StartContainer"
	// RunPostStartHook tells a container that it has been started.
	RunPostStartHook Action = "RunPostStartHook"
	// RunPreStopHook tells a container that it is about to be stopped.
	RunPreStopHook Action = "RunPreStopHook"
)

// Result is one thing that was tried.
type Result struct {
	UID    types.UID
	Action Action
	Target string // a container's name, or a sandbox's ID
	Why    string // the reason, for people
	Err    error  // nil: done
	Took   time.Duration
}

// changed tells that something was done for a pod, if something was: with
// whatever result, as a call that failed may have had an effect. A pod that
// only waits has not changed, or it would be looked at again and again.
func (s *Syncer) changed(v *syncPass) {
	if v.touched.Load() {
		s.cfg.Changed(v.pod.UID)
	}
}

// do does one thing of a sync, and tells of it. It returns what f returns. It
// may be called concurrently for one sync pass.
func (s *Syncer) do(ctx context.Context, v *syncPass, r Result, f func() error) error {
	r.UID = v.pod.UID
	began := s.executor.Now()
	r.Err = f()
	r.Took = s.executor.Now().Sub(began)
	s.cfg.Log.DebugContext(ctx, "pod action", "uid", r.UID, "action", r.Action, "target", r.Target, "why", r.Why, "err", r.Err)
	s.cfg.Hooks.Did(r)
	return r.Err
}

// cut reports whether an error only says that the sync was told to stop.
func cut(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}
