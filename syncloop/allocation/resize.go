package allocation

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// ResizeState is the state of the newest resize request of a pod.
type ResizeState uint8

// The resize states.
const (
	// NoResize: the pod has no resize request: it has all resources that its spec requests.
	NoResize ResizeState = iota
	// ResizeRequested: the next DecideResizes decides about the request.
	ResizeRequested
	// ResizeDeferred: the node has not enough free resources, or a rule has panicked. DecideResizes decides again
	// after other pods claim less, and after RecheckFaults.
	ResizeDeferred
	// ResizeInfeasible: the node would not have enough resources without any other pod, or the caller refuses
	// the request. DecideResizes decides again after Recheck.
	ResizeInfeasible
)

// String returns the state in lower case.
func (s ResizeState) String() string {
	if s > ResizeInfeasible {
		return "?"
	}
	return [...]string{"none", "requested", "deferred", "infeasible"}[s]
}

// ResizeRequest asks for other resources for an admitted pod.
type ResizeRequest struct {
	// Pod is the pod with the resources that its spec requests. Its UID names the admitted pod.
	Pod Pod
	// Generation is metadata.generation of the spec. A request with the generation of the last request of the
	// pod is not decided again, unless Refusal differs.
	Generation int64
	// Refusal is set if the caller refuses the request, for example because the runtime cannot update
	// containers. The request is then Infeasible for this reason. If the Refusal is a Fault, the request is
	// Deferred until the caller repeats it with another Refusal.
	Refusal Answer
}

// resize is the pending resize request of a pod: DecideResizes has not accepted it.
type resize struct {
	ResizeRequest
	state  ResizeState
	answer Answer    // the refusal, if state is ResizeDeferred or ResizeInfeasible
	since  time.Time // when the pod requested other resources for the first time since it had all of them
}

// RequestResize stores that an admitted pod requests other resources. It replaces an earlier request of the
// pod. The claims of the pod do not change before DecideResizes accepts the request. RequestResize returns
// false and stores nothing if the table has no admitted pod with this UID: the caller requests the resize again
// when the pod is admitted.
func (t *Table) RequestResize(request ResizeRequest, now time.Time) bool {
	r := t.records[request.Pod.UID]
	if r == nil || r.newestIncarnation().state != Admitted {
		return false
	}
	i := r.newestIncarnation()
	if i.resize == nil {
		i.resize = &resize{since: now}
		if !slices.Contains(t.resizing, request.Pod.UID) { // A pod that was removed stays in the list until the next decision.
			t.resizing = append(t.resizing, request.Pod.UID)
		}
	} else if i.resize.Generation == request.Generation && i.resize.Refusal == request.Refusal {
		i.resize.Pod = request.Pod
		return true
	}
	i.resize.ResizeRequest, i.resize.state = request, ResizeRequested
	t.decideResizes = true
	return true
}

// CancelResize deletes the resize request of a pod. The caller calls it when the spec of the pod requests the
// allocated resources again. Without a request it does nothing.
func (t *Table) CancelResize(uid types.UID) {
	if t.findResize(uid) != nil {
		t.records[uid].newestIncarnation().resize = nil
		t.resizing = slices.DeleteFunc(t.resizing, func(other types.UID) bool { return other == uid })
	}
}

// findResize returns the resize request of a pod, or nil.
func (t *Table) findResize(uid types.UID) *resize {
	if r := t.records[uid]; r != nil {
		return r.newestIncarnation().resize
	}
	return nil
}

// ResizeState returns the state of the request of a pod, and the refusal if the request is Deferred or
// Infeasible.
func (t *Table) ResizeState(uid types.UID) (ResizeState, Answer) {
	request := t.findResize(uid)
	if request == nil {
		return NoResize, Answer{}
	}
	return request.state, request.answer
}

// DecideResizes decides about the resize requests if a request is new, other pods claim less, or the node has
// changed. It appends AllocateResize for each request that it accepts: the pod then claims the requested
// resources. It appends DeferResize or RefuseResize for each other request whose state, generation or reason
// has changed. If only the numbers in the message have changed, it appends nothing.
//
// The order is total: first the requests that increase no claim, then by priority, Guaranteed pods before
// others, the longest pending request, and the UID. A deferred request reserves nothing: the requests and
// the new pods after it may take the free resources. Only the rules of the chain decide, and only about the
// quantities that increase. Handlers are not asked, and no other pod is stopped.
func (t *Table) DecideResizes(effects []Effect) []Effect {
	for t.decideResizes {
		t.decideResizes = false
		again := t.recheckResizes // also the infeasible requests
		t.recheckResizes = false
		for _, uid := range t.removeStaleAndSortResizes() {
			if request := t.findResize(uid); request.state != ResizeInfeasible || again {
				effects = t.decideResize(uid, request, effects)
			}
		}
	}
	return effects
}

// decideResize decides about the resize request of one pod. If the request is accepted, the table accounts the pod
// with its new resources and deletes the request. If an accepted request decreases a resource, decideResize also
// marks all deferred requests for a new decision. It appends an effect if the request is accepted, or if its state
// or reason has changed.
func (t *Table) decideResize(uid types.UID, request *resize, effects []Effect) []Effect {
	state, answer := t.judgeResizeBesideOtherPods(uid, request)
	if state == NoResize {
		_, decreases := t.compareClaims(uid, &request.Pod)
		t.CancelResize(uid)
		t.staying.putPod(request.Pod)
		t.recordChangeForUsage(uid, inStaying)
		t.revision++
		t.changed = t.changed || decreases
		t.decideResizes = t.decideResizes || decreases
		return append(effects, Effect{Kind: AllocateResize, UID: uid, Pod: &request.Pod, Generation: request.Generation})
	}
	changed := request.state != state || request.answer.Reason != answer.Reason
	request.state, request.answer = state, answer
	if !changed {
		return effects
	}
	kind := DeferResize
	if state == ResizeInfeasible {
		kind = RefuseResize
	}
	return append(effects, Effect{Kind: kind, UID: uid, Pod: &request.Pod, Generation: request.Generation, Answer: answer})
}

// removeStaleAndSortResizes removes the resize requests of pods that are no longer admitted. It returns the
// UIDs of the others in the order in which DecideResizes decides about them.
func (t *Table) removeStaleAndSortResizes() []types.UID {
	t.resizing = slices.DeleteFunc(t.resizing, func(uid types.UID) bool { return t.findResize(uid) == nil })
	ordered := make([]resizeOrder, len(t.resizing))
	for i, uid := range t.resizing {
		request := t.findResize(uid)
		increases, _ := t.compareClaims(uid, &request.Pod)
		ordered[i] = resizeOrder{
			increases: increases, priority: request.Pod.Priority,
			guaranteed: podstatus.QOSClass(request.Pod.Pod) == v1.PodQOSGuaranteed, since: request.since, uid: uid,
		}
	}
	slices.SortFunc(ordered, resizeOrder.compareOrderOfDecision)
	uids := make([]types.UID, len(ordered))
	for i := range ordered {
		uids[i] = ordered[i].uid
	}
	return uids
}

// resizeOrder has the values by which requests are ordered.
type resizeOrder struct {
	increases  bool
	priority   int32
	guaranteed bool
	since      time.Time
	uid        types.UID
}

// compareOrderOfDecision compares two resize requests by the order in which they are decided. Requests that
// increase nothing come first, then requests of pods with a higher priority, then requests of Guaranteed pods,
// then older requests. The UID decides between equal ones.
func (o resizeOrder) compareOrderOfDecision(other resizeOrder) int {
	return cmp.Or(
		compareFalseFirst(o.increases, other.increases), cmp.Compare(other.priority, o.priority),
		compareFalseFirst(!o.guaranteed, !other.guaranteed), o.since.Compare(other.since), cmp.Compare(o.uid, other.uid),
	)
}

// compareFalseFirst compares two booleans so that false sorts before true.
func compareFalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// judgeResizeBesideOtherPods returns NoResize if the rules admit the requested resources beside all other pods.
// It returns ResizeInfeasible if the caller refused the request, or if the rules refuse it on the empty node
// too. In any other case, and after a panic of a rule, it returns ResizeDeferred. The Answer has the reason of
// a refusal.
func (t *Table) judgeResizeBesideOtherPods(uid types.UID, request *resize) (ResizeState, Answer) {
	if request.Refusal.Reason != "" || request.Refusal.Fault {
		return infeasibleUnlessFault(request.Refusal), request.Refusal
	}
	if refusal := t.checkIncreasedClaims(uid, &request.Pod, newSnapshot(&ledger{}, &ledger{})); !refusal.Admit {
		return infeasibleUnlessFault(refusal), refusal
	}
	others := newSnapshot(ledgerWithout{&t.staying, []types.UID{uid}}, &t.terminating)
	if refusal := t.checkIncreasedClaims(uid, &request.Pod, others); !refusal.Admit {
		return ResizeDeferred, refusal
	}
	return NoResize, Answer{}
}

// infeasibleUnlessFault returns ResizeDeferred for the answer of a function that has panicked, and ResizeInfeasible for
// any other refusal.
func infeasibleUnlessFault(refusal Answer) ResizeState {
	if refusal.Fault {
		return ResizeDeferred
	}
	return ResizeInfeasible
}

// ResizesWithFaults returns the resize requests that are deferred because a rule or a function of the caller has
// panicked, in the order in which they were made. The caller requests each of them again, and then calls RecheckFaults.
func (t *Table) ResizesWithFaults() (requests []ResizeRequest) {
	for _, uid := range t.resizing {
		if request := t.findResize(uid); request != nil && request.answer.Fault {
			requests = append(requests, request.ResizeRequest)
		}
	}
	return requests
}

// checkIncreasedClaims asks the rules whether a pod may have the resources that increase beside other pods. It
// returns the first refusal, or an answer that admits the request. Resources that do not increase are not
// checked, because a node whose allocatable resources became smaller must accept a decrease. A rule that has panicked for
// the claims of the pod is asked too. Handlers are not asked.
func (t *Table) checkIncreasedClaims(uid types.UID, pod *Pod, beside Snapshot) Answer {
	for index, rule := range t.chain.rules {
		slot := t.chain.slots[index]
		if rule == nil {
			continue
		}
		have, want := t.stayingClaims(uid, slot), pod.claimsAt(slot)
		if !hasIncrease(have, want) && !want.Fault {
			continue
		}
		for _, reason := range t.chain.Check(index, pod, beside) {
			if slot == 0 && reason.Kind != KindResource && reason.Kind != KindFault {
				continue // A built-in rule refuses the pod for something that a resize does not change.
			}
			if reason.Resource == "" || increasesQuantity(have, want, reason.Resource) {
				return NewAnswer(reason)
			}
		}
	}
	return Answer{Admit: true}
}

// stayingClaims returns what an admitted or waiting pod claims for a slot: 0 for the built-in rules, and n for
// the n-th rule of the host program. It returns empty claims if there is no such pod.
func (t *Table) stayingClaims(uid types.UID, slot int) *Claims {
	if e := t.staying.get(uid); e != nil {
		return e.claimsAt(slot)
	}
	return &Claims{}
}

// compareClaims compares pod, a resized version, with what the table counts for the UID. It reports whether pod
// claims more of a resource, and whether it claims less of one.
func (t *Table) compareClaims(uid types.UID, pod *Pod) (increases, decreases bool) {
	for slot := range 1 + len(t.chain.ownRules) {
		have, want := t.stayingClaims(uid, slot), pod.claimsAt(slot)
		increases = increases || hasIncrease(have, want)
		decreases = decreases || hasIncrease(want, have)
	}
	return increases, decreases
}

// hasIncrease reports whether want has a larger quantity of any resource than have.
func hasIncrease(have, want *Claims) bool {
	for name := range want.Quantities {
		if increasesQuantity(have, want, name) {
			return true
		}
	}
	return false
}

// increasesQuantity reports whether want has a larger quantity of this resource than have.
func increasesQuantity(have, want *Claims, name v1.ResourceName) bool {
	now := have.Quantities[name]
	next := want.Quantities[name]
	return next.Cmp(now) > 0
}
