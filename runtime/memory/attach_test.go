package memory_test

import (
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

// Who attaches to a container gets what it prints from now on, until it ends.
func TestAttach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := place(t, r, "a", nil)
		id := start(t, r, ref, sandbox, "main", 0, "sh", "-c", "echo one; sleep 10; echo two; sleep 10; echo three")
		time.Sleep(time.Second)
		var out strings.Builder
		require.NoError(t, r.Attach(t.Context(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{Stdout: &out}))
		assert.Equal(t, "two\nthree\n", out.String())
		require.ErrorIs(t, r.Attach(t.Context(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{}), runtime.ErrWrongState)
		require.ErrorIs(t, r.Attach(t.Context(), runtime.AttachRequest{ContainerID: "none"}, runtime.Streams{}), runtime.ErrNotFound)
	})
}

// A port sends back what it gets, to its end.
func TestPortForward(t *testing.T) {
	r := memory.New(memory.Config{})
	_, sandbox := place(t, r, "a", nil)
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
