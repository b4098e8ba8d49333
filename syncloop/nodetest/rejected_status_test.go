package nodetest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// former is the ID of a container that never was.
const former = "former"

// liar shows, as long as it is asked to, another container in the place of one: the
// same attempt, which has ended.
type liar struct {
	runtime.Runtime
	container *string
}

func (l liar) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	pods, err := l.Runtime.ListPods(ctx)
	pods = append([]runtime.Pod(nil), pods...) // The caller must not change the runtime's list.
	for i := range pods {
		pods[i].Containers = append([]runtime.Container(nil), pods[i].Containers...)
		for j := range pods[i].Containers {
			if c := &pods[i].Containers[j]; c.Name == *l.container {
				c.ID, c.State = former, runtime.StateExited
			}
		}
	}
	return pods, err
}

func (l liar) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	status, err := l.Runtime.PodStatus(ctx, uid)
	if err != nil {
		return nil, err
	}
	said := *status
	said.Containers = append([]runtime.ContainerStatus(nil), status.Containers...)
	for i := range said.Containers {
		if c := &said.Containers[i]; c.Name == *l.container {
			c.ID, c.State, c.FinishedAt = former, runtime.StateExited, c.StartedAt
		}
	}
	return &said, nil
}

// ST-6: a runtime first reports a container as exited, and then as running. The status of the pod does not change back.
// One event reports it, and Explain names it first, as long as the contradiction lasts.
func TestRefused_ST6(t *testing.T) {
	ended := ""
	b := nodetest.New(t, nodetest.Config{Seed: 5, Wrap: func(inner runtime.Runtime, _ clock.Clock) runtime.Runtime {
		return liar{inner, &ended}
	}})
	web := newPod("web", []string{"serve"}, []string{"serve"})
	web.Spec.RestartPolicy = v1.RestartPolicyNever
	b.Apply(web)
	b.Run(3 * time.Second)
	ended = "c0"
	b.Run(5 * time.Second)
	ended = ""
	b.Run(5 * time.Minute)
	const why = "a container that has terminated for good is shown again: c0"
	assert.Equal(t, 1, strings.Count(b.Transcript(), "event StatusRefused"), b.Transcript())
	assert.Contains(t, b.Transcript(), "event StatusRefused: The status of the pod stays as it was, since the state in the runtime cannot follow it: "+why+"; delete the pod so that it can start again\n")
	e, ok := b.Node().Explain(web.UID)
	require.True(t, ok)
	assert.Equal(t, "default/web is Running: its status stays as it was, since the state in the runtime cannot follow it: "+why+"; delete it so that it can start again", e.Sentence)

	require.NoError(t, b.Machine().ExitContainer(newestContainer(t, b, "web", "c0"), 0))
	b.Run(time.Minute)
	e, _ = b.Node().Explain(web.UID)
	assert.NotContains(t, e.Sentence, why, "it has ended after all")

	b.Delete(web.UID)
	b.Run(time.Minute)
	b.Apply(web)
	b.Run(3 * time.Second)
	e, _ = b.Node().Explain(web.UID)
	assert.Equal(t, "default/web is Running: its 2 containers run and are ready", e.Sentence)
	b.Stop()
}
