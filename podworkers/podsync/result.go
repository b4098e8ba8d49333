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
	// KillContainer stops a container within its grace period.
	KillContainer Action = "KillContainer"
	// KillPodSandbox stops a sandbox. The containers in it have stopped before.
	KillPodSandbox Action = "KillPodSandbox"
	// CreatePodSandbox creates and starts a sandbox.
	CreatePodSandbox Action = "CreatePodSandbox"
	// RemovePodSandbox removes a stopped sandbox that the pod does not need.
	RemovePodSandbox Action = "RemovePodSandbox"
	// RemoveContainer removes a container that does not run.
	RemoveContainer Action = "RemoveContainer"
	// StartContainer pulls the image, creates the container and starts it.
	StartContainer Action = "StartContainer"
	// UpdateContainer changes the cpu or the memory of a running container.
	UpdateContainer Action = "UpdateContainer"
	// RunPostStartHook runs the PostStart hook of a container.
	RunPostStartHook Action = "RunPostStartHook"
	// RunPreStopHook runs the PreStop hook of a container.
	RunPreStopHook Action = "RunPreStopHook"
)

// Result is one action and its outcome.
type Result struct {
	UID    types.UID
	Action Action
	Target string // the name of a container or the ID of a sandbox
	Why    string // the reason in words
	Err    error  // nil: the action has succeeded
	Took   time.Duration
}

// isCancelled reports whether ctx has ended and err is the error of its end.
func isCancelled(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}
