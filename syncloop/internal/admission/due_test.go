package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/internal/admission"
)

// Due is true as long as something has changed that a pod which waits has not been asked
// about; Waiting says of which pods that may be.
func TestQueue_DueAndWaiting(t *testing.T) {
	s := &story{t: t, cpu: resource.MustParse("1")}
	q := &s.admissionQueue
	s.command([]string{"end", "old", "cpu=1"})
	assert.False(t, q.Due(), "nothing waits")
	s.command([]string{"arrive", "new", "cpu=1"})
	assert.True(t, q.Waiting("new"))
	assert.False(t, q.Waiting("old"))
	assert.Equal(t, []types.UID{"new"}, q.WaitingUIDs())
	assert.True(t, q.Due(), "it has been asked about, but not by Review")
	s.review()
	assert.False(t, q.Due())
	q.Recheck()
	assert.True(t, q.Due())
	s.review()
	q.Leave("unknown")
	assert.False(t, q.Due(), "nothing has changed")
	q.Ended("unknown")
	assert.False(t, q.Due())
	q.Ended("old")
	assert.True(t, q.Due())
}

// Of 32 pods that are ending those are found that a pod waits for; of more it waits for
// all, as each is a question.
func TestQueue_BoundOfTheSearch(t *testing.T) {
	for many, want := range map[int]int{31: 1, 32: 1, 33: 33} {
		s := &story{t: t, cpu: resource.MustParse("1")}
		for i := range many {
			item := admission.Item{UID: types.UID(fmt.Sprintf("old-%02d", i)), Namespace: "ns"}
			if i == 7 {
				item, _, _ = s.pod([]string{string(item.UID), "port=80"})
			}
			s.admissionQueue.End(item, began.Add(time.Duration(i)*time.Second))
		}
		item, _, _ := s.pod([]string{"new", "port=80"})
		d := s.admissionQueue.Admit(item, true, began, s.ask)
		assert.Equal(t, admission.Waits, d.Verdict)
		assert.Len(t, d.For, want, "of %d", many)
		if want == 1 {
			assert.Equal(t, []types.UID{"old-07"}, d.For)
		}
	}
}
