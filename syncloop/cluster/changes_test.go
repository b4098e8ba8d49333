package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

// TestCluster_HundredChanges: the containers of 100 pods end at once, and the server is 20 ms
// away. One patch tells each end, and all are there after two round trips.
func TestCluster_HundredChanges(t *testing.T) {
	const pods, roundTrip = 100, 20 * time.Millisecond
	h := simulate(t, 1)
	h.start()
	for i := range pods {
		h.bind(fmt.Sprint("pod-", i), func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyNever })
	}
	h.after(time.Minute)
	failed := func() (n int) {
		for _, p := range h.server.Admin().Pods("n1") {
			if p.Status.Phase == v1.PodFailed {
				n++
			}
		}
		return n
	}
	h.server.TakeRequests()
	h.server.Inject(apiservertest.Fault{Latency: roundTrip})
	for _, p := range h.machine.Snapshot() {
		for _, c := range p.Containers {
			if c.State == runtime.StateRunning {
				assert.NoError(t, h.machine.ExitContainer(c.ID, 1))
			}
		}
	}
	h.after(2*roundTrip - time.Millisecond)
	assert.Less(t, failed(), pods)
	h.after(time.Millisecond)
	assert.Equal(t, pods, failed())
	h.after(time.Second)
	var patches int
	for _, r := range h.server.TakeRequests() {
		if r.Verb == "patch" && r.Resource == "pods/status" {
			patches++
		}
	}
	assert.Equal(t, pods, patches)
}
