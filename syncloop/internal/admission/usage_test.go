package admission_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/syncloop/internal/admission"
)

// capacity is that of the node of these tests.
var capacity = v1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("4k"), "example.com/gpu": resource.MustParse("1500")}

// answer is admission by resources, ports and names, which sees all that there is to see.
func answer(item admission.Item, beside admission.Beside) admission.Answer {
	return answerWith(item, beside, resource.Quantity{})
}

// answerWith is answer on a node with less of everything.
func answerWith(item admission.Item, beside admission.Beside, less resource.Quantity) admission.Answer {
	parts := []admission.Taken{beside.Staying}
	if beside.Ending != nil {
		parts = append(parts, beside.Ending)
	}
	n := 0
	for _, part := range parts {
		n += part.Len()
		for _, port := range item.Ports {
			if _, taken := part.Holder(port); taken { // Of several who have it any may be told.
				return admission.Answer{Reason: "port " + port.String()}
			}
		}
		if len(part.Named(item.Namespace, item.Name)) > 2 {
			return admission.Answer{Reason: "name"}
		}
	}
	if n >= 4 {
		return admission.Answer{Reason: fmt.Sprint("count ", n)}
	}
	for _, name := range []v1.ResourceName{"cpu", "memory", "example.com/gpu"} {
		want, most := item.Requests[name], capacity[name].DeepCopy()
		most.Sub(less)
		sum := want.DeepCopy()
		for _, part := range parts {
			sum.Add(part.Requested(name))
		}
		if want.Sign() > 0 && sum.Cmp(most) > 0 {
			return admission.Answer{Reason: fmt.Sprintf("%s %s", name, sum.String()), Short: admission.ShortOf(name, want, most)}
		}
	}
	return admission.Answer{Admit: true}
}

// TestUsage_ForetellsTheQueue: after any history a Usage says of a pod what the Queue says
// of it when it comes, reasons included; so it does of pods that are only assumed.
func TestUsage_ForetellsTheQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q admission.Queue
		var u admission.Usage
		q.WaitWhenFull = rapid.Bool().Draw(t, "wait")
		items := map[types.UID]admission.Item{}
		ask := func(uid types.UID, beside admission.Beside) admission.Answer { return answer(items[uid], beside) }
		judge := func(item admission.Item) (admission.Verdict, admission.Answer) {
			beside := u.Beside(item, admission.Rank(item.Priority, q.WaitWhenFull), false)
			verdict, said, _ := admission.Judge(beside, q.WaitWhenFull, func(_ admission.Question, b admission.Beside) admission.Answer { return answer(item, b) })
			return verdict, said
		}
		now := time.Unix(0, 0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			uid := types.UID(fmt.Sprint("u", rapid.IntRange(0, 7).Draw(t, "uid")))
			one := item(t, uid)
			one.Priority = int32(rapid.IntRange(-1, 1).Draw(t, "priority"))
			switch rapid.IntRange(0, 6).Draw(t, "action") {
			case 0:
				q.Leave(uid)
			case 1:
				q.End(one, now)
			case 2:
				q.Ended(uid)
			case 3:
				items[uid] = one
				q.Stay(one)
			case 4, 5:
				items[uid] = one
				verdict, said := judge(one)
				d := q.Admit(one, true, now, ask)
				said.Short, d.Answer.Short = admission.Shortage{}, admission.Shortage{} // The reasons tell of them.
				if verdict != d.Verdict || said != d.Answer {
					t.Fatalf("%s: foretold %v %+v, got %v %+v", uid, verdict, said, d.Verdict, d.Answer)
				}
			case 6:
				several(t, &q, &u, items, judge, ask)
			}
			q.Review(now, ask)
			u.Update(&q)
			allocated(t, &q, &u)
		}
	})
}

// several come at once: each is assumed before the Queue decides on the first.
func several(t *rapid.T, q *admission.Queue, u *admission.Usage, items map[types.UID]admission.Item,
	judge func(admission.Item) (admission.Verdict, admission.Answer), ask admission.Ask) {
	var foretold []admission.Verdict
	var come []admission.Item
	for i := range rapid.IntRange(1, 4).Draw(t, "several") {
		one := item(t, types.UID(fmt.Sprint("v", i)))
		one.Pod.UID = one.UID
		q.Leave(one.UID)
		q.Ended(one.UID)
		come, items[one.UID] = append(come, one), one
	}
	u.Update(q)
	for _, one := range come {
		assert.True(t, u.Assume(one.Pod))
		assert.Same(t, one.Pod, u.Unjudged())
		verdict, _ := judge(one)
		u.Judged(one, admission.Rank(one.Priority, q.WaitWhenFull), verdict)
		foretold = append(foretold, verdict)
	}
	assert.Nil(t, u.Unjudged())
	for i, one := range come {
		if d := q.Admit(one, true, time.Unix(0, 0), ask); d.Verdict != foretold[i] {
			t.Fatalf("%s: foretold %v, got %v", one.UID, foretold[i], d.Verdict)
		}
		q.Touch(one.UID)
	}
	u.Update(q)
	assert.Empty(t, u.Assumed())
}

// allocated: what waits has nothing.
func allocated(t *rapid.T, q *admission.Queue, u *admission.Usage) {
	list := u.Allocated()
	for name := range capacity {
		want := q.Staying().Requested(name)
		want.Add(q.Ending().Requested(name))
		for _, uid := range q.WaitingUIDs() {
			item, _ := q.Staying().Get(uid)
			want.Sub(item.Requests[name])
		}
		if got := list[name]; got.Cmp(want) != 0 {
			t.Fatalf("%s: %s is allocated, want %s", name, got.String(), want.String())
		}
	}
}

// TestUsage_Assumed: an assumption is taken back, or replaced by one of other content, and
// one that is refused takes nothing.
func TestUsage_Assumed(t *testing.T) {
	var u admission.Usage
	first, second := &v1.Pod{}, &v1.Pod{}
	first.UID, second.UID = "a", "a"
	one := func(pod *v1.Pod, cpu string) admission.Item {
		i := admission.Item{UID: pod.UID, Pod: pod}
		i.Requests = v1.ResourceList{"cpu": resource.MustParse(cpu)}
		return i
	}
	cpu := func() string { q := u.Allocated()["cpu"]; return q.String() }
	assert.True(t, u.Assume(first))
	u.Judged(one(first, "1"), 0, admission.Admitted)
	assert.Equal(t, "1", cpu())
	assert.False(t, u.Assume(second), "the UID is known")
	assert.Equal(t, "0", cpu(), "it has not been judged")
	u.Judged(one(first, "1"), 0, admission.Admitted)
	assert.Equal(t, "0", cpu(), "a verdict on what it was before")
	u.Judged(one(second, "2"), 0, admission.Waits)
	assert.Equal(t, "0", cpu(), "what waits has nothing")
	waits := u.Beside(admission.Item{UID: "b"}, 0, true).Staying
	assert.Equal(t, []*v1.Pod{second}, waits.Pods())
	assert.Equal(t, 0, u.Beside(admission.Item{UID: "a"}, 0, false).Staying.Len(), "none waits for itself")
	without := u.Beside(admission.Item{UID: "b"}, 0, true, "a", "a", "unknown").Staying
	assert.Empty(t, without.Pods())
	assert.Zero(t, without.Len())
	left := without.Requested("cpu")
	assert.Equal(t, "0", left.String())
	u.Forget("a")
	assert.Empty(t, u.Assumed())
	assert.True(t, u.Assume(second))
	u.Judged(one(second, "2"), 0, admission.Refused)
	assert.Equal(t, "0", cpu())
	assert.Equal(t, []types.UID{"a"}, slices.Sorted(slices.Values(u.Assumed())))
}
