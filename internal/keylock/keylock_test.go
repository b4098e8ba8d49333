package keylock

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// One holder at a time for a key, other keys meanwhile, and no entry is left.
func TestLock(t *testing.T) {
	var (
		locks Locks[int]
		group sync.WaitGroup
		count [2]int // each guarded by the lock of its key
	)
	for i := range 100 {
		group.Go(func() {
			defer locks.Lock(i % 2)()
			count[i%2]++
		})
	}
	group.Wait()
	assert.Equal(t, [2]int{50, 50}, count)

	unlock := locks.Lock(1)
	locks.Lock(2)() // Would hang if keys shared a lock.
	assert.Len(t, locks.mu.keys, 1)
	unlock()
	assert.Empty(t, locks.mu.keys)
}
