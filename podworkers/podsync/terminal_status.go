package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// saveOrDropTerminalStatus saves the stored status in Config.TerminalStatuses if terminal is true. If it is
// false, it deletes the saved terminal status of a former pod with this UID. It does each only once after a
// success. A failure is only logged.
func (w *statusWriter) saveOrDropTerminalStatus(terminal bool) {
	switch {
	case w.cfg.TerminalStatuses == nil:
	case terminal && w.incarnation.persisted.terminalStatus < terminalStatusSaved:
		w.saveStoredStatusIfTerminal()
	case !terminal && w.incarnation.persisted.terminalStatus < nothingSaved:
		if err := w.cfg.TerminalStatuses.Drop(w.pod.UID); err != nil {
			w.cfg.Log.Error("cannot drop the terminal status of an earlier pod with this UID: after a restart of the agent this pod may not run",
				"pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "err", err)
			return
		}
		w.incarnation.persisted.terminalStatus = nothingSaved
	}
}

// saveStoredStatusIfTerminal saves the stored status of the pod if its phase is Failed or Succeeded. A failure,
// for example a full disk, is only logged, so that the pod still terminates.
func (w *statusWriter) saveStoredStatusIfTerminal() {
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
