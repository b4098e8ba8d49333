package node_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// TestRestart_RuntimeWithoutRecords, in a bubble: the runtime has no records after a restart, as one that dies with the
// agent. Without stored state every pod begins again, with restart count zero. TerminalStatuses keeps a completed pod from
// running again. With the last status of each pod, restart counts continue, and a pod that runs only once does not run
// twice. Back-off starts over in each case: the pod loop restarts at once, after 10 s and after 20 s.
func TestRestart_RuntimeWithoutRecords(t *testing.T) {
	for stored, want := range map[string]map[string]string{
		"nothing":           {"done": "Running", "job": "Running", "loop": "Running restarts=3", "server": "Running"},
		"terminal statuses": {"done": "Succeeded", "job": "Running", "loop": "Running restarts=3", "server": "Running"},
		"statuses":          {"done": "Succeeded", "job": "Failed", "loop": "Running restarts=7", "server": "Running restarts=1"},
	} {
		t.Run(stored, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pods := []*v1.Pod{
					podtest.Pod("done").UID("done").RestartPolicy(v1.RestartPolicyNever).Container("c", podtest.Runs(40*time.Second), podtest.Exits(0)).Build(t),
					podtest.Pod("job").UID("job").RestartPolicy(v1.RestartPolicyNever).Container("c").Build(t),
					podtest.Pod("loop").UID("loop").Container("c", podtest.Runs(time.Second), podtest.Exits(1)).Build(t),
					podtest.Pod("server").UID("server").Container("c").Build(t),
				}
				root := t.TempDir()
				for _, ranFor := range []time.Duration{50 * time.Second, 35 * time.Second} {
					config := node.Config{Runtime: memory.New(memory.Config{})}
					if stored == "terminal statuses" {
						var err error
						config.Pods.TerminalStatuses, err = checkpoint.New(checkpoint.Config{Root: root})
						require.NoError(t, err)
					}
					last := runPods(t, config, pods, ranFor)
					got := map[string]string{}
					for i, pod := range last {
						got[pod.Name] = string(pod.Status.Phase)
						if n := pod.Status.ContainerStatuses[0].RestartCount; n > 0 {
							got[pod.Name] += fmt.Sprint(" restarts=", n)
						}
						if stored == "statuses" {
							pods[i] = pod
						}
					}
					if ranFor == 35*time.Second {
						assert.Equal(t, want, got)
					} else {
						assert.Equal(t, map[string]string{"done": "Succeeded", "job": "Running", "loop": "Running restarts=3", "server": "Running"}, got)
					}
				}
			})
		})
	}
}

// runPods runs a node with these pods for a time, and returns the last state of each pod.
func runPods(t *testing.T, config node.Config, pods []*v1.Pod, d time.Duration) []*v1.Pod {
	n, err := node.New(config)
	require.NoError(t, err)
	for _, pod := range pods {
		require.NoError(t, n.Apply(pod.DeepCopy()))
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	last := make([]*v1.Pod, len(pods))
	for state := range n.Watch(ctx) {
		for i, pod := range pods {
			if pod.Name == state.Pod.Name {
				last[i] = state.Pod
			}
		}
	}
	require.NoError(t, <-done)
	return last
}
