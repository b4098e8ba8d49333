package allocation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func podNamed(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
}

func podOf(name string) Pod { return Pod{UID: types.UID(name), Name: name, Pod: podNamed(name)} }

func namesOf(pods []*v1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// The list of pods is in order of arrival, also when a pod returns to its position while the list
// is kept.
func TestLedger_TheListKeepsTheOrder(t *testing.T) {
	var s, other ledger
	for _, name := range []string{"a", "b", "c"} {
		s.putPod(podOf(name))
		assert.NotEmpty(t, s.listPods())
	}
	b := s.items["b"]
	s.removePod("b")
	assert.Equal(t, []string{"a", "c"}, namesOf(s.listPods()))
	s.insertAndAddToSums(b)
	assert.Equal(t, []string{"a", "b", "c"}, namesOf(s.listPods()))
	list := s.listPods()
	s.putPod(podOf("d"))
	assert.Equal(t, []string{"a", "b", "c", "d"}, namesOf(s.listPods()))
	assert.Equal(t, []string{"a", "b", "c"}, namesOf(list), "it is shared, and only read")
	other.insertAndAddToSums(b)
	assert.Equal(t, []string{"b"}, namesOf(other.listPods()))
}

// Assumed pods come after all other pods, in the order of their decisions.
func TestUsage_AssumedPodsKeepTheirOrder(t *testing.T) {
	u := NewUsage(NewChain())
	var want []string
	for i := range 20 {
		name := fmt.Sprint("p", i)
		want = append(want, name)
		item := podOf(name)
		assert.True(t, u.Assume(item.Pod))
		assert.Same(t, item.Pod, u.NextWithoutVerdict())
		u.CountAssumed(item, 0, Admitted)
	}
	assert.Equal(t, want, namesOf(u.admitted.listPods()))
}

// When one pod of a rank stops waiting, the others still wait. When one assumed pod is removed, the others
// stay assumed.
func TestUsage_RemovingOnePodKeepsTheOthers(t *testing.T) {
	u := NewUsage(NewChain())
	for _, name := range []string{"a", "b", "c"} {
		item := podOf(name)
		u.Assume(item.Pod)
		if name != "c" {
			u.CountAssumed(item, 0, Waiting)
		}
	}
	u.Unassume("a")
	assert.ElementsMatch(t, []types.UID{"b", "c"}, u.Assumed())
	assert.Equal(t, "c", u.NextWithoutVerdict().Name)
	assert.Len(t, u.waiting, 1)
	assert.Equal(t, []string{"b"}, namesOf(u.waiting[0].listPods()))
	u.Unassume("b")
	assert.Empty(t, u.waiting)
	u.Unassume("c")
	assert.Empty(t, u.Assumed())
	assert.Nil(t, u.NextWithoutVerdict())
}
