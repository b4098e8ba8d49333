package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// TestNode_Hurry: a shorter grace period shortens running terminations, and no pod starts.
func TestNode_Hurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		n := runConfig(t, node.Config{Runtime: machine})
		require.ErrorIs(t, newNode(t).Drain(t.Context(), node.DrainOptions{GraceSeconds: new(int64(1))}), node.ErrNotRunning)
		deaf := newPod("deaf", "serve")
		deaf.Spec.TerminationGracePeriodSeconds = new(int64(600))
		deaf.Annotations = map[string]string{"memory.podkeel.dev/c": "run=forever ignore-term"}
		require.NoError(t, n.Apply(deaf))
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(time.Second)
		drained := make(chan error, 1)
		go func() { drained <- n.Drain(t.Context(), node.DrainOptions{}) }()
		time.Sleep(10 * time.Second)
		assert.Equal(t, []string{"deaf/c"}, runningContainers(machine))

		begun := time.Now()
		bounded, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.NoError(t, n.Drain(bounded, node.DrainOptions{GraceSeconds: new(int64(1))}))
		assert.LessOrEqual(t, time.Since(begun), 3*time.Second)
		assert.Empty(t, runningContainers(machine))
		require.NoError(t, <-drained, "who waited for the long grace waits no longer")

		require.NoError(t, n.Apply(newPod("late", "serve")))
		time.Sleep(time.Minute)
		assert.Empty(t, runningContainers(machine))
		require.NoError(t, n.stopNode())
	})
}

// newNode is a node that does not run.
func newNode(t *testing.T) *node.Node {
	n, err := node.New(node.Config{})
	require.NoError(t, err)
	return n
}
