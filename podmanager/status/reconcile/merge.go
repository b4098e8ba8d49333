package reconcile

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// Merge returns the status to write if others write too: mine, with the fields and conditions of
// other writers from theirs. The node writes its DisruptionTarget together with the terminal phase,
// so an unwritten one waits for that. Merge does not change its arguments.
func Merge(theirs, mine *v1.PodStatus) v1.PodStatus {
	merged := *mine.DeepCopy()
	copyFieldsOfOtherWriters(&merged, theirs)
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

// HoldBackTerminalPhase removes a terminal phase from a status, so that it may be written while
// containers still run. Phase, reason and message come from before. The condition DisruptionTarget
// is removed.
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
