package lifecycle_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// kinds are the updates whose order must not matter for the sticky flags.
var kinds = []string{
	"create a grace=30", "update a grace=30", "sync a", "kill a override=9", "kill a evict",
	"update a deleted deletion=5", "update a terminal", "orphan a override=1",
}

// TestSticky_I9_AnyOrder: every order of every set of at most five updates, in every stage of a
// pod, has the same sticky flags as its result (B-032, B-033).
func TestSticky_I9_AnyOrder(t *testing.T) {
	n := 0
	for _, start := range []string{"unknown", "syncing", "terminating", "terminated"} {
		for set := 1; set < 1<<len(kinds); set++ {
			var chosen []string
			for i, k := range kinds {
				if set&(1<<i) != 0 {
					chosen = append(chosen, k)
				}
			}
			if len(chosen) > 5 {
				continue
			}
			want, first := "", []string(nil)
			permuteList(chosen, 0, func(order []string) {
				n++
				w := newHarness()
				for _, line := range append(append([]string{}, states[start]...), order...) {
					if _, err := w.runLine(line); err != nil {
						t.Fatalf("%s %v: %s: %v", start, order, line, err)
					}
				}
				v := w.t.View("a")
				got := fmt.Sprint(v.IsPodTerminationRequested(), v.Deleted, v.Evicted)
				if first == nil {
					want, first = got, append([]string{}, order...)
				}
				require.Equal(t, want, got, "%s: %v and %v", start, first, order)
			})
		}
	}
	t.Logf("%d orders", n)
}

// permuteList calls f with every order of list, in place.
func permuteList(list []string, i int, f func([]string)) {
	if i == len(list) {
		f(list)
		return
	}
	for j := i; j < len(list); j++ {
		list[i], list[j] = list[j], list[i]
		permuteList(list, i+1, f)
		list[i], list[j] = list[j], list[i]
	}
}
