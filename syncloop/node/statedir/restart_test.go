package statedir_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/node/statedir"
)

// runNode runs a node with a state directory until the returned function is called.
func runNode(t *testing.T, root string, runtime *memory.Runtime) (*node.Node, func()) {
	dir, err := statedir.Open(statedir.Config{Root: root})
	require.NoError(t, err)
	config := node.Config{Runtime: runtime}
	require.NoError(t, dir.Configure(&config))
	n, err := node.New(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	return n, func() {
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, dir.Close())
	}
}

// TestDir_SameUID deletes a completed job and applies it again under the same UID, with a restart in between. It is a new
// pod if the restart comes after the node has removed the files of the deleted one, a second after its containers. Before
// that it is the deleted pod. Under a new UID it is a new pod in each case.
func TestDir_SameUID(t *testing.T) {
	for _, c := range []struct {
		restart time.Duration
		newUID  bool
		runs    int
	}{{0, false, 1}, {2 * time.Second, false, 2}, {0, true, 2}, {2 * time.Second, true, 2}} {
		synctest.Test(t, func(t *testing.T) {
			root, runtime := t.TempDir(), memory.New(memory.Config{})
			job := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "j", Image: "img:1"}}}}
			job.Namespace, job.Name, job.UID = "default", "job", "u1"
			job.Annotations = map[string]string{"memory.podkeel.dev/j": "run=2s"}
			n, stop := runNode(t, root, runtime)
			runs := 0
			runOnce := func() {
				require.NoError(t, n.Apply(job))
				time.Sleep(time.Second)
				if status := describePod(n); strings.Contains(status, "Running") {
					runs++
				}
				time.Sleep(time.Minute)
				require.Equal(t, "job Succeeded", describePod(n))
			}
			runOnce()
			n.Delete(job.UID)
			synctest.Wait()
			time.Sleep(c.restart)
			stop()
			n, stop = runNode(t, root, runtime)
			if c.newUID {
				job.UID = "u2"
			}
			runOnce()
			stop()
			assert.Equal(t, c.runs, runs, fmt.Sprintf("%+v", c))
		})
	}
}

// describePod returns the name and the phase of each pod.
func describePod(n *node.Node) string {
	var all []string
	for _, pod := range n.Pods() {
		all = append(all, pod.Name+" "+string(pod.Status.Phase))
	}
	return strings.Join(all, ", ")
}
