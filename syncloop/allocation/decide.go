package allocation

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Answer is the answer of a rule or a handler to one question.
type Answer struct {
	Admit           bool
	Reason, Message string // of a refusal
	// Pending: the node cannot run the pod yet. The pod waits without a limit until an answer admits it.
	Pending bool
	// KeyTaken: the refusal only says that another pod has what the pod needs for itself, such as a host
	// port. A static pod waits for that. Decides sets it.
	KeyTaken bool
	// Fault: there is no answer, because a handler or rule has panicked.
	Fault bool
	// Shortage says for how long the refusal stands: until other pods claim less.
	Shortage Shortage
	// Full: the pod waits because of pods that need not end. The table sets it.
	Full bool

	firstPanic bool // a fault that is not a refusal yet
}

// equals reports whether two answers are equal. It does not compare shortages: the reasons have them too.
func (a Answer) equals(b Answer) bool {
	a.Shortage, b.Shortage = Shortage{}, Shortage{}
	return a == b
}

// Question is a situation in which admission is asked about a pod.
type Question uint8

// The questions, in the order in which they are asked.
const (
	// BesideAllPods: the pod starts now, beside all others.
	BesideAllPods Question = iota
	// WithoutTerminating: the pods that are ending have ended.
	WithoutTerminating
	// OnEmptyNode: the node has no other pod.
	OnEmptyNode

	// Questions is the number of questions.
	Questions
)

// The steps of a decision after the questions: which of the pods that are ending a pod waits for.
const (
	// searchBlockers: without the pods that should end first, one more each time.
	searchBlockers = Questions + iota
	// confirmBlockers: with one of the pods of search again.
	confirmBlockers
	decisionDone
)

// maxBlockers bounds the number of ending pods among which the table looks for those that a pod waits for,
// because each of them is a question. If more pods are ending, the pod waits for all of them.
const maxBlockers = 32

// decision is a pod about which the rules and handlers are asked, question after question. It changes
// nothing.
type decision struct {
	pod         *Pod
	whenFull    bool // the pod waits also for pods that need not end
	staying     podSet
	terminating podSet // without the pod's own previous incarnation
	// ledger has the pods that are ending, and blockers lists them in the order of their end. nil: the
	// decision does not look for the pods that the pod waits for.
	ledger   *ledger
	blockers func() []types.UID
	all      []types.UID // blockers

	step    Question
	asked   Question // the question of answer
	verdict State    // Admitted, Waiting or Rejected
	answer  Answer
	removed []types.UID // for search and confirm: as if these had ended
	at      int
	needed  []types.UID
}

// podsBeside returns what the pod would have beside it. Ending is nil in a trial.
func (d *decision) podsBeside() (staying, ending podSet) {
	switch d.step {
	case WithoutTerminating:
		return d.staying, nil
	case OnEmptyNode:
		return &ledger{}, nil
	case searchBlockers, confirmBlockers:
		gone := d.removed
		if d.step == confirmBlockers {
			gone = slices.DeleteFunc(slices.Clone(gone), func(uid types.UID) bool { return uid == d.removed[d.at] })
		}
		return d.staying, ledgerWithout{d.ledger, append(gone[:len(gone):len(gone)], d.pod.UID)}
	}
	return d.staying, d.terminating
}

// handleAnswer goes on with the answer to the question.
func (d *decision) handleAnswer(a Answer) {
	switch d.step {
	case BesideAllPods:
		d.handleBesideAllPods(a)
	case WithoutTerminating:
		d.handleWithoutTerminating(a)
	case OnEmptyNode:
		d.setVerdict(Rejected)
		if a.Admit {
			d.answer.Full = true
			d.setVerdict(Waiting)
		}
	case searchBlockers:
		if d.at++; a.Admit || d.at == len(d.all) {
			d.step, d.at = confirmBlockers, 0
			return
		}
		d.removed = d.all[:d.at+1]
	case confirmBlockers:
		d.handleConfirm(a)
	}
}

func (d *decision) handleBesideAllPods(a Answer) {
	d.answer, d.asked = a, BesideAllPods
	switch {
	case a.Admit:
		d.answer = Answer{}
		d.setVerdict(Admitted)
	case a.firstPanic || a.Pending:
		d.setVerdict(Waiting)
	case d.terminating != nil && d.terminating.len() > 0:
		d.step = WithoutTerminating
	default:
		d.askOnEmptyNode()
	}
}

func (d *decision) handleWithoutTerminating(a Answer) {
	if a.Admit {
		d.setVerdict(Waiting)
		d.findBlockers()
		return
	}
	d.answer, d.asked = a, WithoutTerminating
	if a.firstPanic || a.Pending {
		d.setVerdict(Waiting)
		return
	}
	d.askOnEmptyNode()
}

// askOnEmptyNode asks about the empty node if that makes a difference.
func (d *decision) askOnEmptyNode() {
	if d.whenFull {
		d.step = OnEmptyNode
		return
	}
	d.setVerdict(Rejected)
}

func (d *decision) setVerdict(v State) { d.verdict, d.step = v, decisionDone }

// findBlockers begins to look for the pods that the pod waits for: of all that are ending as few as
// need to, if they end when they should.
func (d *decision) findBlockers() {
	if d.blockers == nil {
		return
	}
	d.all = d.blockers()
	if len(d.all) == 1 || len(d.all) > maxBlockers {
		d.needed = d.all
		return
	}
	d.step, d.at, d.removed = searchBlockers, 0, d.all[:1]
}

// confirmBlockers drops a pod from those that are needed if the pod fits beside it.
func (d *decision) handleConfirm(a Answer) {
	if uid := d.removed[d.at]; a.Admit {
		d.removed = slices.Delete(slices.Clone(d.removed), d.at, d.at+1)
	} else {
		d.needed = append(d.needed, uid)
		d.at++
	}
	if d.at == len(d.removed) {
		d.step = decisionDone
	}
}

// Judge finds what becomes of a pod, Admitted, Waiting or Rejected, without a table, with the answer that
// it comes from and the question that was answered so. whenFull: a pod that is refused because of pods
// that stay waits for their end; it is refused if it would be refused alone too. ask is called by Judge
// alone.
func Judge(pod *Pod, beside Snapshot, whenFull bool, ask func(Question, Snapshot) Answer) (State, Answer, Question) {
	d := decision{pod: pod, whenFull: whenFull, staying: beside.Staying.pods, terminating: beside.Terminating.pods}
	for d.step < Questions {
		d.handleAnswer(ask(d.step, newSnapshot(d.podsBeside())))
	}
	return d.verdict, d.answer, d.asked
}

// IsDecisive reports whether an answer in the chain decides on its own. A static pod that finds a host
// port or a name taken by a pod that stays waits for that, unless a refusal of another kind comes
// after it: a file that changes a moment before the file of the other pod is not refused for good.
// Pods that are ending are waited for in any case. A pod of an API server, or of the host program, is
// refused: its owner makes another.
func (s Snapshot) IsDecisive(pod *Pod, a Answer) bool {
	return s.hasTerminating() || !pod.Static || !a.KeyTaken
}

// isOnlyKeyTaken reports whether reasons only say that another pod has what the pod needs for itself.
func isOnlyKeyTaken(reasons []Reason) bool {
	return len(reasons) > 0 && !slices.ContainsFunc(reasons, func(r Reason) bool { return r.Kind != KindHostPort && r.Kind != KindPodName })
}

// NewAnswer is the answer of a rule, or of a handler, with these reasons; it admits without any.
func NewAnswer(reasons ...Reason) Answer {
	if len(reasons) == 0 {
		return Answer{Admit: true}
	}
	return Answer{Reason: reasons[0].Reason, Message: reasons[0].Message, KeyTaken: isOnlyKeyTaken(reasons), Fault: reasons[0].Kind == KindFault}
}

// NameConflicts is the reason of a static pod whose full name a pod has that the workers' name queue does
// not have. The workers see to all others.
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
