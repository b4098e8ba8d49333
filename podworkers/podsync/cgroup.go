package podsync

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// CgroupCheckPeriod is how long a pod without changes is not synced if Config.Cgroups is set. The sync after it calls
// Cgroups.SetUp, which repairs what another program has changed.
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
		return ctx.Err() // Nothing may start after a cancelled call either.
	}
	p.recordWarning("", eventCreateCgroup, "The cgroup of the pod cannot be set up: %v", err)
	return fmt.Errorf("podsync: the cgroup of the pod: %w", err)
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
