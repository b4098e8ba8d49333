//go:build !race

package proportion_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/proportion"
)

// failing is a test that records its failures.
type failing struct {
	testing.TB
	failures []string
}

func (f *failing) Helper() {}
func (f *failing) Errorf(format string, args ...any) {
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

// TestCheck: a loop is proportional; a nested loop is not.
func TestCheck(t *testing.T) {
	const size, times = 100, 20
	sum := 0
	loop := func(n int) func() {
		return func() {
			for i := range n * 100 {
				sum += i
			}
		}
	}
	nested := func(n int) func() {
		return func() {
			for i := range n {
				for j := range n {
					sum += i ^ j
				}
			}
		}
	}
	linear, quadratic := &failing{TB: t}, &failing{TB: t}
	proportion.Check(linear, loop(size), loop(times*size), times)
	assert.Empty(t, linear.failures)
	proportion.Check(quadratic, nested(size), nested(times*size), times)
	assert.Len(t, quadratic.failures, 1)
	assert.NotZero(t, sum)
}
