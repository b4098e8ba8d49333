package clustertest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/clustertest"
)

// TestConfigure_SendDelay: without a delay, a watch shows the exit of a container that starts again at once. With
// SendDelay it shows the exit only as the last termination.
func TestConfigure_SendDelay(t *testing.T) {
	for delay, want := range map[time.Duration][]string{
		0:               {"running 0", "terminated 0", "running 1 last=OOMKilled"},
		2 * time.Second: {"running 0", "running 1 last=OOMKilled"},
	} {
		t.Run(delay.String(), func(t *testing.T) {
			runInBubble(t, clustertest.Config{Configure: func(c *cluster.Config) { c.Node.Statuses.SendDelay = delay }}, nil, func(h *harness) {
				ctx, cancel := context.WithCancel(h.Context())
				defer cancel()
				stream, err := h.server.Client("node-0").PodFeed().Watch(ctx, apiserver.WatchOptions{})
				require.NoError(h, err)
				defer stream.Close()
				h.createPods(podtest.Pod("a").Container("c", podtest.Runs(20*time.Second), podtest.IsOOMKilled(), podtest.Then(podtest.RunsForever(), podtest.StartsAfter(time.Second))))
				var got []string
				for len(got) < len(want) {
					e, err := stream.Next(ctx)
					require.NoError(h, err)
					require.NotNil(h, e.Object, "all statuses were seen: %v", got)
					for _, s := range e.Object.Status.ContainerStatuses {
						// A status before the first start may be skipped without a delay too.
						if text := describeState(&s); text != "waiting 0" && (len(got) == 0 || got[len(got)-1] != text) {
							got = append(got, text)
						}
					}
				}
				assert.Equal(h, want, got)
			})
		})
	}
}

// describeState returns the state, the restarts and the reason of the last termination of a container.
func describeState(s *v1.ContainerStatus) string {
	text := "waiting"
	switch {
	case s.State.Running != nil:
		text = "running"
	case s.State.Terminated != nil:
		text = "terminated"
	}
	text += fmt.Sprint(" ", s.RestartCount)
	if last := s.LastTerminationState.Terminated; last != nil {
		text += " last=" + last.Reason
	}
	return text
}
