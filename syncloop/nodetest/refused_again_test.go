package nodetest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestRefused_TheNextOfItsUIDIsAnother: a pod that was refused is removed, and one comes
// under its UID at once: what was said of the first does not keep the second from
// running.
func TestRefused_TheNextOfItsUIDIsAnother(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{MaxPods: 1}})
	b.Apply(pod("old", []string{"serve"}))
	b.Run(time.Second)
	b.Apply(pod("new", []string{"serve"}))
	b.Run(time.Second)
	require.Equal(t, "Failed OutOfpods", state(b, "uid-new"))
	b.Delete("uid-old")
	b.Run(time.Minute)
	b.Delete("uid-new")
	b.Apply(pod("new", []string{"serve"}))
	b.Run(time.Second)
	assert.Equal(t, "Running ", state(b, "uid-new"))
	b.Stop()
}
