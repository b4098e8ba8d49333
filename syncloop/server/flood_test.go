package server_test

import (
	"context"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// simulated replaces the scripted commands by those of a container in memory, one of which
// floods its output until nobody takes it, once it may begin. It returns how much that has written, and how many
// of it run.
func (h *harness) simulated(begin <-chan struct{}) (written, running *atomic.Int64) {
	written, running = &atomic.Int64{}, &atomic.Int64{}
	machine := memory.New(memory.Config{Images: []string{"image"}})
	machine.SetCommand(memory.For{}, "flood", func(_ context.Context, p *memory.Process) int32 {
		running.Add(1)
		defer running.Add(-1)
		<-begin
		for line := make([]byte, 32<<10); ; {
			n, err := p.Stdout.Write(line)
			written.Add(int64(n))
			if err != nil {
				return 1
			}
		}
	})
	pod := runtime.PodRef{UID: "u1", Name: "web", Namespace: "default"}
	sandbox, err := machine.RunSandbox(h.Context(), runtime.RunSandboxRequest{Pod: pod})
	require.NoError(h, err)
	id, err := machine.CreateContainer(h.Context(), runtime.CreateContainerRequest{Pod: pod, SandboxID: sandbox, Name: "c", Image: "image"})
	require.NoError(h, err)
	require.NoError(h, machine.StartContainer(h.Context(), runtime.StartContainerRequest{ContainerID: id}))
	h.config.Exec = inContainer{machine, id}
	return written, running
}

// inContainer runs all commands in one container.
type inContainer struct {
	*memory.Runtime
	id string
}

func (c inContainer) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (int32, error) {
	req.ContainerID = c.id
	return c.Runtime.ExecStream(ctx, req, streams)
}

// A command that floods a client which has stopped reading stands still, takes no memory, and
// ends with the client, killed in the middle.
func TestExec_FloodsAClientThatStopped(t *testing.T) {
	h, begin := serve(t), make(chan struct{})
	written, running := h.simulated(begin)
	h.start()
	heap := func() uint64 {
		var m goruntime.MemStats
		goruntime.GC()
		goruntime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const clients = 20
	var stopped []*client
	for range clients {
		c := h.exec("/exec/default/web/c?command=flood&output=1")
		_, _ = c.stream("error"), c.stream("stdout") // Which is never read from.
		c.wire.stopped.Store(true)
		stopped = append(stopped, c)
	}
	require.Eventually(t, func() bool { return running.Load() == clients }, time.Minute, time.Millisecond)
	before := heap()
	close(begin)
	last := int64(0)
	require.Eventually(t, func() bool { // The buffers of the system fill in real time.
		before := last
		last = written.Load()
		return last > 0 && last == before
	}, time.Minute, 250*time.Millisecond)
	assert.Less(t, last/clients, int64(16<<20), "bytes that one client was sent and did not take")
	assert.Less(t, int64(heap()-before)/clients, int64(1<<20), "bytes of memory for each of them")
	t.Logf("%d clients that stopped: %d KiB written to each, %d KiB of heap for each", clients, last/clients>>10, int64(heap()-before)/clients>>10)
	for _, c := range stopped {
		c.wire.killed()
	}
	require.Eventually(t, func() bool { return running.Load() == 0 }, time.Minute, time.Millisecond, "commands end with their clients")
	c := h.exec("/exec/default/web/c?command=echo&command=alive&output=1")
	status, out := c.stream("error"), c.stream("stdout")
	assert.Equal(t, "alive\n", all(t, out))
	assert.Equal(t, "Success", ended(t, status))
	require.NoError(t, c.Close())
}
