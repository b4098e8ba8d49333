package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/internal/admission"
)

// The verdict on a pod by the answers to the questions, and the questions that are asked.
func TestJudge(t *testing.T) {
	yes, no := admission.Answer{Admit: true}, admission.Answer{}
	unknown, pending := admission.Answer{Unknown: true}, admission.Answer{Pending: true}
	full := admission.Answer{Full: true}
	for _, c := range []struct {
		name              string
		ending, waits     bool
		all, without, one admission.Answer // the answers beside all, without those that end, and alone

		verdict  admission.Verdict
		answer   admission.Answer
		question admission.Question
		asked    string
	}{
		{name: "admitted", ending: true, waits: true, all: yes, verdict: admission.Admitted, asked: "0"},
		{name: "unknown waits whatever would come", all: unknown, ending: true, waits: true, without: yes, one: yes,
			verdict: admission.Waits, answer: unknown, asked: "0"},
		{name: "pending waits whatever would come", all: pending, ending: true, waits: true, without: yes, one: yes,
			verdict: admission.Waits, answer: pending, asked: "0"},
		{name: "unknown, and not patient", all: unknown, verdict: admission.Waits, answer: unknown, asked: "0"},
		{name: "pending, and not patient", all: pending, verdict: admission.Waits, answer: pending, asked: "0"},
		{name: "waits for those that end", all: no, ending: true, without: yes, verdict: admission.Waits, answer: no, asked: "01"},
		{name: "pending when they have ended", all: no, ending: true, waits: true, without: pending, one: yes,
			verdict: admission.Waits, answer: pending, question: admission.WithoutEnding, asked: "01"},
		{name: "refused also without those that end", all: no, ending: true, without: no, one: yes,
			verdict: admission.Refused, answer: no, question: admission.WithoutEnding, asked: "01"},
		{name: "the node is full of those that stay", all: no, ending: true, waits: true, without: no, one: yes,
			verdict: admission.Waits, answer: full, question: admission.WithoutEnding, asked: "012"},
		{name: "no pod ends", all: no, waits: true, one: yes, verdict: admission.Waits, answer: full, asked: "02"},
		{name: "too large for the node", all: no, waits: true, one: no, verdict: admission.Refused, answer: no, asked: "02"},
		{name: "refused at once", all: no, one: yes, verdict: admission.Refused, answer: no, asked: "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			beside, asked := admission.Beside{Staying: &admission.Sums{}, Ending: &admission.Sums{}}, ""
			if c.ending {
				beside.Ending.(*admission.Sums).Put(admission.Item{UID: types.UID("ending")})
			}
			verdict, answer, question := admission.Judge(beside, c.waits, func(q admission.Question, b admission.Beside) admission.Answer {
				asked += fmt.Sprint(q)
				assert.Equal(t, q == admission.BesideAll, b.Ending != nil, "who ends counts in the first question alone")
				return []admission.Answer{c.all, c.without, c.one}[q]
			})
			assert.Equal(t, c.verdict, verdict)
			assert.Equal(t, c.answer, answer)
			assert.Equal(t, c.question, question)
			assert.Equal(t, c.asked, asked)
		})
	}
}

// A pod that the node cannot run yet waits for no other pod and without a limit, also if it waited
// with one before; without an answer the limit stays.
func TestQueue_PendingHasNoLimit(t *testing.T) {
	var q admission.Queue
	q.End(admission.Item{UID: "ending"}, began.Add(10*time.Second))
	answer := admission.Answer{Pending: true}
	ask := func(uid types.UID, beside admission.Beside) admission.Answer {
		if answer == (admission.Answer{}) { // Refused beside the one that ends.
			return admission.Answer{Admit: beside.Ending == nil || beside.Ending.Len() == 0}
		}
		return answer
	}
	review := func(at time.Duration) (decisions []admission.Decision, next time.Duration, timed bool) {
		q.Recheck()
		decisions, until, timed := q.Review(began.Add(at), ask)
		return decisions, until.Sub(began), timed
	}
	d := q.Admit(admission.Item{UID: "new"}, false, began, ask)
	assert.Equal(t, admission.Decision{UID: "new", Verdict: admission.Waits, Answer: admission.Answer{Pending: true}}, d)
	_, _, timed := review(24 * time.Hour)
	assert.False(t, timed, "it has no time")

	answer = admission.Answer{}
	decisions, next, timed := review(24 * time.Hour)
	assert.Len(t, decisions, 1)
	assert.Equal(t, []types.UID{"ending"}, decisions[0].For)
	assert.True(t, timed)
	limit := next

	answer = admission.Answer{Unknown: true}
	_, next, timed = review(24*time.Hour + time.Second)
	assert.True(t, timed)
	assert.Equal(t, limit, next, "without an answer the limit stays")

	answer = admission.Answer{Pending: true}
	decisions, _, timed = review(24*time.Hour + 2*time.Second)
	assert.False(t, timed)
	assert.Equal(t, []admission.Decision{{UID: "new", Verdict: admission.Waits, Answer: answer}}, decisions)
	decisions, _, _ = review(48 * time.Hour)
	assert.Empty(t, decisions, "it is not refused")
}
