package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// In a bubble two seconds take no time, and are always the same.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, run(t.Context(), &out))
		assert.Equal(t, `0.0s  clock  starts
0.0s  late   cannot start yet
0.1s  job    starts
0.4s  clock  tick
0.5s  late   starts
0.5s  job    40 + 2 = 42
0.5s  job    terminates by itself
0.5s  job    is stopped
0.5s  job    is cleaned up
0.7s  main   clock gets new content
0.8s  clock  tock
0.9s  late   here I am
1.2s  clock  tock
1.3s  main   clock is killed
1.3s  clock  is stopped
1.3s  clock  is cleaned up
1.3s  late   here I am
1.3s  main   clock has terminated: true
1.3s  main   housekeeping
1.3s  late   is stopped
1.3s  late   is cleaned up
1.6s  main   housekeeping
`, out.String())
	})
}

func TestRun_EndsWhenItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		require.NoError(t, run(ctx, &strings.Builder{}))
	})
}
