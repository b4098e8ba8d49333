package podsync

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// resizeContainersAndCgroup gives the running containers and the cgroup of the pod the resources of the spec.
// It works in three steps: the cgroup gets the larger of the old and the new values, the containers are
// updated, and the cgroup gets the new values. The pod thus always has at least the resources of its
// containers, because cgroup v1 refuses a container with more. A pod without UpdateContainer steps gets the new
// values at once. If a container is not updated in this sync, the cgroup keeps the larger values until a later
// sync. Only cgroupErr prevents starts.
func (p *podSync) resizeContainersAndCgroup(ctx context.Context, decision *plan.Decision) (cgroupErr, resizeErr error) {
	if firstStepWithOp(decision.Steps, plan.UpdateContainer) != nil {
		if _, err := p.setUpCgroup(ctx, decision.RaisedPod(p.pod, false)); err != nil {
			return err, nil
		}
		if err := p.updateContainersUntilError(ctx, decision.Steps); err != nil {
			return nil, err
		}
	}
	resizeErr, cgroupErr = p.setUpCgroupAfterUpdates(ctx, decision)
	return cgroupErr, resizeErr
}

// updateContainersUntilError performs the UpdateContainer steps of a decision and ignores the other steps. It
// stops at the first error and returns it; the next sync continues. It stores each result in the memory of the
// pod, and makes the sync publish the status again. If ctx ends during a call, it returns the error of ctx and
// does not store the result of that call.
func (p *podSync) updateContainersUntilError(ctx context.Context, steps []plan.Step) error {
	for i := range steps {
		step := &steps[i]
		if step.Op != plan.UpdateContainer {
			continue
		}
		err := p.runActionAndReport(ctx, Result{Action: UpdateContainer, Target: step.Name, Why: string(step.Reason) + ": " + string(step.Resource)}, func() error {
			return p.updateContainer(ctx, step)
		})
		if err != nil && ctx.Err() != nil {
			return ctx.Err() // The call was cancelled: the resources are not known.
		}
		message := ""
		if err != nil {
			kind := &memoryInUseError{}
			isMemoryInUse := errors.As(err, &kind)
			err = fmt.Errorf("podsync: cannot resize container %s: %w", step.Name, err)
			message = plain.Text(err.Error())
			identity := message
			if isMemoryInUse {
				identity = kind.textWithoutUsage()
			}
			p.recordResizeErrorIfNew(step.Name, identity, "%s", podstatus.ResizeEventMessage(podstatus.EventResizeError, p.pod, p.pod.Generation, message))
		} else {
			delete(p.incarnation.recordedEvents.resizeErrors, step.Name)
		}
		p.incarnation.memory = p.incarnation.memory.RecordUpdate(*step, message)
		p.reasonsChanged = true
		if err != nil {
			return err
		}
	}
	return nil
}

// updateContainer sends the new amounts of one resource to the runtime. It refuses a memory limit below the
// memory that the container uses.
func (p *podSync) updateContainer(ctx context.Context, step *plan.Step) error {
	updater := p.runtimeFeatures().Updater
	if updater == nil {
		return runtime.ErrUnsupported
	}
	if err := p.checkMemoryBelowLimit(ctx, step); err != nil {
		return err
	}
	req := runtime.UpdateContainerRequest{ContainerID: step.ID, Resources: request.ResourcesToUpdate(p.pod, step.Container, step.Resource)}
	return p.callRuntimeUncancelled(ctx, func(ctx context.Context) error { return updater.UpdateContainer(ctx, req) })
}

// errMemoryInUse is the error of a memory limit that is below the memory in use.
var errMemoryInUse = errors.New("cannot decrease memory limits")

// memoryInUseError is an errMemoryInUse with the numbers of bytes.
type memoryInUseError struct {
	limit int64
	used  uint64
}

// Error implements error.
func (e *memoryInUseError) Error() string {
	return fmt.Sprintf("%v: attempting to set the memory limit (%d) below current usage (%d)", errMemoryInUse, e.limit, e.used)
}

// Unwrap returns errMemoryInUse.
func (e *memoryInUseError) Unwrap() error { return errMemoryInUse }

// textWithoutUsage returns a text that differs if another limit is refused. The usage is not in it, because it changes all
// the time.
func (e *memoryInUseError) textWithoutUsage() string {
	return fmt.Sprintf("%v: %d", errMemoryInUse, e.limit)
}

// checkMemoryBelowLimit returns an error if a step decreases the memory limit of a container below the memory that
// the container uses. It returns nil for other steps and if the runtime does not measure the memory.
// Some kernels accept such a limit and kill the container.
func (p *podSync) checkMemoryBelowLimit(ctx context.Context, step *plan.Step) error {
	reader := p.runtimeFeatures().StatsReader
	limit, limited := step.Limit()
	if step.Resource != v1.ResourceMemory || !step.Decrease || !limited || reader == nil {
		return nil
	}
	var stats runtime.PodStats
	err := p.callWithTimeout(ctx, p.cfg.CallTimeout, func(ctx context.Context) (err error) {
		stats, err = reader.PodStats(ctx, p.pod.UID)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: the memory in use is not known: %w", errMemoryInUse, err)
	}
	for i := range stats.Containers {
		c := &stats.Containers[i]
		if c.ContainerID != step.ID || c.Memory == nil || c.Memory.WorkingSetBytes == nil {
			continue
		}
		if used := *c.Memory.WorkingSetBytes; used >= uint64(max(limit.Value(), 0)) {
			return &memoryInUseError{limit.Value(), used}
		}
	}
	return nil
}

// resizeErrorEvent is an event ResizeError that was recorded.
type resizeErrorEvent struct {
	identity   string // the text of the error, without numbers that change all the time
	generation int64  // metadata.generation of the pod
}

// recordResizeErrorIfNew records the event ResizeError. It records nothing if the last such event of the container, or
// of the cgroup of the pod if container is empty, has the same text without the usage and was for the same generation of the pod.
// A failed resize is retried in each sync.
func (p *podStarter) recordResizeErrorIfNew(container, identity, format string, args ...any) {
	events, now := &p.incarnation.recordedEvents, resizeErrorEvent{identity, p.pod.Generation}
	if last, found := events.resizeErrors[container]; found && last == now {
		return
	}
	if events.resizeErrors == nil {
		events.resizeErrors = map[string]resizeErrorEvent{}
	}
	events.resizeErrors[container] = now
	p.recordWarning("", podstatus.EventResizeError, format, args...)
}

// recordResizeCompleted records the event ResizeCompleted if a resize of the pod has become complete, once for
// each resize. For a terminating pod it records no event, also not later.
func (w *statusWriter) recordResizeCompleted(status *v1.PodStatus) {
	memory, completed := w.incarnation.memory.RecordResizeCompleted(w.pod, status)
	w.incarnation.memory = memory
	if completed && !w.terminating {
		w.recordEvent("", podstatus.EventResizeCompleted, "%s", podstatus.ResizeEventMessage(podstatus.EventResizeCompleted, w.pod, w.pod.Generation, ""))
	}
}
