package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// noteTerminalStatus saves the terminal status of the pod, or drops the one of a previous incarnation if
// this incarnation is not terminal. A pod that is only stopped, because the node drains or the pod is no
// longer desired, is not terminal: the next agent may run it.
func (w *statusWriter) noteTerminalStatus(over bool) {
	switch {
	case w.cfg.TerminalStatuses == nil:
	case over && w.incarnation.kept.ending < endSaved:
		w.saveTerminalStatus()
	case !over && w.incarnation.kept.ending < nothingSaved:
		if err := w.cfg.TerminalStatuses.Drop(w.pod.UID); err != nil {
			w.cfg.Log.Error("how a former pod of this UID has ended could not be dropped: if the agent is started again this one may not be",
				"pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "err", err)
			return
		}
		w.incarnation.kept.ending = nothingSaved
	}
}

// saveTerminalStatus saves the stored terminal status of the pod. The pod terminates even if the disk is
// full.
func (w *statusWriter) saveTerminalStatus() {
	w.readPublishedStatus(func(stored *v1.PodStatus) {
		if !plan.IsTerminal(stored.Phase) {
			return // The store has rejected the status.
		}
		w.incarnation.kept.ending = max(w.incarnation.kept.ending, saveFailed)
		if err := w.cfg.TerminalStatuses.Save(w.pod, stored); err != nil {
			w.cfg.Log.Error("how a pod has ended could not be kept: if the agent is started again it may run again",
				"pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "err", err)
			return
		}
		w.incarnation.kept.ending = endSaved
	})
}
