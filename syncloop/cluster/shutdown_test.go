package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// readiness is the node's condition Ready at the server, in a line.
func (h *harness) readiness() string {
	for _, c := range h.server.Admin().Node("n1").Status.Conditions {
		if c.Type == v1.NodeReady {
			return string(c.Status) + " " + c.Message
		}
	}
	return ""
}

// TestCluster_ND40_ND41_ND42_Shutdown: the node reports its shutdown at once, pods terminate in the
// order of their priority, and their terminal statuses are at the server when Run has returned.
func TestCluster_ND40_ND41_ND42_Shutdown(t *testing.T) {
	h := simulate(t, 1)
	h.start()
	require.ErrorIs(t, h.node.Shutdown(t.Context(), node.ShutdownGroups(time.Minute, 0)...), node.ErrNotRunning)
	h.bind("web", ignoring)
	h.bind("critical", ignoring, func(pod *v1.Pod) { pod.Spec.Priority = new(node.SystemCriticalPriority) })
	h.after(15 * time.Second)
	assert.Equal(t, "True kubelet is posting ready status", h.readiness())
	h.process.Go(func() {
		assert.NoError(t, h.node.Shutdown(context.Background(), node.ShutdownGroups(9*time.Second, 4*time.Second)...))
		h.end()
	})
	h.after(100 * time.Millisecond)
	assert.Equal(t, "False node is shutting down", h.readiness())
	h.after(4 * time.Second)
	assert.Equal(t, "web/c attempt 0, critical/c attempt 0", h.running())
	h.after(time.Second)
	assert.Equal(t, "critical/c attempt 0", h.running())
	h.after(5 * time.Second)
	assert.Empty(t, h.running())
	assert.True(t, h.ended)
	for _, name := range []string{"web", "critical"} {
		status := h.server.Admin().Pod("default", name).Status
		assert.Equal(t, []string{"Failed", "Terminated", "Pod was terminated in response to imminent node shutdown."},
			[]string{string(status.Phase), status.Reason, status.Message}, name)
	}
}

// TestCluster_ShutdownFails: a Shutdown that fails leaves the node ready.
func TestCluster_ShutdownFails(t *testing.T) {
	h := simulate(t, 1)
	h.start()
	h.after(15 * time.Second)
	assert.Error(t, h.node.Shutdown(context.Background()), "no groups")
	h.after(100 * time.Millisecond)
	assert.Equal(t, "True kubelet is posting ready status", h.readiness())
	h.end()
}

// TestCluster_ShutdownTakenBack: after Undrain the node is ready as soon as Shutdown has returned, and
// not only with the next periodic report.
func TestCluster_ShutdownTakenBack(t *testing.T) {
	h := simulate(t, 1)
	h.start()
	h.bind("web", ignoring)
	h.after(15 * time.Second)
	returned := false
	h.process.Go(func() {
		assert.NoError(t, h.node.Shutdown(context.Background(), node.ShutdownGroups(4*time.Second, 0)...))
		returned = true
	})
	h.after(100 * time.Millisecond)
	assert.Equal(t, "False node is shutting down", h.readiness())
	h.node.Node().Undrain()
	h.after(2 * time.Second)
	assert.Equal(t, "False node is shutting down", h.readiness(), "Shutdown goes on")
	require.False(t, returned)
	for !returned {
		h.after(10 * time.Millisecond)
	}
	h.after(100 * time.Millisecond)
	assert.Equal(t, "True kubelet is posting ready status", h.readiness())
	h.end()
}

// ignoring has a container that ends when the grace of its pod is over.
func ignoring(pod *v1.Pod) {
	pod.Annotations = map[string]string{memory.AnnotationPrefix + "c": "run=forever ignore-term"}
}
