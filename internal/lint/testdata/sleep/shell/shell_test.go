package shell

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLuck(t *testing.T) {
	time.Sleep(time.Second)
	select {
	case <-time.After(time.Second):
	}
	require.Eventually(t, nil, 0, 0)
	assert.Neverf(t, nil, 0, 0, "")
	for {
		runtime.Gosched()
	}
}

func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { time.Sleep(time.Second) })
	synctest.Test(t, named)
	synctest.Test(t, func(t *testing.T) { tick() })
}

func named(t *testing.T) { time.Sleep(time.Second) }

// tick lets a second pass. It runs in a bubble.
func tick() { time.Sleep(time.Second) }

func lucky() { time.Sleep(time.Second) }
