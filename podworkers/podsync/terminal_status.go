package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// noteTerminalStatus saves the terminal status of the pod, or drops the one of a previous incarnation if
// this incarnation is not terminal. A pod that is only stopped, because the node drains or the pod is no
// longer desired, is not terminal: the next agent may run it.
func (p *syncPass) noteTerminalStatus(over bool) {
	switch {
	case p.cfg.TerminalStatuses == nil:
	case over && p.incarnation.kept.ending < endSaved:
		p.saveTerminalStatus()
	case !over && p.incarnation.kept.ending < nothingSaved:
		if err := p.cfg.TerminalStatuses.Drop(p.pod.UID); err != nil {
			p.cfg.Log.Error("how a former pod of this UID has ended could not be dropped: if the agent is started again this one may not be",
				"pod", podmanager.FullName(p.pod), "uid", p.pod.UID, "err", err)
			return
		}
		p.incarnation.kept.ending = nothingSaved
	}
}

// saveTerminalStatus saves the stored terminal status of the pod. The pod terminates even if the disk is
// full.
func (p *syncPass) saveTerminalStatus() {
	p.readPublishedStatus(func(stored *v1.PodStatus) {
		if !plan.IsTerminal(stored.Phase) {
			return // The store has rejected the status.
		}
		p.incarnation.kept.ending = max(p.incarnation.kept.ending, saveFailed)
		if err := p.cfg.TerminalStatuses.Save(p.pod, stored); err != nil {
			p.cfg.Log.Error("how a pod has ended could not be kept: if the agent is started again it may run again",
				"pod", podmanager.FullName(p.pod), "uid", p.pod.UID, "err", err)
			return
		}
		p.incarnation.kept.ending = endSaved
	})
}
