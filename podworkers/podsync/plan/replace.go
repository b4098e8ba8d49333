package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// planSandboxReplacement adds the stop of the whole pod, if anything is left to stop, and the creation of a new
// sandbox with its first starts. It creates no sandbox if the pod is being deleted or no container justifies a
// new one.
func (d *decision) planSandboxReplacement() {
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
		d.addInitStartUnlessDeleted(0, WhyNewSandbox)
		return
	}
	for _, i := range toStart {
		d.addRegularStart(i, WhyNewSandbox)
	}
}

// containersForNewSandbox returns the positions of the regular containers that would start in a new sandbox,
// and whether they justify the new sandbox (worthwhile). A container that has run starts if its restart policy
// allows that in a new sandbox. A container that has not run also starts. It does not justify a sandbox if
// three conditions hold: the policy is Never, another container has finished for good, and the pod does not
// restart all containers (CA-3 to CA-5).
func (x *recordIndex) containersForNewSandbox(pod *v1.Pod) (start []int, worthwhile bool) {
	hasFinished := x.hasFinishedContainer(pod)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		e := x.entryAtOrFirstOfSameName(len(pod.Spec.InitContainers) + i)
		switch {
		case e.currentRecordUnlessLost() == nil && !x.restartingAll && x.isPublishedAsDone(e, pod, c, podstatus.MayRestartInNewSandbox):
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

// neverRestarts reports whether the restart policy of the pod is Never and the container has no other policy.
func neverRestarts(pod *v1.Pod, c *v1.Container) bool {
	return pod.Spec.RestartPolicy == v1.RestartPolicyNever && restartPolicyOf(pod, c) == v1.RestartPolicyNever
}

// isDone reports whether a regular container that does not run has finished for good by its restart policy. The
// newest attempt that the runtime shows decides. The published status decides if the runtime shows no attempt,
// or only an earlier one than the published one. While all containers restart, the published status does not
// count.
func (d *decision) isDone(c *v1.Container, e *containerEntry) bool {
	rec := e.newest
	if rec == nil || rec.State == runtime.StateExited {
		d.readPublishedOnce()
	}
	switch {
	case e.currentRecordUnlessLost() == nil:
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

// isPublishedAsDone reports whether the published status shows that a container has finished for good.
// mayRestart decides whether a container may start again after an exit code. A container that is published as
// running counts as exited with exitUnknown, because the runtime has lost it.
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

// isPublishedAsRestartingAll reports whether the published status has the reason of a restart of all
// containers, in its waiting state or its last termination. It returns false for a container that is published
// as running.
func (e *containerEntry) isPublishedAsRestartingAll() bool {
	s := e.published
	if s == nil || s.State.Running != nil {
		return false
	}
	end := podstatus.LastTermination(s)
	return s.State.Waiting != nil && s.State.Waiting.Reason == reasonRestartingAll || end != nil && end.Reason == reasonRestartingAll
}

// readPublishedOnce adds the published status of each container to the decision's entry for that container. Only
// its first call does so. It does nothing if no status was published.
func (d *decision) readPublishedOnce() {
	if d.Published != nil && !d.publishedRead {
		d.publishedRead = true
		d.readPublished(d.Published)
	}
}

// hasAnythingToStop reports whether the runtime has a container of the pod that has not exited, or any sandbox
// of the pod. A sandbox that is not ready may still hold addresses.
func (d *decision) hasAnythingToStop() bool {
	for i := range d.Runtime.Containers {
		if d.Runtime.Containers[i].State != runtime.StateExited {
			return true
		}
	}
	// A sandbox that is not ready may still hold addresses.
	return len(d.Runtime.Sandboxes) > 0
}
