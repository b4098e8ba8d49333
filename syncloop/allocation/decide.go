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

	unknown bool // a fault that is not a refusal yet
}

// same reports whether two answers are equal. It does not compare shortages: the reasons have them too.
func (a Answer) same(b Answer) bool {
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
	// search: without the pods that should end first, one more each time.
	search = Questions + iota
	// confirm: with one of the pods of search again.
	confirm
	decided
)

// maxBlockers bounds the number of ending pods among which the table looks for those that a pod waits for,
// because each of them is a question. If more pods are ending, the pod waits for all of them.
const maxBlockers = 32

// decision is a pod about which the rules and handlers are asked, question after question. It changes
// nothing.
type decision struct {
	pod      *Pod
	whenFull bool // the pod waits also for pods that need not end
	staying  taken
	ending   taken // without the pod's own previous incarnation
	// ledger has the pods that are ending, and blockers lists them in the order of their end. nil: the
	// decision does not look for the pods that the pod waits for.
	ledger   *ledger
	blockers func() []types.UID
	all      []types.UID // blockers

	step    Question
	asked   Question // the question of answer
	verdict State    // Admitted, Waiting or Rejected
	answer  Answer
	gone    []types.UID // for search and confirm: as if these had ended
	at      int
	needed  []types.UID
}

// question returns what the pod would have beside it. Ending is nil in a trial.
func (d *decision) question() (staying, ending taken) {
	switch d.step {
	case WithoutTerminating:
		return d.staying, nil
	case OnEmptyNode:
		return &ledger{}, nil
	case search, confirm:
		gone := d.gone
		if d.step == confirm {
			gone = slices.DeleteFunc(slices.Clone(gone), func(uid types.UID) bool { return uid == d.gone[d.at] })
		}
		return d.staying, without{d.ledger, append(gone[:len(gone):len(gone)], d.pod.UID)}
	}
	return d.staying, d.ending
}

// take goes on with the answer to the question.
func (d *decision) take(a Answer) {
	switch d.step {
	case BesideAllPods:
		d.besideAll(a)
	case WithoutTerminating:
		d.withoutEnding(a)
	case OnEmptyNode:
		d.conclude(Rejected)
		if a.Admit {
			d.answer.Full = true
			d.conclude(Waiting)
		}
	case search:
		if d.at++; a.Admit || d.at == len(d.all) {
			d.step, d.at = confirm, 0
			return
		}
		d.gone = d.all[:d.at+1]
	case confirm:
		d.confirm(a)
	}
}

func (d *decision) besideAll(a Answer) {
	d.answer, d.asked = a, BesideAllPods
	switch {
	case a.Admit:
		d.answer = Answer{}
		d.conclude(Admitted)
	case a.unknown || a.Pending:
		d.conclude(Waiting)
	case d.ending != nil && d.ending.len() > 0:
		d.step = WithoutTerminating
	default:
		d.alone()
	}
}

func (d *decision) withoutEnding(a Answer) {
	if a.Admit {
		d.conclude(Waiting)
		d.findBlockers()
		return
	}
	d.answer, d.asked = a, WithoutTerminating
	if a.unknown || a.Pending {
		d.conclude(Waiting)
		return
	}
	d.alone()
}

// alone asks about the empty node if that makes a difference.
func (d *decision) alone() {
	if d.whenFull {
		d.step = OnEmptyNode
		return
	}
	d.conclude(Rejected)
}

func (d *decision) conclude(v State) { d.verdict, d.step = v, decided }

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
	d.step, d.at, d.gone = search, 0, d.all[:1]
}

// confirm drops a pod from those that are needed if the pod fits beside it.
func (d *decision) confirm(a Answer) {
	if uid := d.gone[d.at]; a.Admit {
		d.gone = slices.Delete(slices.Clone(d.gone), d.at, d.at+1)
	} else {
		d.needed = append(d.needed, uid)
		d.at++
	}
	if d.at == len(d.gone) {
		d.step = decided
	}
}

// Judge finds what becomes of a pod, Admitted, Waiting or Rejected, without a table, with the answer that
// it comes from and the question that was answered so. whenFull: a pod that is refused because of pods
// that stay waits for their end; it is refused if it would be refused alone too. ask is called by Judge
// alone.
func Judge(pod *Pod, beside Snapshot, whenFull bool, ask func(Question, Snapshot) Answer) (State, Answer, Question) {
	d := decision{pod: pod, whenFull: whenFull, staying: beside.Staying.of, ending: beside.Terminating.of}
	for d.step < Questions {
		d.take(ask(d.step, snapshot(d.question())))
	}
	return d.verdict, d.answer, d.asked
}

// IsDecisive reports whether an answer in the chain decides on its own. A static pod that finds a host
// port or a name taken by a pod that stays waits for that, unless a refusal of another kind comes
// after it: a file that changes a moment before the file of the other pod is not refused for good.
// Pods that are ending are waited for in any case. A pod of an API server, or of the host program, is
// refused: its owner makes another.
func (s Snapshot) IsDecisive(pod *Pod, a Answer) bool { return s.ends() || !pod.Static || !a.KeyTaken }

// shared reports whether reasons only say that another pod has what the pod needs for itself.
func shared(reasons []Reason) bool {
	return len(reasons) > 0 && !slices.ContainsFunc(reasons, func(r Reason) bool { return r.Kind != KindHostPort && r.Kind != KindPodName })
}

// NewAnswer is the answer of a rule, or of a handler, with these reasons; it admits without any.
func NewAnswer(reasons ...Reason) Answer {
	if len(reasons) == 0 {
		return Answer{Admit: true}
	}
	return Answer{Reason: reasons[0].Reason, Message: reasons[0].Message, KeyTaken: shared(reasons), Fault: reasons[0].Kind == KindFault}
}

// NameConflicts is the reason of a static pod whose full name a pod has that the workers' name queue does
// not have. The workers see to all others.
func (s Snapshot) NameConflicts(pod *Pod) (reasons []Reason) {
	if !pod.Static || len(pod.Claims.Keys) == 0 {
		return nil
	}
	s.Terminating.Holders(pod.Claims.Keys[0], func(h Holder) bool {
		if h.RuntimeOnly && h.UID != pod.UID {
			reasons = []Reason{nameConflict(h, "a pod that was started before this agent")}
		}
		return reasons == nil
	})
	return reasons
}
