package allocation

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Answer is the answer of a rule or a handler to one question.
type Answer struct {
	Admit           bool
	Reason, Message string // of a refusal
	// Pending: the node cannot run the pod yet. The pod waits without a limit as long as the answers are
	// Pending. A later refusal that is not Pending may reject it.
	Pending bool
	// KeyTaken: the only reason is that another pod has a name or host port that the pod needs. A static pod
	// waits for it. NewAnswer sets it.
	KeyTaken bool
	// Fault: a handler or rule has panicked, so there is no answer.
	Fault bool
	// Shortage says how long the refusal is valid: until other pods claim less.
	Shortage Shortage
	// WaitsWhenFull: the pod waits for pods that are not terminating (Config.WaitWhenFull). The table sets it.
	WaitsWhenFull bool

	firstPanic bool // a first panic, which does not count as a refusal
}

// equalsExceptShortage reports whether two answers are equal. It does not compare their Shortage, because the
// messages of the answers already contain it.
func (a Answer) equalsExceptShortage(b Answer) bool {
	a.Shortage, b.Shortage = Shortage{}, Shortage{}
	return a == b
}

// Question is the assumption under which the chain is asked about a pod.
type Question uint8

// The questions, in the order in which they are asked.
const (
	// BesideAllPods: the pod starts now, beside the staying and the terminating pods. The waiting pods after
	// this pod and the previous incarnation of its UID do not count.
	BesideAllPods Question = iota
	// WithoutTerminating: all terminating pods have stopped. If the chain admits the pod, it waits.
	WithoutTerminating
	// OnEmptyNode: the node has no other pod. If the chain admits the pod, it waits for room. If the chain
	// refuses it, the pod is rejected for the reason of the question before this one.
	OnEmptyNode

	// Questions is the number of questions.
	Questions
)

// The steps after the questions. They find the terminating pods that the pod waits for.
const (
	// searchBlockers assumes that the first terminating pods have stopped, one more in each question.
	searchBlockers = Questions + iota
	// confirmBlockers assumes that all pods found by searchBlockers have stopped, except one.
	confirmBlockers
	decisionDone
)

// maxBlockers is the maximum number of terminating pods for which the table searches the blockers of a pod,
// because each of them costs a question. If more pods terminate, the pod waits for all of them.
const maxBlockers = 32

// decision is the sequence of questions about one pod. It has no side effects.
type decision struct {
	pod         *Pod
	whenFull    bool // the pod also waits for pods that are not terminating
	staying     podSet
	terminating podSet // without the previous incarnation of the pod

	// ledger has the terminating pods. terminatingByEnd returns them in the order of their expected ends;
	// nil: the decision does not search the blockers of the pod.
	ledger           *ledger
	terminatingByEnd func() []types.UID
	candidates       []types.UID // the result of terminatingByEnd

	step           Question
	asked          Question // the question that answer answers
	verdict        State    // Admitted, Waiting or Rejected
	answer         Answer
	removed        []types.UID // the pods that searchBlockers and confirmBlockers assume to have stopped
	candidateIndex int         // in candidates, or in removed for confirmBlockers
	blockers       []types.UID // the result of the search
}

// podsBeside returns the pods that run beside the pod in the current question. For WithoutTerminating it
// returns nil for terminating; for OnEmptyNode it returns no pods at all. The questions that search the
// blockers count neither the terminating pods assumed to have stopped nor one with the pod's UID.
func (d *decision) podsBeside() (staying, terminating podSet) {
	switch d.step {
	case WithoutTerminating:
		return d.staying, nil
	case OnEmptyNode:
		return &ledger{}, nil
	case searchBlockers, confirmBlockers:
		stopped := d.removed
		if d.step == confirmBlockers {
			stopped = slices.DeleteFunc(slices.Clone(stopped), func(uid types.UID) bool { return uid == d.removed[d.candidateIndex] })
		}
		return d.staying, ledgerWithout{d.ledger, append(stopped[:len(stopped):len(stopped)], d.pod.UID)}
	}
	return d.staying, d.terminating
}

// handleAnswer handles the answer of the whole chain to the current question. It either selects the next
// question or completes the decision with a verdict.
func (d *decision) handleAnswer(a Answer) {
	switch d.step {
	case BesideAllPods:
		d.handleBesideAllPods(a)
	case WithoutTerminating:
		d.handleWithoutTerminating(a)
	case OnEmptyNode:
		switch {
		case a.Admit:
			d.answer.WaitsWhenFull = true
			d.setVerdictAndFinish(Waiting)
		case a.firstPanic || a.Pending:
			d.answer, d.asked = a, OnEmptyNode
			d.setVerdictAndFinish(Waiting)
		default:
			d.setVerdictAndFinish(Rejected)
		}
	case searchBlockers:
		if d.candidateIndex++; a.Admit || d.candidateIndex == len(d.candidates) {
			d.step, d.candidateIndex = confirmBlockers, 0
			return
		}
		d.removed = d.candidates[:d.candidateIndex+1]
	case confirmBlockers:
		d.keepOrDropConfirmedBlocker(a)
	}
}

// handleBesideAllPods handles the answer to "does the pod fit beside all pods?". If yes, the verdict is
// Admitted. A first panic or a Pending answer makes the pod wait. After any other refusal the next question is
// asked, or the pod is rejected.
func (d *decision) handleBesideAllPods(a Answer) {
	d.answer, d.asked = a, BesideAllPods
	switch {
	case a.Admit:
		d.answer = Answer{}
		d.setVerdictAndFinish(Admitted)
	case a.firstPanic || a.Pending:
		d.setVerdictAndFinish(Waiting)
	case d.terminating != nil && d.terminating.len() > 0:
		d.step = WithoutTerminating
	default:
		d.askOnEmptyNodeOrReject()
	}
}

// handleWithoutTerminating handles the answer to "does the pod fit when all terminating pods have stopped?". If
// yes, the pod waits, and the search for its blockers starts. A first panic or a Pending answer makes the pod
// wait too. After any other refusal the next question is asked, or the pod is rejected.
func (d *decision) handleWithoutTerminating(a Answer) {
	if a.Admit {
		d.setVerdictAndFinish(Waiting)
		d.startBlockerSearch()
		return
	}
	d.answer, d.asked = a, WithoutTerminating
	if a.firstPanic || a.Pending {
		d.setVerdictAndFinish(Waiting)
		return
	}
	d.askOnEmptyNodeOrReject()
}

// askOnEmptyNodeOrReject makes OnEmptyNode the next question if the pod may wait for pods that are not
// terminating. If it may not, the verdict is Rejected.
func (d *decision) askOnEmptyNodeOrReject() {
	if d.whenFull {
		d.step = OnEmptyNode
		return
	}
	d.setVerdictAndFinish(Rejected)
}

// setVerdictAndFinish stores the verdict and marks the decision as complete.
func (d *decision) setVerdictAndFinish(v State) { d.verdict, d.step = v, decisionDone }

// startBlockerSearch starts the search for the blockers, the terminating pods that the pod waits for. If only
// one or more than maxBlockers pods terminate, all of them become the blockers and nothing is searched. It does
// nothing if the decision reuses earlier blockers.
func (d *decision) startBlockerSearch() {
	if d.terminatingByEnd == nil {
		return
	}
	d.candidates = d.terminatingByEnd()
	if len(d.candidates) == 1 || len(d.candidates) > maxBlockers {
		d.blockers = d.candidates
		return
	}
	d.step, d.candidateIndex, d.removed = searchBlockers, 0, d.candidates[:1]
}

// keepOrDropConfirmedBlocker uses the answer about one blocker, a pod that was found to keep the new pod from its
// place. The question was whether the new pod fits if that blocker still runs and the other blockers have stopped.
// If the answer is yes, that pod is no blocker, and the decision drops it. If the answer is no, the decision keeps
// it. After the last blocker the decision is done.
func (d *decision) keepOrDropConfirmedBlocker(a Answer) {
	if uid := d.removed[d.candidateIndex]; a.Admit {
		d.removed = slices.Delete(slices.Clone(d.removed), d.candidateIndex, d.candidateIndex+1)
	} else {
		d.blockers = append(d.blockers, uid)
		d.candidateIndex++
	}
	if d.candidateIndex == len(d.removed) {
		d.step = decisionDone
	}
}

// Judge decides about a pod without a table: Admitted, Waiting or Rejected. It returns the decisive answer and
// its question. whenFull makes a pod wait also for pods that are not terminating; such a pod is rejected only
// if it is refused on the empty node too. Judge calls ask for each question.
func Judge(pod *Pod, beside Snapshot, whenFull bool, ask func(Question, Snapshot) Answer) (State, Answer, Question) {
	d := decision{pod: pod, whenFull: whenFull, staying: beside.Staying.pods, terminating: beside.Terminating.pods}
	for d.step < Questions {
		d.handleAnswer(ask(d.step, newSnapshot(d.podsBeside())))
	}
	return d.verdict, d.answer, d.asked
}

// IsDecisive reports whether the chain stops at this refusal. A refusal is not decisive if the pod is static,
// only its host ports or its name are the reason (KeyTaken), and the snapshot has no terminating pods. Then
// the chain asks the rules and handlers that follow. If none of them gives another reason, the static pod waits
// for the pod that has the port or the name. So two manifests that exchange a host port both run, whichever is
// read first. A pod that is not static is rejected, because its owner replaces it.
func (s Snapshot) IsDecisive(pod *Pod, a Answer) bool {
	return s.hasTerminatingPods() || !pod.Static || !a.KeyTaken
}

// hasOnlyNameOrPortConflicts reports whether there are reasons, and each is a host port or a full name that
// another pod has.
func hasOnlyNameOrPortConflicts(reasons []Reason) bool {
	return len(reasons) > 0 && !slices.ContainsFunc(reasons, func(r Reason) bool { return r.Kind != KindHostPort && r.Kind != KindPodName })
}

// NewAnswer returns the refusal with these reasons. Without reasons it returns an answer that admits the pod.
func NewAnswer(reasons ...Reason) Answer {
	if len(reasons) == 0 {
		return Answer{Admit: true}
	}
	return Answer{Reason: reasons[0].Reason, Message: reasons[0].Message, KeyTaken: hasOnlyNameOrPortConflicts(reasons), Fault: reasons[0].Kind == KindFault}
}

// NameConflicts returns a reason if a pod that only the runtime has uses the full name of this static pod. The
// workers' name queue handles all other pods of the same name.
func (s Snapshot) NameConflicts(pod *Pod) (reasons []Reason) {
	if !pod.Static || len(pod.Claims.Keys) == 0 {
		return nil
	}
	s.Terminating.Holders(pod.Claims.Keys[0], func(h Holder) bool {
		if h.RuntimeOnly && h.UID != pod.UID {
			reasons = []Reason{nameConflictReason(h, "a pod that was started before this agent")}
		}
		return reasons == nil
	})
	return reasons
}
