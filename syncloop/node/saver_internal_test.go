package node

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
)

// removingStore is a store with the method Remove.
type removingStore struct{ calls *[]string }

// Remove implements conditionalRemover.
func (s removingStore) Remove(context.Context, types.UID, func(types.UID) bool) error {
	*s.calls = append(*s.calls, "Remove")
	return nil
}

// TestSaver_RemoveIfGone: the state of a pod that is gone is removed with the method Remove of the store, or dropped, and
// its pending change is cancelled. The state and the pending change of a pod that has come back stay.
func TestSaver_RemoveIfGone(t *testing.T) {
	for _, c := range []struct {
		gone, hasRemove bool
		want            []string
		wantPending     bool
	}{
		{false, false, nil, true}, {false, true, nil, true}, {true, false, []string{"drop"}, false}, {true, true, []string{"Remove"}, false},
	} {
		var calls []string
		s := newSaver(contain.New(contain.Config{}), clock.RealClock{})
		s.setPendingChange("a", s.executor.Now(), func() error { return nil })
		var store any
		if c.hasRemove {
			store = removingStore{&calls}
		}
		drop := func(types.UID) error { calls = append(calls, "drop"); return nil }
		require.NoError(t, s.removeIfGone(t.Context(), "a", func(types.UID) bool { return c.gone }, store, drop))
		assert.Equal(t, c.want, calls, "%+v", c)
		assert.Equal(t, c.wantPending, s.cancelPending("a"), "%+v", c)
	}
}
