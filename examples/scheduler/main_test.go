package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun, in a bubble: which pod lands on which node, which waits and why, and what ends its
// waiting. In virtual time that is the same each time.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, run(t.Context(), &out))
		var want strings.Builder
		for i := range 100 {
			fmt.Fprintf(&want, "0.0s web-%02d is placed on n%02d\n", i, i%50) // The least allocated; of several the first.
		}
		want.WriteString(`0.0s db waits: map[NodeAffinity:40 OutOfcpu:50]
0.0s api waits: map[OutOfcpu:50]
1.5s api is placed on n10
2.0s log waits: map[NodeUnschedulable:1 OutOfcpu:50]
3.0s log is placed on n25
4.0s db is placed on n42
`)
		assert.Equal(t, want.String(), out.String())
	})
}

func TestRun_EndsWhenItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		require.NoError(t, run(ctx, &strings.Builder{}))
	})
}
