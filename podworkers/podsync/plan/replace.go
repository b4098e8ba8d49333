package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// replaceSandbox ends what there is and makes a new sandbox, unless nothing
// could run in it.
func (d *decision) replaceSandbox() {
	if d.anythingToStop() {
		d.killPod = d.where.replace
	}
	if d.Pod.DeletionTimestamp != nil {
		return
	}
	d.recall()
	anew, worthwhile := d.anew(d.Pod)
	if !worthwhile {
		return
	}
	d.createSandbox, d.sandboxAttempt = d.where.replace, nextSandboxAttempt(d.Status)
	if len(d.Pod.Spec.InitContainers) > 0 {
		d.startInit(0, WhyNewSandbox)
		return
	}
	for _, i := range anew {
		d.startRegular(i, WhyNewSandbox)
	}
}

// anew lists the places of the regular containers that would be started in a new sandbox, and
// reports whether they are worth one (CA-3 to CA-5). What decides is whether a
// container may still start by its own policy, or by the pod's:
//
//   - One that ran may if it may run again in a new sandbox. What runs, or may, is
//     ended with the sandbox, by a signal.
//   - One that has not run may, except in a Never pod if it is under Never and
//     anything has run that may not run again: it would have to do without that. If all
//     containers were about to begin anew, or if there is a new sandbox for the
//     sake of another, it is started all the same.
func (x *index) anew(pod *v1.Pod) (start []int, worthwhile bool) {
	spent := x.anySpent(pod)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		e := x.at(len(pod.Spec.InitContainers) + i)
		switch {
		case e.record() == nil && !x.reset && x.saidDone(e, pod, c, podstatus.MayRestartInNewSandbox):
			continue
		case e.gone:
			worthwhile = true
		case e.newest == nil || e.newest.State == runtime.StateCreated:
			worthwhile = worthwhile || !spent || !isNever(pod, c) || x.reset || e.saidRestarting()
		case !podstatus.MayRestartInNewSandbox(pod, c, x.code(e.newest)):
			continue
		default:
			worthwhile = true
		}
		start = append(start, i)
	}
	return start, worthwhile
}

// isNever reports whether neither the pod nor the container runs anything twice.
func isNever(pod *v1.Pod, c *v1.Container) bool {
	return pod.Spec.RestartPolicy == v1.RestartPolicyNever && policyOf(pod, c) == v1.RestartPolicyNever
}

// done reports whether a regular container that does not run has ended in a way
// that its policy takes as the end, by its newest record. If that is gone, or is
// older than what was published, the published status counts: what is removed
// does not begin anew, unless everything does.
func (d *decision) done(c *v1.Container, e *entry) bool {
	rec := e.newest
	if rec == nil || rec.State == runtime.StateExited {
		d.recall()
	}
	switch {
	case e.record() == nil:
		return !d.reset && d.saidDone(e, d.Pod, c, podstatus.MayRestart)
	case rec.State == runtime.StateExited && rec != e.here:
		return !podstatus.MayRestartInNewSandbox(d.Pod, c, d.code(rec))
	case rec.State == runtime.StateExited:
		return !podstatus.MayRestart(d.Pod, c, d.code(rec))
	case rec.State == runtime.StateUnknown && rec != e.here:
		// Its sandbox was given up, and it with that.
		return !podstatus.MayRestartInNewSandbox(d.Pod, c, exitUnknown)
	}
	return false
}

// saidDone is done by the published status. may says whether a container that ended
// with a code starts again.
func (x *index) saidDone(e *entry, pod *v1.Pod, c *v1.Container, may func(*v1.Pod, *v1.Container, int32) bool) bool {
	switch {
	case e.published == nil || e.saidRestarting():
		return false
	case e.published.State.Running != nil:
		return !may(pod, c, exitUnknown) // It has vanished.
	}
	end := podstatus.LastTermination(e.published)
	return end != nil && !may(pod, c, x.pasts.code(c.Name, end.ContainerID, end.ExitCode))
}

// saidRestarting reports whether it was published that a container is to begin
// anew with all others.
func (e *entry) saidRestarting() bool {
	s := e.published
	if s == nil || s.State.Running != nil {
		return false
	}
	end := podstatus.LastTermination(s)
	return s.State.Waiting != nil && s.State.Waiting.Reason == reasonRestartingAll || end != nil && end.Reason == reasonRestartingAll
}

// recall reads the published status, if that has not been done.
func (d *decision) recall() {
	if d.Published != nil && !d.recalled {
		d.recalled = true
		d.publish(d.Published)
	}
}

// anythingToStop reports whether a kill of the pod would have an effect.
func (d *decision) anythingToStop() bool {
	for i := range d.Status.Containers {
		if d.Status.Containers[i].State != runtime.StateExited {
			return true
		}
	}
	// A sandbox that is not ready may still hold addresses.
	return len(d.Status.Sandboxes) > 0
}
