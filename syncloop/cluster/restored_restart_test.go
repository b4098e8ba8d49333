package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// An edit of a pod and its reversal are lost by a restore, with and without a restart of the agent in between. The
// node knows a newer version of the pod than the server, and its statuses have to arrive all the same.
func TestCluster_StatusesAfterARestoreOfAnOlderVersion(t *testing.T) {
	for _, restart := range []bool{false, true} {
		h := simulate(t, 1)
		h.bind("job", func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyNever })
		h.start()
		h.after(5 * time.Second)
		restore := h.server.Backup()
		for _, labels := range []map[string]string{{"at": "1"}, nil} {
			require.NoError(t, h.server.Admin().EditPod("default", "job", func(p *v1.Pod) { p.Labels = labels }))
			h.after(time.Second)
		}
		if restart {
			h.crash()
			h.start()
			h.after(10 * time.Second)
		}
		h.server.Crash()
		h.after(10 * time.Second)
		restore()
		h.server.Recover()
		h.after(time.Minute)
		pods, err := h.machine.ListPods(h.Context())
		require.NoError(t, err)
		require.NoError(t, h.machine.ExitContainer(pods[0].Containers[0].ID, 1))
		h.after(10 * time.Minute)
		require.Equal(t, v1.PodFailed, h.phase("job"), "restart %t", restart)
		h.crash()
	}
}
