package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/syncloop/internal/admission"
)

// twin is a Queue with what it has said of each pod, without the numbers.
type twin struct {
	admission.Queue
	told  map[types.UID]string
	asked int
}

func newTwin() *twin {
	return &twin{Queue: admission.Queue{WaitWhenFull: true}, told: map[types.UID]string{}}
}

func (q *twin) hear(decisions ...admission.Decision) {
	for _, d := range decisions {
		q.told[d.UID] = fmt.Sprint(d.Verdict, d.Answer.Full, d.For)
	}
}

// TestQueue_ShortagesChangeNoVerdict: after any history a Queue that knows shortages has the
// same pods waiting in the same way as one that asks about each pod each time, and has asked
// no more often.
func TestQueue_ShortagesChangeNoVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		knows, asks := newTwin(), newTwin()
		items, less := map[types.UID]admission.Item{}, resource.MustParse("0")
		ask := func(q *twin, shortages bool) admission.Ask {
			return func(uid types.UID, beside admission.Beside) admission.Answer {
				q.asked++
				item := items[uid]
				a := answerWith(item, beside, less)
				if !shortages {
					a.Short = admission.Shortage{}
				}
				return a
			}
		}
		now := time.Unix(0, 0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			uid := types.UID(fmt.Sprint("u", rapid.IntRange(0, 9).Draw(t, "uid")))
			one := item(t, uid)
			one.Priority = int32(rapid.IntRange(-1, 1).Draw(t, "priority"))
			action := rapid.IntRange(0, 7).Draw(t, "action")
			if action == 7 {
				less = resource.MustParse(rapid.SampledFrom([]string{"0", "-1", "1"}).Draw(t, "less"))
			}
			for q, shortages := range map[*twin]bool{knows: true, asks: false} {
				switch action {
				case 0:
					q.Leave(uid)
					delete(q.told, uid)
				case 1:
					q.End(one, now)
				case 2:
					q.Ended(uid)
				case 3:
					items[uid] = one
					q.Stay(one)
				case 4, 5, 6:
					items[uid] = one
					q.hear(q.Admit(one, uid < "u8", now, ask(q, shortages)))
				case 7:
					q.Recheck()
				}
				decisions, _, _ := q.Review(now, ask(q, shortages))
				q.hear(decisions...)
			}
			if fmt.Sprint(knows.told, knows.WaitingUIDs()) != fmt.Sprint(asks.told, asks.WaitingUIDs()) {
				t.Fatalf("with shortages\n%v %v\nwithout\n%v %v", knows.told, knows.WaitingUIDs(), asks.told, asks.WaitingUIDs())
			}
		}
		assert.LessOrEqual(t, knows.asked, asks.asked)
	})
}
