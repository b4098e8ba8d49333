package allocation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// NeedsReview is true while a change has not been reviewed and pods wait. State returns which pods wait.
func TestTable_NeedsReview(t *testing.T) {
	s := &story{t: t, cpu: resource.MustParse("1")}
	s.runCommand([]string{"end", "old", "cpu=1"})
	table := s.table
	assert.False(t, table.NeedsReview(), "nothing waits")
	s.runCommand([]string{"arrive", "new", "cpu=1"})
	state, previous := table.State("new")
	assert.Equal(t, []State{Waiting, Unknown}, []State{state, previous})
	state, previous = table.State("old")
	assert.Equal(t, []State{Unknown, Terminating}, []State{state, previous})
	assert.Equal(t, []types.UID{"new"}, table.WaitingUIDs())
	assert.True(t, table.NeedsReview(), "it has been asked about, but not by Review")
	s.reviewTable()
	assert.False(t, table.NeedsReview())
	table.Recheck()
	assert.True(t, table.NeedsReview())
	s.reviewTable()
	table.Remove("unknown")
	assert.False(t, table.NeedsReview(), "nothing has changed")
	table.finishTerminationOf("unknown")
	assert.False(t, table.NeedsReview())
	table.finishTerminationOf("old")
	assert.True(t, table.NeedsReview())
}

// If 32 pods terminate, the table finds the pods that a pod waits for. If more terminate, the pod waits for
// all of them.
func TestTable_BoundOfTheSearch(t *testing.T) {
	for many, want := range map[int]int{31: 1, 32: 1, 33: 33} {
		s := &story{t: t, cpu: resource.MustParse("1"), table: New(Config{Chain: asked})}
		for i := range many {
			words := []string{fmt.Sprintf("old-%02d", i), fmt.Sprintf("in=%ds", i)}
			if i == 7 {
				words = append(words, "port=80")
			}
			s.runCommand(append([]string{"end"}, words...))
		}
		pod, _, _ := s.parsePod([]string{"new", "port=80"})
		effects := answerAll(s.table, began, s.table.Add(pod, true, began, nil), s.answerEffect)
		assert.Len(t, effects, 1)
		assert.Equal(t, Wait, effects[0].Kind)
		assert.Len(t, effects[0].Blockers, want, "of %d", many)
		if want == 1 {
			assert.Equal(t, []types.UID{"old-07"}, effects[0].Blockers)
		}
	}
}

// A pod conflicts with another pod that has its full name or a host port.
func TestTable_ConflictsWith(t *testing.T) {
	s := &story{t: t}
	pod := func(uid, name string, port int) Pod {
		words := []string{uid}
		if port > 0 {
			words = append(words, fmt.Sprint("port=", port))
		}
		p, _, _ := s.parsePod(words)
		p.Pod.Name = name
		return asked.Pod(p.Pod, "", false)
	}
	for name, test := range map[string]struct {
		other  Pod
		needed bool
	}{
		"another":       {pod("b", "other", 81), false},
		"its name":      {pod("b", "web", 0), true},
		"its port":      {pod("b", "other", 80), true},
		"the pod again": {pod("a", "web", 80), false},
	} {
		table := New(Config{})
		table.SetStaying(test.other)
		orphan := pod("a", "web", 80)
		assert.Equal(t, test.needed, table.ConflictsWith(&orphan), name)
	}
}

// An arriving pod that is placed before waiting pods leaves less for them, so the table asks about them again.
// A pod placed behind them changes nothing for them.
func TestTable_PodsBehindAnArrivalAreAskedAgain(t *testing.T) {
	table := New(Config{Chain: asked, WaitWhenFull: true})
	var staying []int // beside the pods that were asked about
	full := func(e Effect) Answer {
		staying = append(staying, e.Snapshot.Staying.Len())
		return Answer{Admit: e.Snapshot.Staying.Len() == 0}
	}
	review := func() { answerAll(table, time.Unix(0, 0), table.Review(time.Unix(0, 0), nil), full) }
	table.SetStaying(podOf("stays"))
	arrive := func(name string, priority int32) bool {
		pod := podOf(name)
		pod.Priority, staying = priority, nil
		answerAll(table, time.Unix(0, 0), table.Add(pod, true, time.Unix(0, 0), nil), full)
		due := table.NeedsReview()
		review()
		assert.False(t, table.NeedsReview())
		return due
	}
	review()
	assert.False(t, arrive("first", 5), "no pod waits")
	assert.False(t, arrive("behind", 1))
	assert.Equal(t, 2, staying[0], "the staying pod and the waiting pod before it")
	assert.True(t, arrive("before", 9))
	assert.Equal(t, 1, staying[0], "those that wait behind it do not count")
	assert.Equal(t, []types.UID{"before", "first", "behind"}, table.WaitingUIDs())
}
