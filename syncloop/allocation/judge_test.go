package allocation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

// The verdict on a pod depends on the answers to the questions. The test shows the questions too.
func TestJudge(t *testing.T) {
	yes, no := Answer{Admit: true}, Answer{}
	unknown, pending := Answer{firstPanic: true}, Answer{Pending: true}
	full := Answer{WaitsWhenFull: true}
	for _, c := range []struct {
		name              string
		ending, waits     bool
		all, without, one Answer // the answers beside all, without those that end, and alone

		verdict  State
		answer   Answer
		question Question
		asked    string
	}{
		{name: "admitted", ending: true, waits: true, all: yes, verdict: Admitted, asked: "0"},
		{name: "unknown waits whatever would come", all: unknown, ending: true, waits: true, without: yes, one: yes,
			verdict: Waiting, answer: unknown, asked: "0"},
		{name: "pending waits whatever would come", all: pending, ending: true, waits: true, without: yes, one: yes,
			verdict: Waiting, answer: pending, asked: "0"},
		{name: "unknown, and not patient", all: unknown, verdict: Waiting, answer: unknown, asked: "0"},
		{name: "pending, and not patient", all: pending, verdict: Waiting, answer: pending, asked: "0"},
		{name: "waits for those that end", all: no, ending: true, without: yes, verdict: Waiting, answer: no, asked: "01"},
		{name: "pending when they have ended", all: no, ending: true, waits: true, without: pending, one: yes,
			verdict: Waiting, answer: pending, question: WithoutTerminating, asked: "01"},
		{name: "refused also without those that end", all: no, ending: true, without: no, one: yes,
			verdict: Rejected, answer: no, question: WithoutTerminating, asked: "01"},
		{name: "the node is full of those that stay", all: no, ending: true, waits: true, without: no, one: yes,
			verdict: Waiting, answer: full, question: WithoutTerminating, asked: "012"},
		{name: "no pod ends", all: no, waits: true, one: yes, verdict: Waiting, answer: full, asked: "02"},
		{name: "too large for the node", all: no, waits: true, one: no, verdict: Rejected, answer: no, asked: "02"},
		{name: "refused at once", all: no, one: yes, verdict: Rejected, answer: no, asked: "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ending ledger
			asked := ""
			if c.ending {
				ending.putPod(Pod{UID: "ending"})
			}
			verdict, answer, question := Judge(&Pod{}, newSnapshot(&ledger{}, &ending), c.waits, func(q Question, b Snapshot) Answer {
				asked += fmt.Sprint(q)
				assert.Equal(t, q != BesideAllPods, b.Trial, "the pods that are ending count in the first question alone")
				return []Answer{c.all, c.without, c.one}[q]
			})
			assert.Equal(t, c.verdict, verdict)
			assert.Equal(t, c.answer, answer)
			assert.Equal(t, c.question, question)
			assert.Equal(t, c.asked, asked)
		})
	}
}

// A Pending pod waits for no other pod and without a limit, even if it had a limit before. After a panic the
// limit stays.
func TestTable_PendingHasNoLimit(t *testing.T) {
	table := New(Config{Chain: asked})
	table.startTermination("ending", table.ensureRecord("ending"), Termination{Pod: Pod{UID: "ending"}, Until: began.Add(10 * time.Second)})
	answer := Answer{Pending: true}
	ask := func(e Effect) Answer {
		if answer == (Answer{}) { // Refused beside the pod that ends.
			return Answer{Admit: e.Snapshot.Terminating.Len() == 0}
		}
		return answer
	}
	review := func(at time.Duration) (effects []Effect, next time.Duration, timed bool) {
		table.Recheck()
		effects = answerAll(table, began.Add(at), table.Review(began.Add(at), nil), ask)
		until, timed := table.NextLimit()
		return effects, until.Sub(began), timed
	}
	effects := answerAll(table, began, table.Add(Pod{UID: "new"}, false, began, nil), ask)
	assert.Equal(t, []Effect{{Kind: Wait, UID: "new", Answer: Answer{Pending: true}}}, effects)
	_, _, timed := review(24 * time.Hour)
	assert.False(t, timed, "it has no time")

	answer = Answer{}
	effects, next, timed := review(24 * time.Hour)
	assert.Len(t, effects, 1)
	assert.Equal(t, []types.UID{"ending"}, effects[0].Blockers)
	assert.True(t, timed)
	limit := next

	answer = Answer{Fault: true}
	_, next, timed = review(24*time.Hour + time.Second)
	assert.True(t, timed)
	assert.Equal(t, limit, next, "without an answer the limit stays")

	answer = Answer{Pending: true}
	effects, _, timed = review(24*time.Hour + 2*time.Second)
	assert.False(t, timed)
	assert.Equal(t, []Effect{{Kind: Wait, UID: "new", Answer: answer}}, effects)
	effects, _, _ = review(48 * time.Hour)
	assert.Empty(t, effects, "it is not refused")
}
