package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// panicking is a runtime and a recorder of events that panic when they are asked how they are.
type panicking struct {
	*memory.Runtime
	times map[string]int
}

func (p *panicking) boom(call string) {
	if p.times[call]++; p.times[call] < 4 {
		panic(call)
	}
}

func (p *panicking) Features() runtime.Features {
	f := p.Runtime.Features()
	f.StatusReporter, f.Versioner = p, p
	return f
}

func (p *panicking) RuntimeStatus(context.Context) (runtime.RuntimeStatus, error) {
	p.boom("status")
	return runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}, nil
}

func (p *panicking) ListImages(ctx context.Context) ([]runtime.Image, error) {
	p.boom("images")
	return p.Runtime.ListImages(ctx)
}

func (p *panicking) Version(context.Context) (name, version string, err error) {
	p.boom("version")
	return "memory", "1", nil
}

func (p *panicking) Event(k8sruntime.Object, string, string, string) { p.boom("event") }

func (p *panicking) Eventf(k8sruntime.Object, string, string, string, ...any) { p.boom("event") }

// TestCluster_Panics: a runtime and a recorder that panic end no loop of the node, which tells the
// hook and is ready when they are well again.
func TestCluster_Panics(t *testing.T) {
	h := simulate(t, 1)
	bad := &panicking{h.machine, map[string]int{}}
	h.runtime = bad
	told := map[string]bool{}
	h.edit = func(c *node.Config) {
		c.Recorder = bad
		c.Hooks.Workers.Panicked = func(call string, _ error) { told[call] = true }
	}
	h.start()
	h.after(500 * time.Millisecond)
	assert.Equal(t, v1.ConditionFalse, h.ready())
	h.bind("web")
	h.after(10 * time.Minute)
	assert.Equal(t, v1.ConditionTrue, h.ready())
	assert.Equal(t, v1.PodRunning, h.phase("web"))
	assert.Subset(t, told, map[string]bool{"Runtime.RuntimeStatus": true, "Runtime.ListImages": true, "Runtime.Version": true, "Recorder.Event": true})
}

func (h *harness) ready() v1.ConditionStatus {
	n := h.server.Admin().Node("n1")
	require.NotNil(h, n)
	for _, c := range n.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status
		}
	}
	return "unknown"
}
