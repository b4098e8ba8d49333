package memory_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// An attached client receives the output from then on, until the container exits.
func TestAttach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := createSandbox(t, r, "a", nil)
		id := startContainer(t, r, ref, sandbox, "main", 0, "sh", "-c", "echo one; sleep 10; echo two; sleep 10; echo three")
		time.Sleep(time.Second)
		var out strings.Builder
		require.NoError(t, r.Attach(t.Context(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{Stdout: &out}))
		assert.Equal(t, "two\nthree\n", out.String())
		require.ErrorIs(t, r.Attach(t.Context(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{}), runtime.ErrWrongState)
		require.ErrorIs(t, r.Attach(t.Context(), runtime.AttachRequest{ContainerID: "none"}, runtime.Streams{}), runtime.ErrNotFound)
	})
}

// A port echoes all bytes until the connection ends.
func TestPortForward(t *testing.T) {
	r := memory.New(memory.Config{})
	_, sandbox := createSandbox(t, r, "a", nil)
	here, there := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- r.PortForward(t.Context(), runtime.PortForwardRequest{SandboxID: sandbox, Port: 80}, there)
	}()
	_, err := io.WriteString(here, "hello")
	require.NoError(t, err)
	got := make([]byte, 5)
	_, err = io.ReadFull(here, got)
	require.NoError(t, err)
	assert.Equal(t, "hello", string(got))
	require.NoError(t, here.Close())
	require.NoError(t, <-ended)
	for id, want := range map[string]error{"none": runtime.ErrNotFound, sandbox: runtime.ErrWrongState} {
		require.NoError(t, r.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: sandbox}))
		here, there := net.Pipe()
		require.ErrorIs(t, r.PortForward(t.Context(), runtime.PortForwardRequest{SandboxID: id, Port: 80}, there), want)
		_, err := here.Read(got)
		require.ErrorIs(t, err, io.EOF, "it is closed")
	}
}

// attached is a client that types.
type attached struct {
	keys   *io.PipeWriter
	screen strings.Builder
	leave  context.CancelFunc
	ended  chan error
}

// attachClient connects a client.
func attachClient(t *testing.T, r *memory.Runtime, id string, tty bool) *attached {
	in, keys := io.Pipe()
	ctx, leave := context.WithCancel(t.Context())
	a := &attached{keys: keys, leave: leave, ended: make(chan error, 1)}
	go func() {
		a.ended <- r.Attach(ctx, runtime.AttachRequest{ContainerID: id, TTY: tty}, runtime.Streams{Stdin: in, Stdout: &a.screen})
		_ = in.Close()
	}()
	synctest.Wait()
	return a
}

func (a *attached) typeText(t *testing.T, text string) {
	_, err := io.WriteString(a.keys, text)
	require.NoError(t, err)
	synctest.Wait()
}

// Several clients attach to one process: each input is read once, and all clients receive the
// output. The process exits when the last client detaches.
func TestAttach_ManyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		begun, ended := 0, 0
		r.SetCommand(memory.Selector{}, "count", func(ctx context.Context, p *memory.Process) int32 {
			begun++
			defer func() { ended++ }()
			fmt.Fprintln(p.Stdout, "ready")
			lines := bufio.NewScanner(p.Stdin)
			for n := 1; lines.Scan(); n++ {
				fmt.Fprintln(p.Stdout, n, lines.Text())
			}
			return 0
		})
		ref, id := startAttachable(t, r, "a", false, "count")
		time.Sleep(time.Second)
		one, two := attachClient(t, r, id, false), attachClient(t, r, id, false)
		one.typeText(t, "from one\n")
		two.typeText(t, "from two\n")
		assert.Equal(t, "ready\n1 from one\n2 from two\n", one.screen.String())
		assert.Equal(t, "1 from one\n2 from two\n", two.screen.String())
		one.leave()
		require.ErrorIs(t, <-one.ended, context.Canceled)
		three := attachClient(t, r, id, false)
		two.typeText(t, "again\n")
		assert.Equal(t, "3 again\n", three.screen.String())
		assert.Equal(t, "ready\n1 from one\n2 from two\n", one.screen.String())
		assert.Equal(t, []int{1, 0}, []int{begun, ended})
		two.leave()
		three.leave()
		require.ErrorIs(t, <-two.ended, context.Canceled)
		require.ErrorIs(t, <-three.ended, context.Canceled)
		assert.Equal(t, []int{1, 1}, []int{begun, ended})
		assert.Equal(t, runtime.StateRunning, containerStatus(t, r, ref, id).State)
		four := attachClient(t, r, id, false)
		four.typeText(t, "anew\n")
		assert.Equal(t, "ready\n1 anew\n", four.screen.String())
		require.NoError(t, r.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: id}))
		require.NoError(t, <-four.ended)
		require.Zero(t, r.Waiters())
	})
}

// A disconnected client does not affect the others. Ctrl-C of one client on a terminal, or the end
// of an input with StdinOnce, stops the process for all. A panic of the process is the error of
// each client.
func TestAttach_ManyClientsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		_, id := startAttachable(t, r, "a", false, "cat")
		time.Sleep(time.Second)
		one := attachClient(t, r, id, true)
		gone := errors.New("client disconnected")
		deaf := make(chan error, 1)
		go func() {
			in, _ := io.Pipe()
			defer in.Close()
			deaf <- r.Attach(t.Context(), runtime.AttachRequest{ContainerID: id, TTY: true}, runtime.Streams{Stdin: in, Stdout: brokenPipe{gone}})
		}()
		synctest.Wait()
		one.typeText(t, "x\r")
		require.ErrorIs(t, <-deaf, gone)
		assert.Equal(t, "x\r\nx\r\n", one.screen.String())
		two := attachClient(t, r, id, true)
		two.typeText(t, "\x03")
		require.NoError(t, <-one.ended)
		require.NoError(t, <-two.ended)

		ref, id := startAttachable(t, r, "once", true, "cat")
		time.Sleep(time.Second)
		one, two = attachClient(t, r, id, false), attachClient(t, r, id, false)
		require.NoError(t, two.keys.Close())
		require.NoError(t, <-one.ended)
		require.NoError(t, <-two.ended)
		assert.Equal(t, runtime.StateExited, containerStatus(t, r, ref, id).State)

		r.SetCommand(memory.Selector{}, "bug", func(context.Context, *memory.Process) int32 { panic("a bug") })
		_, id = startAttachable(t, r, "bug", true, "bug")
		time.Sleep(time.Second)
		require.ErrorContains(t, <-attachClient(t, r, id, false).ended, "a bug")
		require.Zero(t, r.Waiters())
	})
}
