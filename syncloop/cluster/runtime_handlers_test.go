package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// TestCluster_RuntimeHandlers: the Node object has the features that the runtime reports, also after a change.
func TestCluster_RuntimeHandlers(t *testing.T) {
	h := simulate(t, 1)
	report := func(handlers ...runtime.RuntimeHandler) {
		h.machine.SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true, Handlers: handlers})
	}
	handler := func(name string, mounts, users bool) v1.NodeRuntimeHandler {
		return v1.NodeRuntimeHandler{Name: name, Features: &v1.NodeRuntimeHandlerFeatures{RecursiveReadOnlyMounts: &mounts, UserNamespaces: &users}}
	}
	report(runtime.RuntimeHandler{Name: "runc", RecursiveReadOnlyMounts: true}, runtime.RuntimeHandler{RecursiveReadOnlyMounts: true})
	h.start()
	h.after(10 * time.Second)
	status := h.server.Admin().Node("n1").Status
	assert.Equal(t, []v1.NodeRuntimeHandler{handler("", true, false), handler("runc", true, false)}, status.RuntimeHandlers)
	assert.Equal(t, &v1.NodeFeatures{SupplementalGroupsPolicy: new(true)}, status.Features)
	report(runtime.RuntimeHandler{UserNamespaces: true})
	h.after(20 * time.Second)
	assert.Equal(t, []v1.NodeRuntimeHandler{handler("", false, true)}, h.server.Admin().Node("n1").Status.RuntimeHandlers)
}
