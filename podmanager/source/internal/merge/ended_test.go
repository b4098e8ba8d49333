package merge_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/source/internal/merge"
)

// A pod that was deleted by force is delivered with a grace period of zero and then removed. A
// consumer that has read neither gets the REMOVE with that grace period, after single changes and
// after lists.
func TestTracker_EndHasItsGrace(t *testing.T) {
	for name, remove := range map[string]func(*merge.Tracker, *v1.Pod){
		"removed":  func(s *merge.Tracker, pod *v1.Pod) { s.Remove(pod.UID, true, time.Unix(9, 0)) },
		"left out": func(s *merge.Tracker, _ *v1.Pod) { s.Replace(nil, true, time.Unix(9, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			var s merge.Tracker
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "a"}}
			s.Replace([]*v1.Pod{pod}, true, time.Unix(1, 0))
			require.Len(t, s.Consume().Changes("api").Add, 1)
			deleted := pod.DeepCopy()
			deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Unix(5, 0)}, new(int64(0))
			s.Put(deleted, true, time.Unix(5, 0))
			remove(&s, deleted)
			c := s.Consume().Changes("api")
			require.Len(t, c.Remove, 1)
			require.NotNil(t, c.Remove[0].DeletionGracePeriodSeconds)
			assert.Zero(t, *c.Remove[0].DeletionGracePeriodSeconds)
			assert.Empty(t, c.Delete)
		})
	}
}
