package workqueue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

func TestQueue_I22_GoneEntriesLeaveNothingBehind(t *testing.T) {
	q := New(Config{})
	for i := range 10_000 {
		uid := types.UID(fmt.Sprint(i))
		q.Enqueue(uid, -time.Second)
		if i%2 == 0 {
			q.Remove(uid)
		} else {
			q.GetWork(time.Now(), nil)
		}
	}
	h := &q.mu.heap
	assert.Empty(t, h.index)
	assert.Empty(t, h.order)
	assert.Len(t, h.slots, 1, "places are used again")
	assert.Equal(t, slot{}, h.slots[0], "and keep no UID alive")
}
