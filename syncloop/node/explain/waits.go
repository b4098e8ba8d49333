package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// isRejected reports whether admission has rejected the pod: it is desired and Failed with a reason, and has no
// worker.
func (f *Facts) isRejected() bool {
	return f.Desired && !f.Worker.Known && f.Status.Phase == v1.PodFailed && f.Status.Reason != ""
}

// sentenceOfRejectedPod returns the sentence about a pod that admission has rejected, with the reason and
// message of the pod's status. The caller has checked that the pod was rejected.
func (f *Facts) sentenceOfRejectedPod() string {
	return "the node has rejected it, and does not try again: " + joinReasonAndMessage(f.Status.Reason, f.Status.Message)
}

// describeOrphan returns a sentence about a pod that an earlier process of the agent started and no source has
// delivered yet. It says when the node terminates the pod.
func (f *Facts) describeOrphan() string {
	return "an earlier agent started it, and no source has delivered it yet; it is terminated " + formatFuture(f.OrphanUntil.Sub(f.Now)) +
		" unless one does, or at once if another pod needs its name or a host port"
}

// describeDeferral returns a sentence about a pod that waits for admission, with the reason. If there is a time
// limit for the wait, it says when the pod is rejected.
func (f *Facts) describeDeferral() string {
	s := "it is not admitted yet: " + sanitizeLine(f.Deferred)
	if f.DeferredUntil.IsZero() {
		return s
	}
	return s + ", and is rejected " + formatFuture(f.DeferredUntil.Sub(f.Now)) + " if it still waits then"
}

// describeStatusRejectedByStore returns a sentence about a pod whose newest status the status store has rejected. The
// pod must be deleted before it can get another status.
func (f *Facts) describeStatusRejectedByStore() string {
	return "its status stays as it was, since the state in the runtime cannot follow it: " + sanitizeLine(f.StatusRefused) +
		"; delete it so that it can start again"
}

// waitsOutsideContainers returns what the pod waits for outside its containers: the node, its sources, the
// runtime, another pod of its name, or its worker.
func (f *Facts) waitsOutsideContainers() (waits []string) {
	switch {
	case f.Node.Stopped:
		waits = append(waits, "the node does not run")
	case !f.Worker.Known && len(f.Node.IncompleteSources) > 0:
		waits = append(waits, f.describeIncompleteSources())
	case !f.Worker.Known && !f.Desired:
		waits = append(waits, "it is not desired, and its remains are being removed")
	case f.Deferred != "":
	case !f.Worker.Known && f.Node.Draining:
		waits = append(waits, "the node is being drained and starts nothing")
	case !f.Worker.Known:
		waits = append(waits, "its worker has not received it yet")
	case f.Worker.AwaitsName:
		waits = append(waits, "another pod of its full name has to terminate first")
	}
	if f.Node.RuntimeFault != "" {
		waits = append(waits, "the runtime is not healthy: "+sanitizeLine(f.Node.RuntimeFault))
	}
	switch f.Worker.Step {
	case AwaitingSlot:
		waits = append(waits, "the maximum number of pods is being synced")
	case AwaitingStatus:
		waits = append(waits, "it waits for a new observation of the runtime")
	}
	return waits
}

// describeIncompleteSources returns a sentence about the sources that have not delivered all their pods. If a
// manifest has a fault, the sentence quotes the fault instead of naming the sources.
func (f *Facts) describeIncompleteSources() string {
	sources := strings.Join(f.Node.IncompleteSources, ", ")
	switch {
	case f.Node.SourceFault == "":
	case f.Desired:
		return "not every source has delivered its pods, because a manifest has a fault: " + sanitizeLine(f.Node.SourceFault)
	default:
		return "no source has delivered it, but it is not removed while a manifest has a fault: " + sanitizeLine(f.Node.SourceFault)
	}
	if f.Desired {
		return "not every source has delivered its pods: the node waits for " + sources
	}
	return "no source has delivered it, but it is not removed before every source has delivered its pods: the node waits for " + sources
}

// describePreviousIncarnation returns one sentence: the earlier pod with the same UID must terminate first, and
// its phase.
func (f *Facts) describePreviousIncarnation() []string {
	return []string{"the earlier pod of its UID has to terminate first, and is " + f.Worker.Phase}
}

// waitsOfSandboxAndContainers returns what the pod waits for in its sandbox and containers. If they have no
// problem, it returns the readiness gates that are not True; if there are none either, the error of the last
// sync. A container that only waits for a missing sandbox is left out.
func (f *Facts) waitsOfSandboxAndContainers(containers []Container) (waits []string) {
	noSandbox := f.conditionStatus(v1.PodReadyToStartContainers) == v1.ConditionFalse && !f.hasReadySandbox()
	switch {
	case len(f.Status.ContainerStatuses) == 0:
		return append(waits, f.appendLastSyncError("the state of its containers is not known yet"))
	case noSandbox:
		waits = append(waits, f.appendLastSyncError(f.describeMissingSandbox(containers)))
	case f.conditionStatus(v1.AllContainersRestarting) == v1.ConditionTrue:
		waits = append(waits, "all its containers restart, because a restart rule of one of them requires it")
	}
	for i := range containers {
		if c := &containers[i]; c.Problem != "" && c.Reason != string(podstatus.ReasonRestartingAllContainers) && (!noSandbox || !hasNotCreatedYetReason(c)) {
			waits = append(waits, c.Problem)
		}
	}
	if len(waits) == 0 {
		waits = f.describeReadinessGates()
	}
	if len(waits) == 0 && f.LastSync.Err != "" {
		waits = append(waits, f.appendLastSyncError("the last sync has failed"))
	}
	return waits
}

// hasNotCreatedYetReason reports whether the waiting reason of a container only means that the container has not
// been created yet.
func hasNotCreatedYetReason(c *Container) bool {
	return c.State == "waiting" && podstatus.Reason(c.Reason).Meaning().Pending
}

// hasReadySandbox reports whether the runtime has a ready sandbox of the pod. During a sync the runtime may be
// newer than the status.
func (f *Facts) hasReadySandbox() bool {
	return f.Runtime != nil && slices.ContainsFunc(f.Runtime.Sandboxes, func(s runtime.SandboxStatus) bool { return s.Ready })
}

// describeMissingSandbox returns that the sandbox is lost if a container has run before, or that it has not
// been created yet if none has.
func (f *Facts) describeMissingSandbox(containers []Container) string {
	for i := range containers {
		if containers[i].LastEnd != nil || containers[i].Restarts > 0 {
			return "its sandbox is lost, and has to be created again"
		}
	}
	return "its sandbox has not been created yet"
}

// appendLastSyncError appends the time until the next sync, if one is planned, and the error of the last sync
// to text. If the last sync succeeded, it returns text unchanged.
func (f *Facts) appendLastSyncError(text string) string {
	if f.LastSync.Err == "" {
		return text
	}
	if n := f.index.next; n != nil {
		text += ", next try " + formatFuture(n.At.Sub(f.Now))
	}
	return text + ": " + sanitizeLine(f.LastSync.Err)
}

// describeReadinessGates returns a sentence for each readiness gate of the pod that is not True.
func (f *Facts) describeReadinessGates() (waits []string) {
	for _, gate := range f.Pod.Spec.ReadinessGates {
		switch status := f.conditionStatus(gate.ConditionType); status {
		case v1.ConditionTrue:
		case "":
			waits = append(waits, fmt.Sprintf("readiness gate %q has not been set", gate.ConditionType))
		default:
			waits = append(waits, fmt.Sprintf("readiness gate %q is %s", gate.ConditionType, status))
		}
	}
	return waits
}

// conditionStatus returns the status of a condition, or "" if the pod does not have the condition.
func (f *Facts) conditionStatus(t v1.PodConditionType) v1.ConditionStatus {
	if c := podstatus.FindCondition(f.Status.Conditions, t); c != nil {
		return c.Status
	}
	return ""
}

// nextSyncOrDeadline returns the time and the reason of the next planned sync, or of the active deadline if
// that is earlier. It returns nil if the worker is not idle or no sync is planned.
func (f *Facts) nextSyncOrDeadline() *Next {
	if f.Worker.Step != Idle || f.Worker.NextAt.IsZero() {
		return nil
	}
	n := &Next{At: f.Worker.NextAt, Why: "the periodic resync"}
	if f.LastSync.Err != "" {
		n.Why = "retry after an error"
	}
	if name, _ := f.firstBackoffBeforeNextSync(); name != "" {
		n.Why = f.describeBackoff(name)
	}
	if at, ok := podspec.ActiveDeadline(f.Pod, f.Status); ok && at.Before(n.At) {
		n = &Next{At: at, Why: "its active deadline"}
	}
	return n
}

// firstBackoffBeforeNextSync returns the container whose back-off ends first, and when. It considers only
// active back-offs that end by the next sync, and returns "" if there is none.
func (f *Facts) firstBackoffBeforeNextSync() (first string, until time.Time) {
	for c := range podspec.AllContainers(f.Pod) {
		at, ok := f.backoffEndIfActive(c.Name)
		if ok && !at.After(f.Worker.NextAt) && (first == "" || at.Before(until)) {
			first, until = c.Name, at
		}
	}
	return first, until
}

// backoffEndIfActive returns when the back-off of a container ends. It returns false if the container has no
// back-off or it is over.
func (f *Facts) backoffEndIfActive(container string) (time.Time, bool) {
	at, ok := f.BackoffUntil[container]
	return at, ok && at.After(f.Now)
}

// nextAttemptAfterBackoff returns when a container may start again: when its back-off ends, or at the next
// planned sync if that is later. It returns false if there is no back-off or that time is past.
func (f *Facts) nextAttemptAfterBackoff(container string) (time.Time, bool) {
	at, ok := f.BackoffUntil[container]
	if ok && f.Worker.Step == Idle && f.Worker.NextAt.After(at) {
		at = f.Worker.NextAt
	}
	return at, ok && at.After(f.Now)
}

// describeBackoff returns a sentence that the back-off of a container is over. The waiting reason of the
// container decides how the sentence names the back-off.
func (f *Facts) describeBackoff(name string) string {
	what := "back-off"
	for _, list := range [...][]v1.ContainerStatus{f.Status.InitContainerStatuses, f.Status.ContainerStatuses} {
		for i := range list {
			w := list[i].State.Waiting
			if w == nil || list[i].Name != name {
				continue
			}
			what = cmp.Or(podstatus.Reason(w.Reason).Meaning().Backoff, what)
		}
	}
	return fmt.Sprintf("%s of container %q is over", what, name)
}
