package memory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

var errNoRegistry = errors.New("no such registry")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// createSandbox creates the sandbox of a pod and pulls the image of its containers.
func createSandbox(t *testing.T, r *memory.Runtime, uid string, annotations map[string]string) (runtime.PodRef, string) {
	t.Helper()
	ref := runtime.PodRef{UID: types.UID("uid-" + uid), Name: uid, Namespace: "default", Incarnation: 1}
	_, err := r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox"})
	require.NoError(t, err)
	sandbox, err := r.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: ref, Annotations: annotations})
	require.NoError(t, err)
	return ref, sandbox
}

// startContainer creates and starts a container.
func startContainer(t *testing.T, r *memory.Runtime, ref runtime.PodRef, sandbox, name string, attempt uint32, command ...string) string {
	t.Helper()
	id, err := r.CreateContainer(t.Context(), runtime.CreateContainerRequest{
		Pod: ref, SandboxID: sandbox, Name: name, Attempt: attempt, Image: "busybox", Command: command,
	})
	require.NoError(t, err)
	require.NoError(t, r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}))
	return id
}

// containerStatus returns the record of a container.
func containerStatus(t *testing.T, r *memory.Runtime, ref runtime.PodRef, id string) runtime.ContainerStatus {
	t.Helper()
	st, err := r.PodStatus(t.Context(), ref.UID)
	require.NoError(t, err)
	for _, c := range st.Containers {
		if c.ID == id {
			return c
		}
	}
	require.Fail(t, "no record", id)
	return runtime.ContainerStatus{}
}

// A query for the next run of a script counts nothing, so that calls for containers that never
// start leave no history.
func TestStarts_AreCountedWhenMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := createSandbox(t, r, "a", map[string]string{memory.AnnotationPrefix + "web": "exit=1; exit=2"})
		for attempt := range uint32(3) {
			id, err := r.CreateContainer(t.Context(), runtime.CreateContainerRequest{Pod: ref, SandboxID: sandbox, Name: "web", Attempt: attempt, Image: "busybox"})
			require.NoError(t, err)
			require.Zero(t, r.Counted(ref.UID))
			require.NoError(t, r.RemoveContainer(t.Context(), runtime.RemoveContainerRequest{ContainerID: id}))
		}
		startContainer(t, r, ref, sandbox, "web", 3)
		require.Equal(t, 1, r.Counted(ref.UID))
	})
}

func TestStopContainer_GraceTermAndKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := createSandbox(t, r, "a", map[string]string{
			memory.AnnotationPrefix + "deaf":  "ignore-term",
			memory.AnnotationPrefix + "tidy":  "run=forever exit=0",
			memory.AnnotationPrefix + "short": "run=3s exit=7 ignore-term",
		})
		for _, tc := range []struct {
			name  string
			grace time.Duration
			takes time.Duration
			code  int32
		}{
			{"plain", 10 * time.Second, 0, 143},
			{"plain", 0, 0, 137},
			{"tidy", 10 * time.Second, 0, 0},
			{"deaf", 10 * time.Second, 10 * time.Second, 137},
			{"short", 10 * time.Second, 3 * time.Second, 7},
		} {
			id := startContainer(t, r, ref, sandbox, tc.name, uint32(tc.grace/time.Second))
			began := time.Now()
			require.NoError(t, r.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: id, Grace: tc.grace}))
			require.Equal(t, tc.takes, time.Since(began), tc.name)
			st := containerStatus(t, r, ref, id)
			require.Equal(t, tc.code, st.ExitCode, tc.name)
			require.Equal(t, time.Now(), st.FinishedAt, tc.name)
		}
	})
}

func TestStopContainer_ShorterGraceTakesEffectAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := createSandbox(t, r, "a", map[string]string{memory.AnnotationPrefix + "deaf": "ignore-term"})
		id := startContainer(t, r, ref, sandbox, "deaf", 0)
		began := time.Now()
		first := make(chan error, 1)
		go func() {
			first <- r.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: id, Grace: time.Hour})
		}()
		time.Sleep(time.Second)
		require.NoError(t, r.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: id, Grace: time.Second}))
		require.NoError(t, <-first)
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

// TestStopContainer_CallerIsGone: the container runs on as if no stop was called: to the end of its run, or until its
// memory exceeds its limit.
func TestStopContainer_CallerIsGone(t *testing.T) {
	for script, want := range map[string]string{"run=20s exit=3 ignore-term": "20s Error 3", "run=forever ignore-term memory=1Mi memory@9s=4Mi": "9s OOMKilled 137"} {
		synctest.Test(t, func(t *testing.T) {
			r := memory.New(memory.Config{})
			ref, sandbox := createSandbox(t, r, "a", map[string]string{memory.AnnotationPrefix + "deaf": script})
			id := startContainer(t, r, ref, sandbox, "deaf", 0)
			require.NoError(t, r.UpdateContainer(t.Context(), runtime.UpdateContainerRequest{ContainerID: id, Resources: runtime.Resources{MemoryBytes: 2 << 20}}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := r.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: id, Grace: 5 * time.Second})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			time.Sleep(time.Minute)
			s := containerStatus(t, r, ref, id)
			require.Equal(t, want, fmt.Sprintf("%s %s %d", s.FinishedAt.Sub(s.StartedAt), s.Reason, s.ExitCode))
		})
	}
}
