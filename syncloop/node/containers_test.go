package node_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// TestContainerID: ContainerID finds the newest container of a pod and the one before it, or lists the
// containers in its error.
func TestContainerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := node.New(node.Config{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		pod := &v1.Pod{}
		pod.Namespace, pod.Name, pod.UID = "default", "web", "web"
		pod.Spec.Containers = []v1.Container{
			{Name: "once", Image: "busybox", Command: []string{"sh", "-c", "echo once; sleep inf"}},
			{Name: "again", Image: "busybox", Command: []string{"sh", "-c", "echo again; sleep 20; exit 1"}},
		}
		_, err = n.Containers().ContainerID(ctx, "default", "web", "once", false)
		require.ErrorIs(t, err, runtime.ErrNotFound)
		require.NoError(t, n.Apply(pod))
		time.Sleep(25 * time.Second)

		sandbox, err := n.Containers().SandboxID(ctx, "default", "web")
		require.NoError(t, err)
		assert.NotEmpty(t, sandbox)
		_, err = n.Containers().SandboxID(ctx, "default", "none")
		require.EqualError(t, err, `node: pod "none" in namespace "default" has no sandbox: runtime: not found`)

		find := func(container string, previous bool) string {
			id, err := n.Containers().ContainerID(ctx, "default", "web", container, previous)
			require.NoError(t, err)
			return id
		}
		assert.Equal(t, find("once", false), find("", false), "the first is meant")
		assert.NotEqual(t, find("again", false), find("again", true))
		var log strings.Builder
		require.NoError(t, n.Containers().ReadLog(ctx, runtime.ReadLogRequest{ContainerID: find("again", true)}, &log))
		assert.Equal(t, "again\n", log.String())
		// While it waits for its next start, the one before that is the last one.
		time.Sleep(20 * time.Second)
		assert.Equal(t, find("again", false), find("again", true))
		const waits = `node: container "again" of pod default/web does not run, it waits (CrashLoopBackOff): runtime: wrong state`
		_, err = n.Containers().ExecStream(ctx, runtime.ExecStreamRequest{ContainerID: find("again", false), Command: []string{"true"}}, runtime.Streams{})
		require.EqualError(t, err, waits)
		require.ErrorIs(t, err, runtime.ErrWrongState)
		require.EqualError(t, n.Containers().Attach(ctx, runtime.AttachRequest{ContainerID: find("again", false)}, runtime.Streams{}), waits)
		log.Reset()
		code, err := n.Containers().ExecStream(ctx, runtime.ExecStreamRequest{ContainerID: find("", false), Command: []string{"sh", "-c", "echo hello; exit 7"}}, runtime.Streams{Stdout: &log})
		require.NoError(t, err)
		assert.Equal(t, int32(7), code)
		assert.Equal(t, "hello\n", log.String())

		for _, c := range []struct {
			pod, container string
			previous       bool
			want           string
		}{
			{"none", "", false, `node: there is no pod "none" in namespace "default": runtime: not found`},
			{"web", "none", false, `node: pod default/web: the runtime has no container "none" of it, but again, once: runtime: not found`},
			{"web", "once", true, `node: pod default/web: container "once" has no earlier container: runtime: not found`},
		} {
			_, err := n.Containers().ContainerID(ctx, "default", c.pod, c.container, c.previous)
			require.EqualError(t, err, c.want)
			require.ErrorIs(t, err, runtime.ErrNotFound)
		}
		cancel()
		require.NoError(t, <-ended)
	})
}

// execs is a runtime that runs commands and streams nothing; bare is one that does
// neither.
type (
	execs struct {
		runtime.Runtime
		execer runtime.Execer
	}
	bare struct{ runtime.Runtime }
)

func (e execs) Features() runtime.Features { return runtime.Features{Execer: e.execer} }

// TestExecStream_WithoutStreams: a runtime that only runs commands serves too.
func TestExecStream_WithoutStreams(t *testing.T) {
	m := memory.New(memory.Config{})
	n, err := node.New(node.Config{Runtime: execs{m, m}})
	require.NoError(t, err)
	_, err = n.Containers().ExecStream(t.Context(), runtime.ExecStreamRequest{ContainerID: "x", Command: []string{"true"}}, runtime.Streams{})
	require.ErrorIs(t, err, runtime.ErrNotFound)
	_, err = n.Containers().ExecStream(t.Context(), runtime.ExecStreamRequest{ContainerID: "x", Command: []string{"true"}, TTY: true}, runtime.Streams{})
	require.ErrorIs(t, err, runtime.ErrUnsupported)

	n, err = node.New(node.Config{Runtime: bare{m}})
	require.NoError(t, err)
	_, err = n.Containers().ExecStream(t.Context(), runtime.ExecStreamRequest{}, runtime.Streams{})
	require.ErrorIs(t, err, runtime.ErrUnsupported)
	require.ErrorIs(t, n.Containers().ReadLog(t.Context(), runtime.ReadLogRequest{}, nil), runtime.ErrUnsupported)
	require.ErrorIs(t, n.Containers().Attach(t.Context(), runtime.AttachRequest{}, runtime.Streams{}), runtime.ErrUnsupported)
	here, there := net.Pipe()
	require.ErrorIs(t, n.Containers().PortForward(t.Context(), runtime.PortForwardRequest{}, here), runtime.ErrUnsupported)
	_, err = there.Read(nil)
	require.ErrorIs(t, err, io.EOF)
}

// TestNamesakes: of two pods of a name the desired one is used, while the earlier one still terminates.
func TestNamesakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{})
		first, second := newPod("first"), newPod("second")
		first.Name, second.Name = "web", "web"
		first.Annotations = map[string]string{memory.AnnotationPrefix + "c": "run=forever ignore-term"}
		require.NoError(t, n.Apply(first))
		time.Sleep(2 * time.Second)
		n.Delete("first")
		time.Sleep(time.Second)
		e, ok := n.ExplainByName("default", "web")
		assert.True(t, ok)
		assert.Equal(t, types.UID("first"), e.UID)
		require.NoError(t, n.Apply(second))
		time.Sleep(time.Second)
		_, ok = n.Explain("first")
		assert.True(t, ok, "it still ends")
		e, _ = n.ExplainByName("default", "web")
		assert.Equal(t, types.UID("second"), e.UID)
		require.NoError(t, n.stopNode())
	})
}

// TestNamesakes_Rejected: if a second source delivers a pod with the name of a running pod, every
// lookup by name returns the running pod. The second pod is rejected, or waits if it is a static pod.
func TestNamesakes_Rejected(t *testing.T) {
	for want, static := range map[v1.PodPhase]string{v1.PodFailed: "runs", v1.PodPending: "late"} {
		synctest.Test(t, func(t *testing.T) {
			files := source.NewHandle()
			n := runConfig(t, node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"other": files}}})
			runs, late := newPod("runs"), newPod("late")
			runs.Name, late.Name = "web", "web"
			for _, p := range []*v1.Pod{runs, late} {
				if string(p.UID) == static {
					require.NoError(t, files.Apply(p))
				} else {
					require.NoError(t, n.Apply(p))
				}
				time.Sleep(2 * time.Second)
			}
			second, ok := n.Pod("late")
			require.True(t, ok)
			require.Equal(t, want, second.Status.Phase, second.Status.Message)
			e, _ := n.ExplainByName("default", "web")
			assert.Equal(t, types.UID("runs"), e.UID)
			found, _ := n.PodByName("default", "web")
			assert.Equal(t, types.UID("runs"), found.UID)
			require.NoError(t, n.stopNode())
		})
	}
}

// A pod of the same name that still has the container is not reached by the UID of its successor,
// which has none yet.
func TestPodContainerID_NeverOfANamesake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		n, err := node.New(node.Config{Runtime: machine})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		old := newPod("web", "serve")
		old.UID = "old"
		old.Annotations = map[string]string{memory.AnnotationPrefix + "c": "ignore-term"}
		require.NoError(t, n.Apply(old))
		time.Sleep(5 * time.Second)
		container, err := n.Containers().PodContainerID(ctx, "old", "", false)
		require.NoError(t, err)
		sandbox, err := n.Containers().PodSandboxID(ctx, "old")
		require.NoError(t, err)
		n.Delete("old")
		successor := newPod("web", "serve")
		successor.UID = "new"
		successor.Annotations = map[string]string{memory.AnnotationPrefix + "c": "fail=image"}
		require.NoError(t, n.Apply(successor))
		time.Sleep(time.Second)
		byName, err := n.Containers().ContainerID(ctx, "default", "web", "c", false)
		require.NoError(t, err)
		assert.Equal(t, container, byName, "people who give a name reach what there is")
		_, err = n.Containers().PodContainerID(ctx, "new", "c", false)
		require.EqualError(t, err, `the runtime has no container "c" of it, but none: runtime: not found`)
		own, err := n.Containers().PodSandboxID(ctx, "new")
		require.NoError(t, err)
		assert.NotEqual(t, sandbox, own)
		_, err = n.Containers().PodSandboxID(ctx, "none")
		require.EqualError(t, err, `the runtime has no sandbox of it: runtime: not found`)
		cancel()
		require.NoError(t, <-ended)
	})
}
