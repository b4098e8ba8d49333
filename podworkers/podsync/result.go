package podsync

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Action is the kind of a Result.
type Action string

// The actions.
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
	// RunPostStartHook runs the PostStart hook of a container.
	RunPostStartHook Action = "RunPostStartHook"
	// RunPreStopHook runs the PreStop hook of a container.
	RunPreStopHook Action = "RunPreStopHook"
)

// Result is one action and its outcome.
type Result struct {
	UID    types.UID
	Action Action
	Target string // a container's name, or a sandbox's ID
	Why    string // the reason, for people
	Err    error  // nil: done
	Took   time.Duration
}

// isCancelled reports whether an error says only that ctx has ended.
func isCancelled(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}
