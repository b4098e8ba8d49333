package sorting_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/internal/sorting"
)

// TestFunc: it sorts as slices.SortStableFunc does.
func TestFunc(t *testing.T) {
	type pair struct{ key, place int }
	rapid.Check(t, func(t *rapid.T) {
		var list []pair
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 5)).Draw(t, "keys") {
			list = append(list, pair{key, i})
		}
		want := slices.Clone(list)
		byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
		slices.SortStableFunc(want, byKey)
		sorting.Func(list, byKey)
		assert.Equal(t, want, list)
	})
}
