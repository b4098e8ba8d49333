package observe_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/observe"
)

// TestMemoryNotifier_Unavailable: without the memory controller of cgroup v1 the log says so once, and Run returns.
func TestMemoryNotifier_Unavailable(t *testing.T) {
	var log bytes.Buffer
	m := observe.NewMemoryNotifier(observe.MemoryNotifierConfig{Cgroup: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, m.Run(t.Context(), func() { t.Error("requested") }))
	assert.Equal(t, 1, strings.Count(log.String(), "the kernel does not notify about memory"))
	assert.Contains(t, log.String(), "notifications need the memory controller of cgroup v1")
}

// TestMemoryNotifier_Kernel: a real cgroup that uses more memory than the threshold allows causes a request. The
// procfs is a fake: the machine has 64 MiB, and 16 MiB of them must stay available.
func TestMemoryNotifier_Kernel(t *testing.T) {
	group := filepath.Join("/sys/fs/cgroup/memory", fmt.Sprint("podkeel-notifier-", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skip("no cgroup of version 1 here: ", err)
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	files := machineFiles()
	files["meminfo"] = strings.Replace(files["meminfo"], "1000 kB", "65536 kB", 1)
	m := observe.NewMemoryNotifier(observe.MemoryNotifierConfig{Cgroup: group, Proc: proc(t, files), Threshold: eviction.Amount{Quantity: resource.MustParse("16Mi")}})
	ctx, cancel := context.WithCancel(t.Context())
	requested, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- m.Run(ctx, func() {
			select {
			case requested <- struct{}{}:
			default:
			}
		})
	}()
	for used := 0; ; used++ { // Run may not have registered before the first use.
		require.Less(t, used, 1000)
		useMemory(t, group)
		select {
		case <-requested:
			cancel()
			require.NoError(t, <-ended)
			return
		default:
		}
	}
}

// useMemory runs a process in a cgroup that uses 60 MiB for a moment.
func useMemory(t *testing.T, group string) {
	run := exec.Command("sh", "-c", "read line; exec dd if=/dev/zero of=/dev/null bs=62914560 count=1 2>/dev/null")
	start, err := run.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	require.NoError(t, os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(run.Process.Pid)), 0))
	_, err = start.Write([]byte("\n"))
	require.NoError(t, err)
	require.NoError(t, run.Wait())
}
