package syncloop

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// Scheduling answers whether the node would admit a pod. It has a copy of the claims of the pods, so that any
// goroutine can ask while the loop decides. The loop updates the copy after each of its calls. Handlers
// contain one.
type Scheduling struct {
	config *HandlersConfig
	chain  *admitChain
	mu     struct {
		sync.Mutex
		*allocation.Usage
	}
	observedChange uint64 // the last worker change that the loop has observed; only the loop uses it
}

// recordWorkerChangeForUsage records that the worker of a pod has changed, under the next change number. Until
// the loop has handled that change, removeStoppedPodsFromUsage checks whether the worker's containers have
// stopped. It does not wake the loop.
func (s *Scheduling) recordWorkerChangeForUsage(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.AddWorkerChange(uid)
}

// storeLastWorkerChange stores the number of the newest recorded worker change. The loop calls it before it
// reads the state of all changed workers, so the next updateUsage may treat every change up to that number as
// handled.
func (s *Scheduling) storeLastWorkerChange() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observedChange = s.mu.LastWorkerChange()
}

// updateUsage copies the changes of the allocation table to the usage, the copy that Fits and other goroutines
// read. It also drops the recorded worker changes that the loop has handled.
func (s *Scheduling) updateUsage(t *allocation.Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.Update(t, s.observedChange)
}

// Fits returns nil if the node would admit the pod now, or a *FitError with all reasons. The handlers of the
// loop decide, in trials; see PodAdmitHandler. Assumed pods count according to the decision that they would
// have got. The pod must have the annotation podmanager.ConfigSourceAnnotation of its source. Fits does not
// change the pod. A known pod with the same UID does not count. Fits does not wait for the loop, and any
// goroutine may call it. Its time depends on the number of terminating pods, but not on the number of other
// pods if each handler is a rule of AdmitRule or a PodAdmitAloneFunc.
func (s *Scheduling) Fits(pod *v1.Pod) error { return s.FitsWithout(pod) }

// FitsWithout is Fits under the assumption that the pods gone have terminated.
func (s *Scheduling) FitsWithout(pod *v1.Pod, gone ...types.UID) error {
	if skipsAdmission(pod) {
		return nil
	}
	s.removeStoppedPodsFromUsage()
	s.decideAboutAssumedPods()
	verdict, reasons := s.decideAboutPod(pod, gone...)
	if verdict == allocation.Admitted {
		return nil
	}
	return &FitError{Pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, Reasons: reasons, Waits: verdict == allocation.Waiting}
}

// Allocated returns the sum of the requests of all admitted pods that have not terminated, by resource. "pods"
// is their number. Assumed pods count if they would have been admitted. Waiting pods do not count, nor pods
// whose worker has seen their containers stop. The caller owns the list. Any goroutine may call it. Its time
// depends on the number of terminating pods only.
func (s *Scheduling) Allocated() v1.ResourceList {
	s.removeStoppedPodsFromUsage()
	s.decideAboutAssumedPods()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.Allocated()
}

// Assume counts a new pod in Fits and Allocated until the loop has decided about it. Call it before a source
// has the pod. It does nothing for a pod that the loop has, and reports whether the pod is new. It never
// blocks, and any goroutine may call it. The pod must not be modified afterwards.
func (s *Scheduling) Assume(pod *v1.Pod) (added bool) {
	if _, known := s.config.Manager.GetPodByUID(pod.UID); known || skipsAdmission(pod) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.Assume(pod)
}

// AssumeTerminating counts a pod as terminating because it is deleted or evicted, before the loop has handled
// that. It never blocks, and any goroutine may call it.
func (s *Scheduling) AssumeTerminating(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.AssumeTerminating(uid)
}

// Unassume reverts Assume after the source has lost the pods. It does nothing for pods that the loop has
// decided about. It never blocks, and any goroutine may call it.
func (s *Scheduling) Unassume(uids ...types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uid := range uids {
		s.mu.Unassume(uid)
	}
}

// Assumed returns the assumed pods that the loop has not decided about.
func (s *Scheduling) Assumed() []types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.Assumed()
}

// removeStoppedPodsFromUsage removes each pod whose worker reports that all containers have stopped from the
// usage, the copy of the allocations for Fits, before the loop has handled that report. A caller that has seen
// a pod terminate can so use its resources at once.
func (s *Scheduling) removeStoppedPodsFromUsage() {
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

// decideAboutAssumedPods decides for each pod passed to Assume, in that order, whether it would be admitted,
// would wait or would be rejected, and counts it in the usage accordingly. Pods with a decision are skipped. It
// holds no lock while it calls rules and handlers.
func (s *Scheduling) decideAboutAssumedPods() {
	for {
		s.mu.Lock()
		pod := s.mu.NextWithoutVerdict()
		s.mu.Unlock()
		if pod == nil {
			return
		}
		verdict, _ := s.decideAboutPod(pod)
		one := toAllocationPod(s.chain.rules, pod) // This calls rules of the host program, so no lock is held.
		s.mu.Lock()
		s.mu.CountAssumed(one, s.config.waitRank(pod), verdict)
		s.mu.Unlock()
	}
}

// decideAboutPod returns whether a pod that arrives now would be admitted, would wait or would be rejected, and
// the reasons of the answer that decided. It counts the pods in terminated as if they had terminated. It
// changes nothing. If the node is Closed, it returns Rejected.
func (s *Scheduling) decideAboutPod(pod *v1.Pod, terminated ...types.UID) (allocation.State, []allocation.Reason) {
	if s.config.Closed() {
		return allocation.Rejected, rejectedByShutdown.Reasons
	}
	one, list := toAllocationPod(s.chain.rules, pod), slices.ContainsFunc(s.chain.handlers, needsOtherPods)
	s.mu.Lock()
	beside := s.mu.SnapshotFor(&one, s.config.waitRank(pod), list, terminated...)
	s.mu.Unlock()
	var reasons [allocation.Questions][]allocation.Reason
	verdict, _, question := allocation.Judge(&one, beside, s.config.mayWaitWhenFull(pod), func(q allocation.Question, beside allocation.Snapshot) allocation.Answer {
		answer, all := s.chain.firstRefusalAndAllReasons(&one, beside)
		reasons[q] = all
		return answer
	})
	return verdict, reasons[question]
}

// updateUsage copies the changes of the loop's allocation table to the usage of Scheduling, which Fits reads.
func (h *Handlers) updateUsage() { h.Scheduling.updateUsage(h.table) }

// markDesiredAssumedPodsChanged marks each assumed pod that is desired now as changed in the allocation table,
// so that the next updateUsage replaces the assumed decision by the loop's decision. A pod is assumed from
// Assume until the loop decides about it.
func (h *Handlers) markDesiredAssumedPodsChanged() {
	for _, uid := range h.Assumed() {
		if _, known := h.config.Manager.GetPodByUID(uid); known {
			h.table.MarkChanged(uid)
		}
	}
}
