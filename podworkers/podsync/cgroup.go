package podsync

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// CgroupCheckPeriod is how long a pod without changes is not synced if Config.Cgroups is set. The sync after it calls
// Cgroups.SetUp, which repairs what another program has changed.
const CgroupCheckPeriod = 5 * time.Minute

// setUpCgroup creates or updates the cgroup of a pod with Config.Cgroups, and stores the cgroup's directory for
// the sandbox. Without Config.Cgroups it does nothing. If there is no usable cgroup, it records a Warning event
// and returns err, and the caller starts nothing. If there is a cgroup that keeps a larger limit than the pod's
// new limit, it returns limitErr, and records a Warning event once for each text and generation of the pod. The
// caller still starts containers after limitErr, because a pod that uses more memory than its new limit would
// otherwise never start again, for example if an emptyDir holds the memory. If ctx has ended, it records no
// event and returns the error of ctx as err.
func (p *podStarter) setUpCgroup(ctx context.Context, pod *v1.Pod) (limitErr, err error) {
	if p.cfg.Cgroups == nil {
		return nil, nil
	}
	if fault := p.guard.Call("Cgroups.SetUp", func() { p.cgroupDir, err = p.cfg.Cgroups.SetUp(ctx, pod) }); fault != nil {
		p.cgroupDir, err = "", fault
	}
	if err == nil || ctx.Err() != nil {
		return nil, ctx.Err() // Nothing may start after a cancelled call either.
	}
	if p.cgroupDir != "" {
		p.recordResizeErrorIfNew("", err.Error(), "The cgroup of the pod keeps a larger limit: %v", err)
		return fmt.Errorf("podsync: the cgroup of the pod keeps a larger limit: %w", err), nil
	}
	p.recordWarning("", eventCreateCgroup, "The cgroup of the pod cannot be set up: %v", err)
	return nil, fmt.Errorf("podsync: the cgroup of the pod: %w", err)
}

// setUpCgroupAfterUpdates calls setUpCgroup with the values that the cgroup should have after the UpdateContainer steps of
// a decision. After a success a later error is a new event. If the values of the cgroup of a pod with resources of its own
// have changed, the status is published again.
func (p *podSync) setUpCgroupAfterUpdates(ctx context.Context, decision *plan.Decision) (limitErr, err error) {
	if limitErr, err = p.setUpCgroup(ctx, decision.RaisedPod(p.pod, true)); limitErr == nil && err == nil {
		delete(p.incarnation.recordedEvents.resizeErrors, "")
	}
	if err == nil {
		p.recordCgroupLimit(limitErr)
	}
	now := p.readPodValues()
	if now != p.podValues && (now == nil || p.podValues == nil || *now != *p.podValues) {
		p.reasonsChanged = true // Publish the new resources of the pod.
	}
	return limitErr, err
}

// recordCgroupLimit stores why the cgroup of the pod keeps a larger limit; nil: it does not. After a change the status is
// published again.
func (p *podSync) recordCgroupLimit(limitErr error) {
	message := ""
	if limitErr != nil {
		message = plain.Text(limitErr.Error())
	}
	before := p.incarnation.memory.ResizeError()
	p.incarnation.memory = p.incarnation.memory.RecordCgroupLimit(message)
	p.reasonsChanged = p.reasonsChanged || p.incarnation.memory.ResizeError() != before
}

// readPodValues returns the values of the cgroup of a pod with resources of its own. It returns nil for another pod, if the
// pod has no cgroup and after an error, which it logs once.
func (w *statusWriter) readPodValues() *podresources.PodValues {
	if w.valuesReader == nil || w.pod.Spec.Resources == nil {
		return nil
	}
	var values podresources.PodValues
	var found bool
	var err error
	if fault := w.guard.Call("Cgroups.ReadPodValues", func() { values, found, err = w.valuesReader.ReadPodValues(w.pod.UID) }); fault != nil {
		err = fault
	}
	if err != nil && !w.incarnation.valuesReadFailed {
		w.cfg.Log.Warn("cannot read the limits of the cgroup of a pod; its status has the resources of the spec", "pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "err", err)
	}
	if w.incarnation.valuesReadFailed = err != nil; err != nil || !found {
		return nil
	}
	return &values
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
