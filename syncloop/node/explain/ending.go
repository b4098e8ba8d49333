package explain

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// terminationReason returns why a pod is being terminated: the reason of its status, or, if it has none, an
// eviction, a drain or its deletion.
func (f *Facts) terminationReason() string {
	switch {
	case f.Status.Reason != "":
		return joinReasonAndMessage(f.Status.Reason, f.Status.Message)
	case f.Worker.Evicted:
		return "it was evicted"
	case f.Node.Draining:
		return "the node is being drained"
	case f.Worker.Deleted:
		return "it is no longer desired"
	}
	return "its termination was requested"
}

// describeTermination returns one sentence about a terminating pod. It says which containers still run, within
// which grace period they must stop, and, if the last sync failed, its error.
func (f *Facts) describeTermination(containers []Container) []string {
	var running []string
	for i := range containers {
		if containers[i].State == "running" {
			running = append(running, containers[i].Name)
		}
	}
	var what string
	switch len(running) {
	case 0:
		what = "none of its containers runs"
	case 1:
		what = fmt.Sprintf("container %q still runs", running[0])
	default:
		what = fmt.Sprintf("%d containers still run (%s)", len(running), strings.Join(running, ", "))
	}
	if f.Worker.Grace != nil {
		what += ", with a grace of " + formatSeconds(*f.Worker.Grace)
	}
	return []string{f.appendLastSyncError(what)}
}

// hasTerminated reports whether the phase of the pod is terminal, or its worker has terminated it. Such a pod
// does not run again, although a new pod may use its UID.
func (f *Facts) hasTerminated() bool {
	return f.Worker.Known && (f.Worker.Phase == Terminated || f.Worker.Phase == Finished) ||
		podstatus.IsTerminal(f.phaseOrPending())
}

// describeHowTerminated returns how a pod has terminated: the reason of its status or, if it has none, the
// first container that failed in a Failed pod. Without either it describes the phase.
func (f *Facts) describeHowTerminated(containers []Container) string {
	if f.Status.Reason != "" {
		return joinReasonAndMessage(f.Status.Reason, f.Status.Message)
	}
	for i := range containers {
		if c := &containers[i]; c.LastEnd != nil && c.LastEnd.ExitCode != 0 && c.State == "terminated" && f.Status.Phase == v1.PodFailed {
			return fmt.Sprintf("%s %q terminated with %s, and is not started again", c.Kind, c.Name, c.LastEnd)
		}
	}
	switch {
	case f.Status.Phase == v1.PodSucceeded:
		return "its containers have completed"
	case f.Status.Phase == v1.PodFailed:
		return "it had failed before this node first synced it"
	}
	return "it was terminated, and none of its containers runs"
}

// describeCleanup returns one sentence that the pod's resources are being cleaned up, if its worker has
// terminated the pod and not finished. It returns nil in any other phase.
func (f *Facts) describeCleanup() []string {
	if f.Worker.Known && f.Worker.Phase == Terminated {
		return []string{f.appendLastSyncError("its volumes and other resources are being cleaned up")}
	}
	return nil
}

// String returns the exit code or the signal, with the reason.
func (e *End) String() string {
	s := fmt.Sprintf("exit code %d", e.ExitCode)
	if e.Signal != 0 {
		s = fmt.Sprintf("signal %d", e.Signal)
	}
	if why := strings.Trim(joinReasonAndMessage(e.Reason, strings.Trim(e.Message, "; ")), ": "); why != "" {
		s += " (" + why + ")"
	}
	return s
}

// formatSeconds formats a number of seconds as a duration. It formats a very large number as plain seconds.
func formatSeconds(n int64) string {
	if n > 1<<31 {
		return fmt.Sprintf("%ds", n)
	}
	return (time.Duration(n) * time.Second).String()
}
