package reconcile

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// Merge is the status to write where others write too: mine, with the fields and the
// conditions that are not the node's as they are in theirs. The node's DisruptionTarget is
// written together with the end of the pod, so one that was not written yet waits for that.
// Neither argument is changed.
func Merge(theirs, mine *v1.PodStatus) v1.PodStatus {
	merged := *mine.DeepCopy()
	copyForeign(&merged, theirs)
	merged.Conditions = nil
	ends := podstatus.IsTerminal(mine.Phase) && !podstatus.IsTerminal(theirs.Phase)
	for i := range mine.Conditions {
		c := &mine.Conditions[i]
		if podstatus.IsNodeCondition(c.Type) && (c.Type != v1.DisruptionTarget || ends) {
			merged.Conditions = append(merged.Conditions, *c)
		}
	}
	for i := range theirs.Conditions {
		c := &theirs.Conditions[i]
		if !podstatus.IsNodeCondition(c.Type) || c.Type == v1.DisruptionTarget && podstatus.FindCondition(merged.Conditions, c.Type) == nil {
			merged.Conditions = append(merged.Conditions, *c)
		}
	}
	return merged
}

// HoldBackTerminalPhase changes a status with a terminal phase into one that may be written while
// containers still run: its phase, reason and message are those of before, and it has no
// DisruptionTarget.
func HoldBackTerminalPhase(before, status *v1.PodStatus) {
	status.Phase, status.Reason, status.Message = before.Phase, before.Reason, before.Message
	kept := status.Conditions[:0]
	for _, c := range status.Conditions {
		if c.Type != v1.DisruptionTarget {
			kept = append(kept, c)
		}
	}
	status.Conditions = kept
}
