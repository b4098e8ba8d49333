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

// isRejected: the pod was refused when it came. It stays desired and has no worker.
func (f *Facts) isRejected() bool {
	return f.Desired && !f.Worker.Known && f.Status.Phase == v1.PodFailed && f.Status.Reason != ""
}

func (f *Facts) describeRejection() string {
	return "the node has not taken it, and does not try again: " + joinReasonAndMessage(f.Status.Reason, f.Status.Message)
}

// describeOrphan: no source has named the pod, and one may yet.
func (f *Facts) describeOrphan() string {
	return "a former agent has started it, and no source has named it yet; it is ended " + formatFuture(f.OrphanUntil.Sub(f.Now)) +
		" unless one does, or at once if another pod needs its name or a host port"
}

// describeDeferral: the pod waits before it is admitted, because others are ending.
func (f *Facts) describeDeferral() string {
	s := "it is not admitted yet: " + sanitizeLine(f.Deferred)
	if f.DeferredUntil.IsZero() {
		return s
	}
	return s + ", and is refused " + formatFuture(f.DeferredUntil.Sub(f.Now)) + " if it still waits then"
}

// describeRefusedStatus: what is said of the pod is not how it is. Only another incarnation is not bound
// by what was said of this one.
func (f *Facts) describeRefusedStatus() string {
	return "its status stays as it was, since what the runtime shows cannot follow it: " + sanitizeLine(f.StatusRefused) +
		"; it has to be removed, and may come again then"
}

// externalWaits is what the pod waits for that is not its own.
func (f *Facts) externalWaits() (waits []string) {
	switch {
	case f.Node.Stopped:
		waits = append(waits, "the node does not run")
	case !f.Worker.Known && len(f.Node.IncompleteSources) > 0:
		waits = append(waits, f.describeIncompleteSources())
	case !f.Worker.Known && !f.Desired:
		waits = append(waits, "it is not desired, and what is left of it is being removed")
	case f.Deferred != "":
	case !f.Worker.Known && f.Node.Draining:
		waits = append(waits, "the node is being drained and starts nothing")
	case !f.Worker.Known:
		waits = append(waits, "its worker has not received it yet")
	case f.Worker.AwaitsName:
		waits = append(waits, "another pod of its full name has to end first")
	}
	if f.Node.RuntimeFault != "" {
		waits = append(waits, "the runtime cannot be relied on: "+sanitizeLine(f.Node.RuntimeFault))
	}
	switch f.Worker.Step {
	case AwaitingSlot:
		waits = append(waits, "as many pods as may be are being synced, and it is not its turn yet")
	case AwaitingStatus:
		waits = append(waits, "a fresh look at the runtime is awaited")
	}
	return waits
}

// describeIncompleteSources: before every source has said all that it wants nothing is concluded
// about pods that nobody has named.
func (f *Facts) describeIncompleteSources() string {
	sources := strings.Join(f.Node.IncompleteSources, ", ")
	switch {
	case f.Node.SourceFault == "":
	case f.Desired:
		return "all sources have to be heard first, and there is trouble with a manifest: " + sanitizeLine(f.Node.SourceFault)
	default:
		return "no source has named it, and nothing is concluded from that while there is trouble with a manifest: " + sanitizeLine(f.Node.SourceFault)
	}
	if f.Desired {
		return "all sources have to be heard first, and there is nothing yet of " + sources
	}
	return "no source has named it, and nothing is concluded from that before all sources have been heard; there is nothing yet of " + sources
}

// describePreviousIncarnation: the pod's turn comes after that of another one with its UID.
func (f *Facts) describePreviousIncarnation() []string {
	return []string{"the former pod of its UID has to end first, and is " + f.Worker.Phase}
}

// containerWaits is what the pod waits for in its own containers.
func (f *Facts) containerWaits(all []Container) (waits []string) {
	noSandbox := f.conditionStatus(v1.PodReadyToStartContainers) == v1.ConditionFalse && !f.hasReadySandbox()
	switch {
	case len(f.Status.ContainerStatuses) == 0:
		return append(waits, f.appendLastSyncError("nothing is known of its containers yet"))
	case noSandbox:
		waits = append(waits, f.appendLastSyncError(f.describeMissingSandbox(all)))
	case f.conditionStatus(v1.AllContainersRestarting) == v1.ConditionTrue:
		waits = append(waits, "all its containers begin anew, as one of them has asked for")
	}
	for i := range all {
		if c := &all[i]; c.Problem != "" && c.Reason != string(podstatus.ReasonRestartingAllContainers) && (!noSandbox || !waitsOnlyForSandbox(c)) {
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

// waitsOnlyForSandbox containers wait for nothing but their sandbox.
func waitsOnlyForSandbox(c *Container) bool {
	return c.State == "waiting" && podstatus.Reason(c.Reason).Meaning().Pending
}

// hasReadySandbox: the runtime shows a sandbox that is ready. While a sync is under
// way that may be newer than the status.
func (f *Facts) hasReadySandbox() bool {
	return f.Runtime != nil && slices.ContainsFunc(f.Runtime.Sandboxes, func(s runtime.SandboxStatus) bool { return s.Ready })
}

// describeMissingSandbox says what is amiss with it.
func (f *Facts) describeMissingSandbox(all []Container) string {
	for i := range all {
		if all[i].LastEnd != nil || all[i].Restarts > 0 {
			return "its sandbox is lost, and has to be made anew"
		}
	}
	return "its sandbox has yet to be made"
}

// appendLastSyncError adds why the last sync has failed, if it has, and when the next is.
func (f *Facts) appendLastSyncError(text string) string {
	if f.LastSync.Err == "" {
		return text
	}
	if n := f.index.next; n != nil {
		text += ", next try " + formatFuture(n.At.Sub(f.Now))
	}
	return text + ": " + sanitizeLine(f.LastSync.Err)
}

// describeReadinessGates are the readiness gates that are closed.
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

// conditionStatus the status of a condition; empty if it is not there.
func (f *Facts) conditionStatus(t v1.PodConditionType) v1.ConditionStatus {
	if c := podstatus.FindCondition(f.Status.Conditions, t); c != nil {
		return c.Status
	}
	return ""
}

// nextSync is when the pod is looked at without being told to, and why.
func (f *Facts) nextSync() *Next {
	if f.Worker.Step != Idle || f.Worker.NextAt.IsZero() {
		return nil
	}
	n := &Next{At: f.Worker.NextAt, Why: "the periodic resync"}
	if f.LastSync.Err != "" {
		n.Why = "retry after an error"
	}
	if name, _ := f.firstBackoffToEnd(); name != "" {
		n.Why = f.describeBackoff(name)
	}
	if at, ok := podspec.ActiveDeadline(f.Pod, f.Status); ok && at.Before(n.At) {
		n = &Next{At: at, Why: "its active deadline"}
	}
	return n
}

// firstBackoffToEnd is the container whose delay ends first, in the order of the spec.
func (f *Facts) firstBackoffToEnd() (first string, until time.Time) {
	for c := range podspec.AllContainers(f.Pod) {
		at, ok := f.backoffEnd(c.Name)
		if ok && !at.After(f.Worker.NextAt) && (first == "" || at.Before(until)) {
			first, until = c.Name, at
		}
	}
	return first, until
}

// backoffEnd is when a container may be tried again, if that is not yet.
func (f *Facts) backoffEnd(container string) (time.Time, bool) {
	at, ok := f.BackoffUntil[container]
	return at, ok && at.After(f.Now)
}

// nextAttempt is when a container is tried again, if that is not yet: by the next sync after its delay.
func (f *Facts) nextAttempt(container string) (time.Time, bool) {
	at, ok := f.BackoffUntil[container]
	if ok && f.Worker.Step == Idle && f.Worker.NextAt.After(at) {
		at = f.Worker.NextAt
	}
	return at, ok && at.After(f.Now)
}

// describeBackoff names the delay of a container by what its status says.
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
