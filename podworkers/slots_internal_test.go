package podworkers

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
)

// In any interleaving of its parts, a call never holds two slots, and none at the end.
func TestLease_HoldsOneSlotAtMost(t *testing.T) {
	ctx := context.Background()
	s := newSlots(executor.Over(clock.RealClock{}), 2)
	l := &slotLease{slots: s}
	require.NoError(t, l.acquireInitial(ctx))
	require.NoError(t, l.acquireUnlessHeld(ctx), "another part has come back first")
	assert.Equal(t, 1, s.mu.free)
	l.releaseWhile(ctx, func() {
		assert.Equal(t, 2, s.mu.free)
		l.releaseWhile(ctx, func() { assert.Equal(t, 2, s.mu.free, "nested") })
		assert.Equal(t, 2, s.mu.free, "the outer one still waits")
	})
	assert.Equal(t, 1, s.mu.free)
	l.releaseForGood()
	assert.Equal(t, 2, s.mu.free)
	l.releaseWhile(ctx, func() {}) // A goroutine that the call has left.
	assert.Equal(t, 2, s.mu.free)
}
