package podsync_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// stops writes down which containers have stopped, in their order.
type stops struct {
	*memory.Runtime
	names map[string]string // by ID
	log   []string
}

func (s *stops) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	err := s.Runtime.StopContainer(ctx, req)
	s.log = append(s.log, s.names[req.ContainerID])
	return err
}

// TO-3, TO-4: a container that was only created when the pod was looked at has been
// started meanwhile, by a call of an agent that is gone. It is stopped with its grace, by
// the same kill, and the sidecars wait for it.
func TestSyncTerminatingPod_TO3_StartedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &stops{Runtime: memory.New(memory.Config{}), names: map[string]string{}}
		syncer, _ := newQuietSyncer(t, rt)
		pod := plainPod(func(p *v1.Pod) {
			p.Spec.TerminationGracePeriodSeconds = new(int64(10))
			p.Spec.InitContainers = []v1.Container{{Name: "s", Image: "img:1", RestartPolicy: new(v1.ContainerRestartPolicyAlways)}}
			p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 3}}}
		})
		for range 2 {
			_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, pod, nil, readPodStatus(t, rt))
			require.NoError(t, err)
		}
		seen := readPodStatus(t, rt)
		for i := range seen.Containers {
			c := &seen.Containers[i]
			rt.names[c.ID] = c.Name
			require.Equal(t, runtime.StateRunning, c.State)
			if c.Name == "a" {
				c.State = runtime.StateCreated
			}
		}
		require.Len(t, rt.names, 2)
		require.NoError(t, syncer.SyncTerminatingPod(t.Context(), pod, seen, nil, nil))
		assert.Equal(t, []string{"a", "s"}, rt.log)
	})
}
