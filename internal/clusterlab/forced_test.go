package clusterlab_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestJoin_ForceDeleted: pods are deleted with force and created again under their names again and
// again, at any moment of their lives. None but the deleted ones go: the server may take a status
// that it gets between the two steps of such a deletion for the removal of the next pod. Without
// the version in statuses 3 to 8 of 600 went.
func TestJoin_ForceDeleted(t *testing.T) {
	j := joinCluster(t)
	const names, rounds = 4, 75
	var together sync.WaitGroup
	for i := range names {
		together.Go(func() {
			name := fmt.Sprint("web-", i)
			for round := range rounds {
				made, err := j.admin.Create(t.Context(), &v1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
					Spec:       v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "web:1"}}},
				})
				if !assert.NoError(t, err) {
					return
				}
				sleepContext(t.Context(), time.Duration((round*7+i*13)%40)*time.Millisecond)
				have, err := j.admin.Get(t.Context(), made)
				if assert.NoError(t, err, "it is gone, and no one has deleted it") {
					assert.Equal(t, made.GetUID(), have.GetUID())
					assert.NoError(t, j.admin.Delete(t.Context(), made, new(int64)))
				}
			}
		})
	}
	together.Wait()
	j.waitForRunning()
}
