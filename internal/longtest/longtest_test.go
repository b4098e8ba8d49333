package longtest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/longtest"
)

func TestCount(t *testing.T) {
	for value, long := range map[string]bool{"": false, "0": false, "true": false, "1": true} {
		t.Run(fmt.Sprintf("%q", value), func(t *testing.T) {
			t.Setenv("PODKEEL_LONG", value)
			assert.Equal(t, long, longtest.Run())
			assert.Equal(t, map[bool]int{false: 5, true: 6}[long], longtest.Count(5, 6))
			assert.Equal(t, 6, longtest.Count(6, 6))
			// The short form can fail, and the long one is complete.
			assert.Panics(t, func() { longtest.Count(0, 6) })
			assert.Panics(t, func() { longtest.Count(7, 6) })
		})
	}
}

// In the long form there is a crash at each step. The short form has at most the given number of
// crashes, spread over the whole story.
func TestStride(t *testing.T) {
	for _, steps := range []int{0, 1, 2, 59, 60, 61, 119, 120, 121, 300, 4321} {
		for _, points := range []int{1, 7, 60} {
			t.Setenv("PODKEEL_LONG", "1")
			assert.Equal(t, 1, longtest.Stride(steps, points))
			t.Setenv("PODKEEL_LONG", "")
			stride, visited, last := longtest.Stride(steps, points), 0, 0
			for k := 1; k <= steps; k += stride {
				visited, last = visited+1, k
			}
			assert.LessOrEqual(t, visited, points, "%d steps", steps)
			assert.Less(t, steps-last, stride, "%d steps: the end of the story is visited", steps)
			if steps <= points {
				assert.Equal(t, steps, visited, "a story that is short enough is visited whole")
			}
		}
	}
}
