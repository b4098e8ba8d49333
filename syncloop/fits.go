package syncloop

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// Scheduling tells which pods would be admitted. It has what the pods of the node take, for questions
// from any goroutine. The loop brings it up to date after each of its calls. Handlers have one.
type Scheduling struct {
	config *HandlersConfig
	chain  *admitChain
	mu     struct {
		sync.Mutex
		*allocation.Usage
	}
	observedChange uint64 // the newest note that the loop has observed; only the loop uses it
}

// addWorkerChange notes a pod whose worker has reported a change. The loop has the note already.
func (s *Scheduling) addWorkerChange(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.AddWorkerChange(uid)
}

// recordLastChange notes that the loop is about to observe all pods that were noted until now.
func (s *Scheduling) recordLastChange() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observedChange = s.mu.LastWorkerChange()
}

// updateUsage copies what the loop has decided since it has observed the noted pods.
func (s *Scheduling) updateUsage(t *allocation.Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.Update(t, s.observedChange)
}

// Fits reports whether the pod would be admitted if it came now. It returns nil, or a
// *FitError with every reason. The same handlers decide that decide on the loop, in trials;
// see PodAdmitHandler. Assumed pods count by what would have become of them.
// The pod has the annotation podmanager.ConfigSourceAnnotation that its source would give
// it, and is not changed; if a pod of its UID is there, that one does not count. Fits does
// not wait for the loop, may be called from anywhere, and takes time that depends on how
// many pods are ending, and not on how many others there are, as long as every handler is one
// of this package or a PodAdmitAloneFunc.
func (s *Scheduling) Fits(pod *v1.Pod) error { return s.FitsWithout(pod) }

// FitsWithout is Fits as if these pods had ended.
func (s *Scheduling) FitsWithout(pod *v1.Pod, gone ...types.UID) error {
	if skipsAdmission(pod) {
		return nil
	}
	s.removeStoppedPods()
	s.judgeAssumed()
	verdict, reasons := s.judgePod(pod, gone...)
	if verdict == allocation.Admitted {
		return nil
	}
	return &FitError{Pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, Reasons: reasons, Waits: verdict == allocation.Waiting}
}

// Allocated is what the pods request together that were admitted and have not ended, by
// resource, their number as "pods" included. Assumed pods count if they
// would have been admitted; pods that wait do not, nor do pods whose containers have stopped,
// as their workers know. The list is the caller's. It may be called from anywhere, and takes
// time that depends on how many pods are ending, and not on how many others there are.
func (s *Scheduling) Allocated() v1.ResourceList {
	s.removeStoppedPods()
	s.judgeAssumed()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.Allocated()
}

// Assume says that a new pod has been handed to a source and that the loop will decide on
// it: until then Fits and Allocated count it. It is called before the source has the pod. It
// does nothing for a pod that the loop knows, and reports whether the pod is new. It never
// blocks and may be called from anywhere. The pod is only read.
func (s *Scheduling) Assume(pod *v1.Pod) (added bool) {
	if _, known := s.config.Manager.GetPodByUID(pod.UID); known || skipsAdmission(pod) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.Assume(pod)
}

// AssumeTerminating says that a pod is deleted, or evicted: Fits counts it as one that is ending, before
// the loop has heard of that. It never blocks and may be called from anywhere.
func (s *Scheduling) AssumeTerminating(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.AssumeTerminating(uid)
}

// Unassume takes an Assume back: the source does not have the pods any more. It is called
// after that. It does nothing for pods that the loop has decided on. It never blocks and may
// be called from anywhere.
func (s *Scheduling) Unassume(uids ...types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uid := range uids {
		s.mu.Unassume(uid)
	}
}

// Assumed lists the assumed pods about which the loop has not decided.
func (s *Scheduling) Assumed() []types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.Assumed()
}

// removeStoppedPods stops counting pods whose workers know that their containers have stopped, before the loop
// does: a caller that has seen the end of a pod finds its room free.
func (s *Scheduling) removeStoppedPods() {
	s.mu.Lock()
	suspects := s.mu.Suspects()
	s.mu.Unlock()
	for _, suspect := range suspects {
		if view := s.config.Workers.View(suspect.UID); view.IsPodKnownTerminated() {
			s.mu.Lock()
			s.mu.RemoveSuspect(suspect, view.RestartRequested && !view.RestartEvicted)
			s.mu.Unlock()
		}
	}
}

// judgeAssumed finds out what would have become of each assumed pod, in their order. It holds no lock
// while it asks handlers and rules, so two goroutines may judge the same pod, with the same result.
func (s *Scheduling) judgeAssumed() {
	for {
		s.mu.Lock()
		pod := s.mu.NextWithoutVerdict()
		s.mu.Unlock()
		if pod == nil {
			return
		}
		verdict, _ := s.judgePod(pod)
		one := podWithClaims(s.chain.rules, pod) // It calls the rules of the host program.
		s.mu.Lock()
		s.mu.CountAssumed(one, s.config.waitRank(pod), verdict)
		s.mu.Unlock()
	}
}

// judgePod returns the verdict on a pod that would come now, as if the pods gone had ended, and all reasons
// why the pod is not admitted.
func (s *Scheduling) judgePod(pod *v1.Pod, gone ...types.UID) (allocation.State, []allocation.Reason) {
	if s.config.Closed() {
		return allocation.Rejected, rejectedByShutdown.Reasons
	}
	one, list := podWithClaims(s.chain.rules, pod), slices.ContainsFunc(s.chain.handlers, needsOtherPods)
	s.mu.Lock()
	beside := s.mu.SnapshotFor(&one, s.config.waitRank(pod), list, gone...)
	s.mu.Unlock()
	var reasons [allocation.Questions][]allocation.Reason
	verdict, _, question := allocation.Judge(&one, beside, s.config.waitsWhenFull(pod), func(q allocation.Question, beside allocation.Snapshot) allocation.Answer {
		answer, all := s.chain.collectReasons(&one, beside)
		reasons[q] = all
		return answer
	})
	return verdict, reasons[question]
}

// updateUsage brings the usage up to date with what the loop has decided.
func (h *Handlers) updateUsage() { h.Scheduling.updateUsage(h.table) }

// unassumeKnown drops the assumption for each desired pod: the loop has decided about it.
func (h *Handlers) unassumeKnown() {
	for _, uid := range h.Assumed() {
		if _, known := h.config.Manager.GetPodByUID(uid); known {
			h.table.MarkChanged(uid)
		}
	}
}
