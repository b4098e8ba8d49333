package cri_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri"
)

// logged brings the file of a container's log up to what the machine says that it
// has printed, and returns where it is. The fake does so when it is asked for the
// container's status. It makes no directory: CRI leaves that to the client.
func (f *fake) logged(ctx context.Context, id string, r *criv1.CreateContainerRequest, started bool) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Config.LogPath == "" || r.SandboxConfig.LogDirectory == "" {
		return "", nil
	}
	path := filepath.Join(r.SandboxConfig.LogDirectory, r.Config.LogPath)
	if !started {
		return path, nil
	}
	var text strings.Builder
	if err := f.m.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: id}, &text); err != nil {
		return path, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return path, err
	}
	old, err := os.ReadFile(path)
	lines := strings.SplitAfter(text.String(), "\n")
	for _, line := range lines[strings.Count(string(old), "\n"):] {
		if line != "" {
			_, werr := fmt.Fprintf(file, "%s stdout F %s", time.Now().Format(time.RFC3339Nano), line)
			err = errors.Join(err, werr)
		}
	}
	return path, errors.Join(err, file.Close())
}

// ReadLog finds a log by the path that the runtime reports for the container. It reads no log of another owner (I38).
func TestReadLog(t *testing.T) {
	f := newFake(t)
	r, other := f.client("me"), f.client("other")
	pod := runtime.PodRef{UID: "a", Name: "a", Namespace: "default"}
	dir := t.TempDir()
	ctx := t.Context()
	_, err := r.PullImage(ctx, runtime.PullImageRequest{Image: "busybox"})
	require.NoError(t, err)
	sandbox, err := r.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: pod, LogDir: dir})
	require.NoError(t, err)
	create := func(name, path string) string {
		id, err := r.CreateContainer(ctx, runtime.CreateContainerRequest{
			Pod: pod, SandboxID: sandbox, Name: name, Image: "busybox", ImageRef: "busybox", LogPath: path, Command: []string{"sh", "-c", "echo one; echo two; exit 1"},
		})
		require.NoError(t, err)
		return id
	}
	id := create("main", "main/0.log")
	var out strings.Builder
	require.NoError(t, r.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: id}, &out), "it has not been started")
	require.Empty(t, out.String())
	require.NoError(t, r.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id}))
	require.NoError(t, r.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: id, Tail: 1, Follow: true}, &out))
	require.Equal(t, "two\n", out.String())
	require.ErrorIs(t, other.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: id}, &out), cri.ErrForeign)

	without := create("without", "")
	require.ErrorIs(t, r.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: without}, &out), runtime.ErrUnsupported)

	f.onAfter(func(_ string, _, res any) (any, error) {
		if st, ok := res.(*criv1.ContainerStatusResponse); ok {
			st.Status.LogPath = filepath.Join(dir, "gone")
		}
		return res, nil
	})
	require.ErrorIs(t, r.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: id}, &out), runtime.ErrNotFound)
}
