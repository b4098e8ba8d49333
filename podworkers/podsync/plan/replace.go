package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// replaceSandbox stops the containers and sandboxes of the pod and creates a new sandbox, if any
// container would run in it.
func (d *decision) replaceSandbox() {
	if d.hasAnythingToStop() {
		d.stopPodReason = d.sandboxes.replaceReason
	}
	if d.Pod.DeletionTimestamp != nil {
		return
	}
	d.readPublishedOnce()
	toStart, worthwhile := d.containersForNewSandbox(d.Pod)
	if !worthwhile {
		return
	}
	d.createSandbox, d.sandboxAttempt = d.sandboxes.replaceReason, nextSandboxAttempt(d.Runtime)
	if len(d.Pod.Spec.InitContainers) > 0 {
		d.startInitContainer(0, WhyNewSandbox)
		return
	}
	for _, i := range toStart {
		d.startRegularContainer(i, WhyNewSandbox)
	}
}

// containersForNewSandbox returns the positions of the regular containers that would start in a new
// sandbox, and reports whether a new sandbox is worthwhile for them (CA-3 to CA-5):
//
//   - A container that has run starts if the policy in a new sandbox allows that. A running
//     container is stopped together with the old sandbox.
//   - A container that has not run starts. For its sake alone the pod gets no new sandbox if the
//     policy of the pod is Never and another container has finished for good, because the new
//     container would run without that one. A restart of all containers is an exception.
func (x *recordIndex) containersForNewSandbox(pod *v1.Pod) (start []int, worthwhile bool) {
	hasFinished := x.hasFinishedContainer(pod)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		e := x.entryWithRecordsAt(len(pod.Spec.InitContainers) + i)
		switch {
		case e.currentRecord() == nil && !x.restartingAll && x.isPublishedAsDone(e, pod, c, podstatus.MayRestartInNewSandbox):
			continue
		case e.publishedLost:
			worthwhile = true
		case e.newest == nil || e.newest.State == runtime.StateCreated:
			worthwhile = worthwhile || !hasFinished || !neverRestarts(pod, c) || x.restartingAll || e.isPublishedAsRestartingAll()
		case !podstatus.MayRestartInNewSandbox(pod, c, x.restartExitCode(e.newest)):
			continue
		default:
			worthwhile = true
		}
		start = append(start, i)
	}
	return start, worthwhile
}

// neverRestarts reports whether the restart policies of the pod and of the container are both
// Never.
func neverRestarts(pod *v1.Pod, c *v1.Container) bool {
	return pod.Spec.RestartPolicy == v1.RestartPolicyNever && restartPolicyOf(pod, c) == v1.RestartPolicyNever
}

// isDone reports whether a regular container that does not run has finished for good. The newest
// record decides. If the record is lost, or older than the published attempt, the published status
// decides, unless all containers restart.
func (d *decision) isDone(c *v1.Container, e *containerEntry) bool {
	rec := e.newest
	if rec == nil || rec.State == runtime.StateExited {
		d.readPublishedOnce()
	}
	switch {
	case e.currentRecord() == nil:
		return !d.restartingAll && d.isPublishedAsDone(e, d.Pod, c, podstatus.MayRestart)
	case rec.State == runtime.StateExited && rec != e.newestHere:
		return !podstatus.MayRestartInNewSandbox(d.Pod, c, d.restartExitCode(rec))
	case rec.State == runtime.StateExited:
		return !podstatus.MayRestart(d.Pod, c, d.restartExitCode(rec))
	case rec.State == runtime.StateUnknown && rec != e.newestHere:
		// The container is lost together with its sandbox.
		return !podstatus.MayRestartInNewSandbox(d.Pod, c, exitUnknown)
	}
	return false
}

// isPublishedAsDone reports whether a container has finished for good by its published status.
// mayRestart reports whether a container may start again after an exit code.
func (x *recordIndex) isPublishedAsDone(e *containerEntry, pod *v1.Pod, c *v1.Container, mayRestart func(*v1.Pod, *v1.Container, int32) bool) bool {
	switch {
	case e.published == nil || e.isPublishedAsRestartingAll():
		return false
	case e.published.State.Running != nil:
		return !mayRestart(pod, c, exitUnknown) // Its record is lost.
	}
	end := podstatus.LastTermination(e.published)
	return end != nil && !mayRestart(pod, c, x.containerMemories.restartExitCode(c.Name, end.ContainerID, end.ExitCode))
}

// isPublishedAsRestartingAll reports whether the published status shows that a container restarts
// with all other containers.
func (e *containerEntry) isPublishedAsRestartingAll() bool {
	s := e.published
	if s == nil || s.State.Running != nil {
		return false
	}
	end := podstatus.LastTermination(s)
	return s.State.Waiting != nil && s.State.Waiting.Reason == reasonRestartingAll || end != nil && end.Reason == reasonRestartingAll
}

// readPublishedOnce calls readPublished at its first call.
func (d *decision) readPublishedOnce() {
	if d.Published != nil && !d.publishedRead {
		d.publishedRead = true
		d.readPublished(d.Published)
	}
}

// hasAnythingToStop reports whether the pod has a container that has not exited, or a sandbox.
func (d *decision) hasAnythingToStop() bool {
	for i := range d.Runtime.Containers {
		if d.Runtime.Containers[i].State != runtime.StateExited {
			return true
		}
	}
	// A sandbox that is not ready may still hold addresses.
	return len(d.Runtime.Sandboxes) > 0
}
