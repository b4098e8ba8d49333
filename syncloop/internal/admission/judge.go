package admission

// Question is a situation in which admission is asked about a pod.
type Question uint8

// The questions, in the order in which they are asked.
const (
	// BesideAll: the pod starts now, beside all others.
	BesideAll Question = iota
	// WithoutEnding: the pods that are ending have ended.
	WithoutEnding
	// Alone: the node has no other pod.
	Alone

	// Questions is how many there are.
	Questions
)

// Judge finds the verdict on a pod, with the answer that it comes from and the question that
// was answered so. waits: a pod that is refused because of pods that stay waits for their
// end; it is refused if it would be refused alone too.
func Judge(beside Beside, waits bool, ask func(Question, Beside) Answer) (Verdict, Answer, Question) {
	answer, question := ask(BesideAll, beside), BesideAll
	switch {
	case answer.Admit:
		return Admitted, Answer{}, question
	case answer.Unknown || answer.Pending:
		return Waits, answer, question
	}
	if beside.Ending != nil && beside.Ending.Len() > 0 {
		without := ask(WithoutEnding, Beside{Staying: beside.Staying})
		if without.Admit {
			return Waits, answer, question
		}
		if answer, question = without, WithoutEnding; without.Pending {
			return Waits, answer, question
		}
	}
	if waits && ask(Alone, Beside{Staying: &Sums{}}).Admit {
		answer.Full = true
		return Waits, answer, question
	}
	return Refused, answer, question
}
