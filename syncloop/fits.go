package syncloop

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// usage is what the pods of the node take, for questions from any goroutine. The loop
// brings it up to date after each of its calls.
type usage struct {
	mu struct {
		sync.Mutex
		*allocation.Usage
	}
	heeded uint64 // the newest note that the loop has heeded; it is the loop's own
}

// note notes a pod of which the workers have told something new. The loop has been told
// before.
func (u *usage) note(uid types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.Note(uid)
}

// heeding says that the loop is about to heed all notes until now.
func (u *usage) heeding() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.heeded = u.mu.Notes()
}

// update takes in what the loop has decided after it has heeded notes.
func (u *usage) update(t *allocation.Table) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.Update(t, u.heeded)
}

// Fits reports whether the pod would be admitted if it came now. It returns nil, or a
// *FitError with every reason. The same handlers decide that decide on the loop, in trials;
// see PodAdmitHandler. Pods that Assume was told of count as what would have become of them.
// The pod has the annotation podmanager.ConfigSourceAnnotation that its source would give
// it, and is not changed; if a pod of its UID is there, that one does not count. Fits does
// not wait for the loop, may be called from anywhere, and takes time that depends on how
// many pods are ending, and not on how many others there are, as long as every handler is one
// of this package or a PodAdmitAloneFunc.
func (h *Handlers) Fits(pod *v1.Pod) error { return h.FitsWithout(pod) }

// FitsWithout is Fits as if these pods had ended.
func (h *Handlers) FitsWithout(pod *v1.Pod, gone ...types.UID) error {
	if !mustAdmit(pod) {
		return nil
	}
	h.releaseEnded()
	h.judgeAssumed()
	verdict, reasons := h.judge(pod, gone...)
	if verdict == allocation.Admitted {
		return nil
	}
	return &FitError{Pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, Reasons: reasons, Waits: verdict == allocation.Waiting}
}

// Allocated is what the pods request together that were admitted and have not ended, by
// resource, their number as "pods" included. Pods that Assume was told of count if they
// would have been admitted; pods that wait do not, nor do pods whose containers have stopped,
// as their workers know. The list is the caller's. It may be called from anywhere, and takes
// time that depends on how many pods are ending, and not on how many others there are.
func (h *Handlers) Allocated() v1.ResourceList {
	h.releaseEnded()
	h.judgeAssumed()
	h.usage.mu.Lock()
	defer h.usage.mu.Unlock()
	return h.usage.mu.Allocated()
}

// Assume says that a new pod has been handed to a source and that the loop will decide on
// it: until then Fits and Allocated count it. It is called before the source has the pod. It
// does nothing for a pod that the loop knows, and reports whether the pod is new. It never
// blocks and may be called from anywhere. The pod is only read.
func (h *Handlers) Assume(pod *v1.Pod) (added bool) {
	if _, known := h.config.Manager.GetPodByUID(pod.UID); known || !mustAdmit(pod) {
		return false
	}
	h.usage.mu.Lock()
	defer h.usage.mu.Unlock()
	return h.usage.mu.Assume(pod)
}

// AssumeEnding says that a pod is deleted, or evicted: Fits counts it as one that is ending, before
// the loop has heard of that. It never blocks and may be called from anywhere.
func (h *Handlers) AssumeEnding(uid types.UID) {
	h.usage.mu.Lock()
	defer h.usage.mu.Unlock()
	h.usage.mu.AssumeEnding(uid)
}

// Unassume takes an Assume back: the source does not have the pods any more. It is called
// after that. It does nothing for pods that the loop has decided on. It never blocks and may
// be called from anywhere.
func (h *Handlers) Unassume(uids ...types.UID) {
	h.usage.mu.Lock()
	defer h.usage.mu.Unlock()
	for _, uid := range uids {
		h.usage.mu.Forget(uid)
	}
}

// Assumed lists the pods that Assume was told of and that the loop has not decided on.
func (h *Handlers) Assumed() []types.UID {
	h.usage.mu.Lock()
	defer h.usage.mu.Unlock()
	return h.usage.mu.Assumed()
}

// releaseEnded stops counting pods whose containers have stopped, as their workers know,
// though the loop has not come to it: a caller that was told of the end finds the room.
func (h *Handlers) releaseEnded() {
	h.usage.mu.Lock()
	suspects := h.usage.mu.Suspects()
	h.usage.mu.Unlock()
	for _, s := range suspects {
		if view := h.config.Workers.View(s.UID); view.IsPodKnownTerminated() {
			h.usage.mu.Lock()
			h.usage.mu.Release(s, view.RestartRequested && !view.RestartEvicted)
			h.usage.mu.Unlock()
		}
	}
}

// judgeAssumed finds out what would have become of each assumed pod, in their order. No
// lock is held while handlers are asked, so two goroutines may judge the same pod, with the
// same result.
func (h *Handlers) judgeAssumed() {
	for {
		h.usage.mu.Lock()
		pod := h.usage.mu.Unjudged()
		h.usage.mu.Unlock()
		if pod == nil {
			return
		}
		verdict, _ := h.judge(pod)
		h.usage.mu.Lock()
		h.usage.mu.Judged(podOf(h.chain, pod), h.rank(pod), verdict)
		h.usage.mu.Unlock()
	}
}

// judge finds the verdict on a pod that would come now, without some others, and all reasons
// why it is no admission.
func (h *Handlers) judge(pod *v1.Pod, gone ...types.UID) (allocation.State, []allocation.Reason) {
	if h.config.Closed() {
		return allocation.Rejected, shutdown.Reasons
	}
	one, list := podOf(h.chain, pod), slices.ContainsFunc(h.config.Admit, listsPods)
	h.usage.mu.Lock()
	beside := h.usage.mu.Beside(&one, h.rank(pod), list, gone...)
	h.usage.mu.Unlock()
	var reasons [allocation.Questions][]allocation.Reason
	verdict, _, question := allocation.Judge(&one, beside, h.waitsWhenFull(pod), func(q allocation.Question, beside allocation.Snapshot) allocation.Answer {
		answer, all := h.every(&one, beside)
		reasons[q] = all
		return answer
	})
	return verdict, reasons[question]
}

// every is the first answer of the chain, and all reasons of all rules and handlers. One that
// panics has refused.
func (h *Handlers) every(pod *allocation.Pod, beside allocation.Snapshot) (allocation.Answer, []allocation.Reason) {
	answer, all := allocation.Answer{Admit: true}, []allocation.Reason(nil)
	add := func(refusal PodAdmitResult) {
		if refusal.Admit {
			return
		}
		if answer.Admit {
			answer = answerOf(refusal)
		}
		all = append(all, refusal.reasons()...)
	}
	add(Refused(beside.NameInUse(pod)...))
	for i, handler := range h.config.Admit {
		if _, rule := handler.(ruleHandler); rule {
			refusal := Refused(h.chain.Check(i, pod, beside)...)
			if !refusal.Admit && refusal.Reasons[0].Kind == allocation.KindFault {
				refusal = panicked
			}
			add(refusal)
			continue
		}
		refusal, err := h.ask(i, pod.Pod, beside, true)
		if err != nil {
			refusal = panicked
		}
		add(refusal)
	}
	return answer, all
}

// updateUsage brings the usage up to date with what the loop has decided.
func (h *Handlers) updateUsage() { h.usage.update(h.table) }

// unassumeKnown forgets that pods are assumed that the loop knows by now: whatever became
// of them is decided.
func (h *Handlers) unassumeKnown() {
	for _, uid := range h.Assumed() {
		if _, known := h.config.Manager.GetPodByUID(uid); known {
			h.table.MarkChanged(uid)
		}
	}
}
