package podsync

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// shows is a runtime that shows one status.
type shows struct {
	runtime.Runtime
	status runtime.PodStatus
}

func (r *shows) PodStatus(context.Context, types.UID) (*runtime.PodStatus, error) {
	return &r.status, nil
}

// F58: a container is distrusted from the moment it is seen to run after its stop
// until it has ended, and nothing of it is remembered then.
func TestConfirm_F58_DistrustEnds(t *testing.T) {
	rt := &shows{}
	s, err := New(Config{Runtime: rt, Status: struct{ StatusStore }{}})
	require.NoError(t, err)
	p := &podKiller{statusWriter: &statusWriter{syncPass: &syncPass{Syncer: s, pod: &v1.Pod{}, incarnation: &incarnation{}}}}
	see := func(states ...runtime.State) error {
		rt.status.Containers = nil
		for i, state := range states {
			id := string(rune('a' + i))
			rt.status.Containers = append(rt.status.Containers, runtime.ContainerStatus{Container: runtime.Container{ID: id, Name: id, State: state}})
		}
		return p.inspectAndConfirmStopped(context.Background(), []stopTarget{{id: "a"}, {id: "b"}}, false)
	}
	assert.EqualError(t, see(runtime.StateRunning, runtime.StateRunning), "podsync: KillContainerError: still running: a, b")
	assert.True(t, p.incarnation.memory.Stop("a").NotConfirmed && p.incarnation.memory.Stop("b").NotConfirmed)
	assert.EqualError(t, see(runtime.StateExited, runtime.StateRunning), "podsync: KillContainerError: still running: b")
	assert.True(t, !p.incarnation.memory.Stop("a").NotConfirmed && p.incarnation.memory.Stop("b").NotConfirmed)
	assert.NoError(t, see(runtime.StateExited, runtime.StateExited))
	assert.Equal(t, plan.Memory{}, p.incarnation.memory)
}
