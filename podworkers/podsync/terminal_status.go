package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// noteTerminalStatus keeps how a pod has ended, or drops what an ending of a previous
// incarnation of its UID was, once it is seen that this one goes on. What is only
// stopped, as the node drains or the pod is not desired any more, has not ended: it may be
// desired by the next agent.
func (s *Syncer) noteTerminalStatus(v *syncPass, over bool) {
	switch {
	case s.cfg.TerminalStatuses == nil:
	case over && v.incarnation.kept.ending < endSaved:
		s.keepTerminalStatus(v)
	case !over && v.incarnation.kept.ending < nothingSaved:
		if err := s.cfg.TerminalStatuses.Drop(v.pod.UID); err != nil {
			s.cfg.Log.Error("how a former pod of this UID has ended could not be dropped: if the agent is started again this one may not be",
				"pod", podmanager.FullName(v.pod), "uid", v.pod.UID, "err", err)
			return
		}
		v.incarnation.kept.ending = nothingSaved
	}
}

// keepTerminalStatus keeps what is published of a pod that is over. A disk that is full does
// not keep a pod from ending.
func (s *Syncer) keepTerminalStatus(v *syncPass) {
	s.read(v, func(stored *v1.PodStatus) {
		if !plan.IsTerminal(stored.Phase) {
			return // What was published was refused.
		}
		v.incarnation.kept.ending = max(v.incarnation.kept.ending, saveFailed)
		if err := s.cfg.TerminalStatuses.Save(v.pod, stored); err != nil {
			s.cfg.Log.Error("how a pod has ended could not be kept: if the agent is started again it may run again",
				"pod", podmanager.FullName(v.pod), "uid", v.pod.UID, "err", err)
			return
		}
		v.incarnation.kept.ending = endSaved
	})
}
