package server_test

import (
	"context"
	"net/http"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// flood is a command that writes until the client stops reading.
type flood struct {
	begin         chan struct{}
	started, over chan struct{} // one for each
	written       atomic.Int64
	stalled       chan struct{}
	stall         *time.Timer // until nothing has been written for a while
}

func newFlood(most int) *flood {
	f := &flood{begin: make(chan struct{}), started: make(chan struct{}, most), over: make(chan struct{}, most), stalled: make(chan struct{})}
	f.stall = time.AfterFunc(time.Hour, sync.OnceFunc(func() { close(f.stalled) }))
	return f
}

func (f *flood) run(_ context.Context, p *memory.Process) int32 {
	f.started <- struct{}{}
	defer func() { f.over <- struct{}{} }()
	<-f.begin
	for line := make([]byte, 32<<10); ; {
		n, err := p.Stdout.Write(line)
		if err != nil {
			return 1
		}
		f.written.Add(int64(n))
		f.stall.Reset(500 * time.Millisecond)
	}
}

// simulated replaces the scripted commands by commands of an in-memory container.
func (h *harness) simulated(f *flood) {
	machine := memory.New(memory.Config{Images: []string{"image"}})
	machine.SetCommand(memory.Selector{}, "flood", f.run)
	pod := runtime.PodRef{UID: "u1", Name: "web", Namespace: "default"}
	sandbox, err := machine.RunSandbox(h.Context(), runtime.RunSandboxRequest{Pod: pod})
	require.NoError(h, err)
	id, err := machine.CreateContainer(h.Context(), runtime.CreateContainerRequest{Pod: pod, SandboxID: sandbox, Name: "c", Image: "image"})
	require.NoError(h, err)
	require.NoError(h, machine.StartContainer(h.Context(), runtime.StartContainerRequest{ContainerID: id}))
	h.config.Exec = inContainer{machine, id}
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

// heap is the memory that is in use.
func heap() uint64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A command that floods a client which has stopped reading stands still, takes no memory, and
// ends with the client, killed in the middle.
func TestExec_FloodsAClientThatStopped(t *testing.T) {
	const clients = 20
	h, f := serve(t), newFlood(clients)
	h.simulated(f)
	h.start()
	var stopped []*client
	for range clients {
		c := h.exec("/exec/default/web/c?command=flood&output=1")
		_, _ = c.stream("error"), c.stream("stdout") // Which is never read from.
		c.wire.stopped.Store(true)
		stopped = append(stopped, c)
	}
	for range clients {
		<-f.started
	}
	before := heap()
	close(f.begin)
	<-f.stalled // The buffers of the system are full.
	last := f.written.Load()
	assert.Less(t, last/clients, int64(16<<20), "bytes that one client was sent and did not take")
	assert.Less(t, int64(heap()-before)/clients, int64(1<<20), "bytes of memory for each of them")
	t.Logf("%d clients that stopped: %d KiB written to each, %d KiB of heap for each", clients, last/clients>>10, int64(heap()-before)/clients>>10)
	for _, c := range stopped {
		c.wire.killed()
	}
	for range clients {
		<-f.over
	}
	c := h.exec("/exec/default/web/c?command=echo&command=alive&output=1")
	status, out := c.stream("error"), c.stream("stdout")
	assert.Equal(t, "alive\n", all(t, out))
	assert.Equal(t, "Success", ended(t, status))
	require.NoError(t, c.Close())
}

// A client floods a process that reads nothing. The server stops reading from the client, however long the frames are,
// and uses little memory. When the process exits, the connection closes.
func TestExec_FloodedByAClient(t *testing.T) {
	const frame = 4 << 20
	h, f := serve(t), newFlood(1)
	end := make(chan struct{})
	h.process = func(ctx context.Context, _ runtime.Streams) (int32, error) {
		close(f.begin)
		<-end
		return 7, nil
	}
	h.start()
	c := h.exec("/exec/default/web/c?command=sleep&input=1&output=1")
	status, in, _ := c.stream("error"), c.stream("stdin"), c.stream("stdout")
	<-f.begin
	data, before := make([]byte, frame), heap()
	f.stall.Reset(500 * time.Millisecond) // The buffers of the system may hold less than one frame.
	var sending sync.WaitGroup
	sending.Go(func() {
		for range 64 {
			if _, err := in.Write(data); err != nil {
				return
			}
			f.written.Add(frame)
			f.stall.Reset(500 * time.Millisecond)
		}
	})
	<-f.stalled
	assert.Less(t, int64(heap()-before), int64(4<<20))
	t.Logf("%d MiB sent, %d KiB of heap", f.written.Load()>>20, int64(heap()-before)>>10)
	close(end)
	assert.Equal(t, "ExitCode 7", ended(t, status))
	c.wire.killed()
	sending.Wait()
}

// A client that opens streams without an end loses the connection, and its process ends.
func TestExec_StreamFlood(t *testing.T) {
	const refused, waiting = 64, 2
	h := serve(t)
	over := make(chan struct{})
	h.process = func(ctx context.Context, _ runtime.Streams) (int32, error) {
		defer close(over)
		<-ctx.Done()
		return 0, ctx.Err()
	}
	h.start()
	c := h.exec("/exec/default/web/c?command=sleep&output=1")
	_, _ = c.stream("error"), c.stream("stdout")
	for range waiting + refused {
		_, _ = c.CreateStream(http.Header{v1.StreamType: {"stdin"}})
	}
	select {
	case <-over:
		t.Error("too early")
	default:
	}
	_, err := c.CreateStream(http.Header{v1.StreamType: {"stdin"}})
	assert.Error(t, err)
	<-over
	c.wire.killed()
}
