package explain

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// terminationReason is why a pod has to end.
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
	return "it was asked to end"
}

// describeTermination is what is waited for while a pod ends: its containers first.
func (f *Facts) describeTermination(all []Container) []string {
	var running []string
	for i := range all {
		if all[i].State == "running" {
			running = append(running, all[i].Name)
		}
	}
	var what string
	switch len(running) {
	case 0:
		what = "nothing of it is seen to run"
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

// hasEnded: the pod will not run again, or not in this incarnation.
func (f *Facts) hasEnded() bool {
	return f.Worker.Known && (f.Worker.Phase == Terminated || f.Worker.Phase == Finished) ||
		podstatus.IsTerminal(f.phase())
}

// describeEnd is how it came to its end.
func (f *Facts) describeEnd(all []Container) string {
	if f.Status.Reason != "" {
		return joinReasonAndMessage(f.Status.Reason, f.Status.Message)
	}
	for i := range all {
		if c := &all[i]; c.LastEnd != nil && c.LastEnd.ExitCode != 0 && c.State == "terminated" && f.Status.Phase == v1.PodFailed {
			return fmt.Sprintf("%s %q has ended with %s, and is not started again", c.Kind, c.Name, c.LastEnd)
		}
	}
	switch {
	case f.Status.Phase == v1.PodSucceeded:
		return "its containers have done what they had to"
	case f.Status.Phase == v1.PodFailed:
		return "it had failed before this node first synced it"
	}
	return "it has been ended, and nothing of it runs"
}

// describeCleanup is what is left to do for a pod that has ended.
func (f *Facts) describeCleanup() []string {
	if f.Worker.Known && f.Worker.Phase == Terminated {
		return []string{f.appendLastSyncError("what it leaves behind is being cleaned up")}
	}
	return nil
}

// String is the end in a few words.
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

func formatSeconds(n int64) string {
	if n > 1<<31 {
		return fmt.Sprintf("%ds", n)
	}
	return (time.Duration(n) * time.Second).String()
}
