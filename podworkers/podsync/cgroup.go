package podsync

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// CgroupCheckPeriod is how long a pod without changes is left alone if Config.Cgroups is set. The next sync lets
// Cgroups repair what another program has changed.
const CgroupCheckPeriod = 5 * time.Minute

// setUpCgroup calls Config.Cgroups for a pod with the given resources, and stores the directory for the sandbox.
// If that fails, it records a Warning event, because nothing may start without the limits of the pod. Without
// Config.Cgroups it does nothing.
func (p *podStarter) setUpCgroup(ctx context.Context, pod *v1.Pod) error {
	if p.cfg.Cgroups == nil {
		return nil
	}
	var err error
	if fault := p.guard.Call("Cgroups.SetUp", func() { p.cgroupDir, err = p.cfg.Cgroups.SetUp(ctx, pod) }); fault != nil {
		err = fault
	}
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	p.recordWarning("", eventCreateCgroup, "The cgroup of the pod cannot be set up: %v", err)
	return fmt.Errorf("podsync: the cgroup of the pod: %w", err)
}

// resize gives the running containers and the cgroup of the pod the resources of the spec. The cgroup first gets
// the larger of the old and the new values, then the containers are updated, and then the cgroup gets the new
// values. So the kernel never sees a container with more than its pod has, which cgroup v1 refuses. A pod without
// UpdateContainer steps gets the new values at once. If a container cannot be updated, or only later, the cgroup
// keeps the larger values until a later sync.
func (p *podSync) resize(ctx context.Context, decision *plan.Decision) (cgroupErr, updateErr error) {
	if firstStepWithOp(decision.Steps, plan.UpdateContainer) != nil {
		if err := p.setUpCgroup(ctx, decision.RaisedPod(p.pod, false)); err != nil {
			return err, nil
		}
		if err := p.updateContainers(ctx, decision.Steps); err != nil {
			return nil, err
		}
	}
	return p.setUpCgroup(ctx, decision.RaisedPod(p.pod, true)), nil
}

// tearDownCgroup removes the cgroup of a terminated pod. Without Config.Cgroups it does nothing.
func (w *statusWriter) tearDownCgroup(ctx context.Context) error {
	if w.cfg.Cgroups == nil {
		return nil
	}
	var err error
	if fault := w.guard.Call("Cgroups.TearDown", func() { err = w.cfg.Cgroups.TearDown(ctx, w.pod.UID) }); fault != nil {
		err = fault
	}
	if err != nil {
		return fmt.Errorf("podsync: the cgroup of the pod: %w", errors.Join(err, ctx.Err()))
	}
	return nil
}
