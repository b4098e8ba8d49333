package clusterlab_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

// TestOutage: a client over a server that is killed, frozen, and back.
func TestOutage(t *testing.T) {
	c := startLab(t, clusterlab.Config{Nodes: []string{"n1"}})
	server, err := client.New(c.Rest("n1"), "n1")
	require.NoError(t, err)
	t.Cleanup(server.Reconnect)
	_, err = server.Nodes().Create(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	require.NoError(t, err)
	watch := func() apiserver.Stream[*v1.Pod] {
		stream, err := server.PodFeed().Watch(t.Context(), apiserver.WatchOptions{SendInitialEvents: true})
		require.NoError(t, err)
		t.Cleanup(stream.Close)
		e, err := stream.Next(t.Context())
		require.NoError(t, err)
		require.True(t, e.InitialEventsEnd)
		return stream
	}

	stream := watch()
	c.KillServer()
	_, err = stream.Next(t.Context())
	require.Error(t, err, "the stream ends")
	assert.Equal(t, metav1.StatusReasonUnknown, apierrors.ReasonForError(err))
	_, err = server.Nodes().Get(t.Context(), "n1")
	require.Error(t, err)
	assert.Equal(t, metav1.StatusReasonUnknown, apierrors.ReasonForError(err), "no answer is no refusal")
	require.NoError(t, c.StartServer(t.Context()))
	_, err = server.Nodes().Get(t.Context(), "n1")
	require.NoError(t, err)

	stream = watch()
	c.FreezeServer()
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_, err = server.Nodes().Get(ctx, "n1")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = stream.Next(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
	}
	c.ThawServer()
	_, err = server.Nodes().Get(t.Context(), "n1")
	require.NoError(t, err)
}

// TestGone: a cluster whose test program is killed leaves neither processes nor files.
func TestGone(t *testing.T) {
	const child = "PODKEEL_CLUSTERLAB_CHILD"
	if os.Getenv(child) != "" {
		c, err := clusterlab.Start(t.Context(), clusterlab.Config{})
		require.NoError(t, err)
		_, _ = os.Stdout.WriteString("dir " + c.Dir() + "\n") // The parent waits for it.
		<-t.Context().Done()
		return
	}
	if !*cluster {
		t.Skip("no control plane without -cluster: it is built from source, which takes minutes")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestGone$", "-cluster")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines, dir := bufio.NewScanner(out), ""
	for dir == "" && lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "dir "); ok {
			dir = name
		}
	}
	require.DirExists(t, dir)
	require.NotEmpty(t, processesIn(t, dir))
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	assert.Error(t, cmd.Wait())
	assert.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err) && len(processesIn(t, dir)) == 0
	}, 20*time.Second, 50*time.Millisecond, "%s is there, or its processes are", dir)
}

// processesIn returns the processes whose working directory is dir, or was dir before it was deleted.
func processesIn(t *testing.T, dir string) (pids []string) {
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	require.NoError(t, err)
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			pids = append(pids, link)
		}
	}
	return pids
}
