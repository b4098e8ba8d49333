package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// saveOrDropTerminalStatus saves the stored status if terminal is true. Otherwise it drops the saved terminal
// status of an earlier pod with this UID. It does each once for an incarnation of the UID, and does nothing if
// Config.TerminalStatuses is not set.
func (w *statusWriter) saveOrDropTerminalStatus(terminal bool) {
	switch {
	case w.cfg.TerminalStatuses == nil:
	case terminal && w.incarnation.persisted.terminalStatus < terminalStatusSaved:
		w.saveTerminalStatus()
	case !terminal && w.incarnation.persisted.terminalStatus < nothingSaved:
		if err := w.cfg.TerminalStatuses.Drop(w.pod.UID); err != nil {
			w.cfg.Log.Error("cannot drop the terminal status of an earlier pod with this UID: after a restart of the agent this pod may not run",
				"pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "err", err)
			return
		}
		w.incarnation.persisted.terminalStatus = nothingSaved
	}
}

// saveTerminalStatus saves the stored status of the pod if its phase is terminal. If the save fails, for
// example because the disk is full, it only logs that, and the pod still terminates.
func (w *statusWriter) saveTerminalStatus() {
	w.readPublishedStatus(func(stored *v1.PodStatus) {
		if !plan.IsTerminal(stored.Phase) {
			return // The store has rejected the status.
		}
		w.incarnation.persisted.terminalStatus = max(w.incarnation.persisted.terminalStatus, saveFailed)
		if err := w.cfg.TerminalStatuses.Save(w.pod, stored); err != nil {
			w.cfg.Log.Error("cannot save the terminal status of a pod: after a restart of the agent the pod may run again",
				"pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "err", err)
			return
		}
		w.incarnation.persisted.terminalStatus = terminalStatusSaved
	})
}
