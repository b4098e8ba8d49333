package admission

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func named(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
}

func itemOf(name string) Item { return Item{UID: types.UID(name), Name: name, Pod: named(name)} }

func namesOf(pods []*v1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// The list of pods is in the order of arrival, also when one comes back to its place while the list
// is kept.
func TestSums_TheListKeepsTheOrder(t *testing.T) {
	var s, other Sums
	for _, name := range []string{"a", "b", "c"} {
		s.Put(itemOf(name))
		assert.NotEmpty(t, s.Pods())
	}
	b := s.items["b"]
	s.Remove("b")
	assert.Equal(t, []string{"a", "c"}, namesOf(s.Pods()))
	s.put(b)
	assert.Equal(t, []string{"a", "b", "c"}, namesOf(s.Pods()))
	list := s.Pods()
	s.Put(itemOf("d"))
	assert.Equal(t, []string{"a", "b", "c", "d"}, namesOf(s.Pods()))
	assert.Equal(t, []string{"a", "b", "c"}, namesOf(list), "it is shared, and only read")
	other.put(b)
	assert.Equal(t, []string{"b"}, namesOf(other.Pods()))
}

// Pods that are only assumed come after all others, in the order in which they were judged.
func TestUsage_AssumedPodsKeepTheirOrder(t *testing.T) {
	var u Usage
	var want []string
	for i := range 20 {
		name := fmt.Sprint("p", i)
		want = append(want, name)
		item := itemOf(name)
		assert.True(t, u.Assume(item.Pod))
		assert.Same(t, item.Pod, u.Unjudged())
		u.Judged(item, 0, Admitted)
	}
	assert.Equal(t, want, namesOf(u.staying.Pods()))
}

// When one of the pods of a rank waits no longer, the others still do; and when one assumed pod is
// forgotten, the others are still assumed.
func TestUsage_OneLeavesAndTheOthersStay(t *testing.T) {
	var u Usage
	for _, name := range []string{"a", "b", "c"} {
		item := itemOf(name)
		u.Assume(item.Pod)
		if name != "c" {
			u.Judged(item, 0, Waits)
		}
	}
	u.Forget("a")
	assert.ElementsMatch(t, []types.UID{"b", "c"}, u.Assumed())
	assert.Equal(t, "c", u.Unjudged().Name)
	assert.Len(t, u.waiting, 1)
	assert.Equal(t, []string{"b"}, namesOf(u.waiting[0].Pods()))
	u.Forget("b")
	assert.Empty(t, u.waiting)
	u.Forget("c")
	assert.Empty(t, u.Assumed())
	assert.Nil(t, u.Unjudged())
}

// A pod that takes its place in front of those that wait leaves less for them, and they are asked
// about again. One behind them changes nothing for them.
func TestQueue_ThoseBehindAreAskedAgain(t *testing.T) {
	q := Queue{WaitWhenFull: true}
	var staying []int // beside the pods that were asked about
	full := func(uid types.UID, beside Beside) Answer {
		staying = append(staying, beside.Staying.Len())
		return Answer{Admit: beside.Staying.Len() == 0}
	}
	q.Stay(itemOf("stays"))
	arrive := func(name string, priority int32) bool {
		item := itemOf(name)
		item.Pod.Spec.Priority = &priority
		item.Priority, staying = priority, nil
		q.Admit(item, true, time.Unix(0, 0), full)
		due := q.Due()
		q.Review(time.Unix(0, 0), full)
		assert.False(t, q.Due())
		return due
	}
	q.Review(time.Unix(0, 0), full)
	assert.False(t, arrive("first", 5), "nobody waits")
	assert.False(t, arrive("behind", 1))
	assert.Equal(t, 2, staying[0], "the one that stays, and the one before it")
	assert.True(t, arrive("before", 9))
	assert.Equal(t, 1, staying[0], "those that wait behind it do not count")
	assert.Equal(t, []types.UID{"before", "first", "behind"}, q.WaitingUIDs())
}
