package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/podkeel/podkeel/runtime"
)

// client is a SPDY client.
type client struct {
	httpstream.Connection
	wire *wire
	t    *testing.T
}

// wire is a connection whose second Close is no error, on which the library would wait, and
// that can stop to read.
type wire struct {
	net.Conn
	stopped atomic.Bool
	closed  chan struct{}
	shut    sync.Once
}

func (w *wire) Read(p []byte) (int, error) {
	if w.stopped.Load() {
		<-w.closed
	}
	return w.Conn.Read(p)
}

func (w *wire) Close() error {
	_ = w.Conn.Close()
	w.shut.Do(func() { close(w.closed) })
	return nil
}

// killed closes the connection as the end of a process does that has not read all.
func (w *wire) killed() {
	_ = w.Conn.(*net.TCPConn).SetLinger(0)
	_ = w.Close()
}

// dial upgrades a connection. Without a client the answer is one without an upgrade.
func (h *harness) dial(path, protocol string) (c *client, answer string) {
	h.Helper()
	raw, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	require.NoError(h, err)
	r, err := http.NewRequest(http.MethodPost, h.url+path, nil)
	require.NoError(h, err)
	r.Header = http.Header{
		"Authorization": {"Bearer alice"}, "Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}, "X-Stream-Protocol-Version": {"v5.channel.k8s.io, " + protocol},
	}
	require.NoError(h, r.Write(raw))
	got, err := http.ReadResponse(bufio.NewReader(raw), r)
	require.NoError(h, err)
	if got.StatusCode != http.StatusSwitchingProtocols {
		text, err := io.ReadAll(got.Body)
		require.NoError(h, err)
		require.NoError(h, raw.Close())
		return nil, sprint(got.StatusCode, strings.TrimSuffix(string(text), "\n"))
	}
	assert.Equal(h, protocol, got.Header.Get("X-Stream-Protocol-Version"))
	w := &wire{Conn: raw, closed: make(chan struct{})}
	conn, err := spdy.NewClientConnection(w)
	require.NoError(h, err)
	h.Cleanup(func() { _ = w.Close() })
	return &client{conn, w, h.T}, ""
}

func (h *harness) exec(path string) *client {
	h.Helper()
	c, answer := h.dial(path, "v4.channel.k8s.io")
	require.NotNil(h, c, answer)
	return c
}

// stream opens a stream with headers, in pairs.
func (c *client) stream(kind string, headers ...string) httpstream.Stream {
	c.t.Helper()
	h := http.Header{}
	h.Set(v1.StreamType, kind)
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	s, err := c.CreateStream(h)
	require.NoError(c.t, err)
	return s
}

func all(t *testing.T, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text)
}

// ended is what a client learns of the end of a process, when it has taken all output.
func ended(t *testing.T, status io.Reader) string {
	t.Helper()
	var s struct {
		Status, Reason, Message string
		Details                 struct {
			Causes []struct{ Reason, Message string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(all(t, status)), &s))
	if s.Reason == "NonZeroExitCode" {
		return s.Details.Causes[0].Reason + " " + s.Details.Causes[0].Message
	}
	return s.Status + s.Message
}

// HS-13 to HS-16: all streams of a command, to the end of its input.
func TestExec(t *testing.T) {
	h := serve(t).start()
	h.process = func(_ context.Context, s runtime.Streams) (int32, error) {
		text, err := io.ReadAll(s.Stdin)
		if err != nil {
			return 0, err
		}
		_, _ = io.WriteString(s.Stdout, strings.ToUpper(string(text)))
		_, _ = io.WriteString(s.Stderr, "done")
		return int32(len(text) % 256), nil
	}
	for _, path := range []string{"/exec/default/web/c", "/exec/default/web/u1/c"} {
		for size, want := range map[int]string{0: "Success", 3: "ExitCode 3", 1<<20 + 7: "ExitCode 7"} {
			c := h.exec(path + "?command=sh&command=-c&command=x+y&input=1&output=1&error=1")
			status, in, out, fault := c.stream("error"), c.stream("stdin"), c.stream("stdout"), c.stream("stderr")
			var others sync.WaitGroup
			others.Go(func() {
				_, err := io.WriteString(in, strings.Repeat("x", size))
				assert.NoError(t, err)
				assert.NoError(t, in.Close())
			})
			var complaint string
			others.Go(func() { complaint = all(t, fault) })
			assert.Len(t, all(t, out), size)
			assert.Equal(t, want, ended(t, status))
			others.Wait()
			assert.Equal(t, "done", complaint)
			require.NoError(t, c.Close())
			assert.Equal(t, []string{`exec u1/c ["sh" "-c" "x y"] tty=false 3 streams`}, h.seen())
		}
	}
}

// HS-11, HS-12: a terminal has one output stream and a stream of sizes. For an attached process the
// container decides whether there is a terminal.
func TestExec_Terminal(t *testing.T) {
	h := serve(t).start()
	h.process = func(ctx context.Context, s runtime.Streams) (int32, error) {
		for range 2 {
			size, ok := s.Resized(ctx)
			if !ok {
				return 1, nil
			}
			_ = json.NewEncoder(s.Stdout).Encode(size)
		}
		return 0, nil
	}
	for path, want := range map[string]string{
		"/exec/default/web/c?command=sh&tty=1&": `exec u1/c ["sh"] tty=true 3 streams`,
		"/attach/default/web/shell?tty=true&":   "attach u1/shell tty=true 3 streams",
		"/attach/default/web/u1/c?tty=true&":    "attach u1/c tty=false 3 streams",
	} {
		c := h.exec(path + "input=1&output=1&error=1")
		status, out, sizes := c.stream("error"), c.stream("stdout"), c.stream("resize")
		_ = c.stream("stdin")
		_, err := io.WriteString(sizes, `{"Width":80,"Height":24}{"Width":100,"Height":50}`)
		require.NoError(t, err)
		assert.Equal(t, "{\"Columns\":80,\"Rows\":24}\n{\"Columns\":100,\"Rows\":50}\n", all(t, out))
		assert.Equal(t, "Success", ended(t, status))
		require.NoError(t, c.Close())
		assert.Equal(t, []string{want}, h.seen())
	}
	h.process = func(ctx context.Context, s runtime.Streams) (int32, error) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		_, ok := s.Resized(ctx)
		return map[bool]int32{true: 1, false: 2}[ok], nil
	}
	c := h.exec("/exec/default/web/c?command=sh&tty=1&output=1")
	status, out, _ := c.stream("error"), c.stream("stdout"), c.stream("resize")
	assert.Empty(t, all(t, out))
	assert.Equal(t, "ExitCode 2", ended(t, status), "the end of the process ends the wait for a size")
	require.NoError(t, c.Close())
}

// HS-15: the error of a command is sent at the end, in one sentence.
func TestExec_Fails(t *testing.T) {
	h := serve(t).start()
	h.process = func(context.Context, runtime.Streams) (int32, error) { return 0, errors.New("cri: the shim is gone") }
	c := h.exec("/exec/default/web/c?command=sh&output=1")
	status, out := c.stream("error"), c.stream("stdout")
	assert.Empty(t, all(t, out))
	assert.Equal(t, "Failurethe shim is gone", ended(t, status))
	require.NoError(t, c.Close())
	h.seen()
	for path, want := range map[string]string{
		"/exec/default/web/c?output=1":                 "400 the command is missing",
		"/exec/default/web/c?command=sh":               "400 one of input, output and error is needed",
		"/exec/default/web/c?command=sh&error=1&tty=1": "400 one of input, output and error is needed",
		"/exec/default/web/late?command=sh&output=1":   "404 no container late: not found",
		"/exec/default/web/broken?command=sh&output=1": "503 the runtime is away: not ready",
		"/exec/default/none/c?command=sh&output=1":     "404 pod none is not on this node",
		"/exec/default/web/u2/c?command=sh&output=1":   "404 pod web is not on this node",
		"/attach/default/none/c?output=1":              "404 pod none is not on this node",
		"/portForward/default/none":                    "404 pod none is not on this node",
		"/portForward/kube-system/web":                 "404 pod u2 has no sandbox: not found",
	} {
		c, answer := h.dial(path, "v4.channel.k8s.io")
		assert.Nil(t, c, path)
		assert.Equal(t, want, answer, path)
	}
	c, answer := h.dial("/exec/default/web/c?command=sh&output=1", "v9.channel.k8s.io")
	assert.Nil(t, c)
	assert.Equal(t, "403 unable to upgrade: unable to negotiate protocol: client supports [v5.channel.k8s.io v9.channel.k8s.io], server accepts [v4.channel.k8s.io]", answer)
	code, text := h.ask("GET", "/exec/default/web/c?command=sh&output=1")
	assert.Equal(t, "400 this needs an upgrade of the connection to SPDY/3.1 or WebSocket", sprint(code, text))
	assert.Empty(t, h.seen())
}

// A process ends with its client, and with the server; input that is not read holds up
// neither.
func TestExec_Ends(t *testing.T) {
	for _, by := range []string{"client", "server"} {
		t.Run(by, func(t *testing.T) {
			h := serve(t).start()
			running, over := make(chan struct{}), make(chan error, 1)
			h.process = func(ctx context.Context, _ runtime.Streams) (int32, error) {
				close(running)
				<-ctx.Done()
				over <- ctx.Err()
				return 0, ctx.Err()
			}
			c := h.exec("/exec/default/web/c?command=sh&input=1&output=1")
			_, in, _ := c.stream("error"), c.stream("stdin"), c.stream("stdout")
			<-running
			_, err := io.WriteString(in, strings.Repeat("x", 1<<10))
			require.NoError(t, err)
			if by == "client" {
				require.NoError(t, c.Close())
			} else {
				h.stop()
			}
			require.ErrorIs(t, <-over, context.Canceled)
			<-c.CloseChan()
		})
	}
}

// A client that opens more streams than it has announced loses them, and nothing else.
func TestExec_MoreStreams(t *testing.T) {
	h := serve(t).start()
	release := make(chan struct{})
	h.process = func(context.Context, runtime.Streams) (int32, error) { <-release; return 0, nil }
	c := h.exec("/exec/default/web/c?command=sh&output=1")
	status, out := c.stream("error"), c.stream("stdout")
	for range 4 {
		if s, err := c.CreateStream(http.Header{"Streamtype": {"stdout"}}); err == nil {
			defer func() { _ = s.Reset() }()
		}
	}
	close(release)
	assert.Empty(t, all(t, out))
	assert.Equal(t, "Success", ended(t, status))
	require.NoError(t, c.Close())
}

// HS-14: of the streams that a client opens beyond those that it has announced, as many again wait
// for the end; further ones are reset at once, while the process runs.
func TestExec_HS14_FurtherStreamsAreReset(t *testing.T) {
	h := serve(t).start()
	begun, release := make(chan struct{}), make(chan struct{})
	h.process = func(context.Context, runtime.Streams) (int32, error) { close(begun); <-release; return 0, nil }
	c := h.exec("/exec/default/web/c?command=sh&output=1")
	status, out := c.stream("error"), c.stream("stdout")
	<-begun // The server has taken the two announced streams, so its queue has room for two others.
	ends := make([]chan error, 4)
	for i := range ends {
		ends[i] = make(chan error, 1)
		further, err := c.CreateStream(http.Header{"Streamtype": {"stdout"}})
		if err != nil {
			ends[i] <- err
			continue
		}
		go func() {
			_, err := further.Read(make([]byte, 1))
			ends[i] <- err
		}()
	}
	for _, end := range ends[2:] {
		assert.Error(t, <-end) // It would not come otherwise, as the process does not end.
	}
	for _, end := range ends[:2] {
		select {
		case <-end:
			t.Error("there is room for it to wait")
		default:
		}
	}
	close(release)
	assert.Empty(t, all(t, out))
	assert.Equal(t, "Success", ended(t, status))
	require.NoError(t, c.Close())
	for _, end := range ends[:2] {
		<-end
	}
}

// connection opens one connection to a port.
func (c *client) connection(id, port string) (fault, data httpstream.Stream) {
	fault = c.stream("error", v1.PortHeader, port, v1.PortForwardRequestIDHeader, id)
	require.NoError(c.t, fault.Close())
	return fault, c.stream("data", v1.PortHeader, port, v1.PortForwardRequestIDHeader, id)
}

// HS-18, HS-20: connections are independent of each other, and half of one may end first.
func TestPortForward(t *testing.T) {
	h := serve(t).start()
	h.forward = func(_ context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
		if req.Port == 81 {
			return errors.New("memory: connection refused")
		}
		text, err := io.ReadAll(conn)
		if err != nil {
			return err
		}
		_, err = io.WriteString(conn, strings.ToUpper(string(text)))
		return err
	}
	c, answer := h.dial("/portForward/default/web?port=80", "portforward.k8s.io")
	require.NotNil(t, c, answer)
	refused, _ := c.connection("0", "81")
	assert.Equal(t, "connection refused", all(t, refused))
	var others sync.WaitGroup
	for _, id := range []string{"1", "2", ""} {
		fault, data := c.connection(id, "80")
		others.Go(func() {
			_, err := io.WriteString(data, strings.Repeat("x", 100_000))
			assert.NoError(t, err)
			assert.NoError(t, data.Close())
			assert.Equal(t, strings.Repeat("X", 100_000), all(t, data))
			assert.Empty(t, all(t, fault))
		})
	}
	others.Wait()
	for _, bad := range [][2]string{{"data", "0"}, {"data", "65536"}, {"data", "http"}, {"more", "80"}} {
		s := c.stream(bad[0], v1.PortHeader, bad[1], v1.PortForwardRequestIDHeader, "9")
		assert.Empty(t, all(t, s), bad)
	}
	fault, data := c.connection("9", "80")
	require.NoError(t, data.Close())
	assert.Empty(t, all(t, data))
	assert.Empty(t, all(t, fault))
	require.NoError(t, c.Close())
	assert.Equal(t, []string{"forward sandbox of u1 81", "forward sandbox of u1 80", "forward sandbox of u1 80", "forward sandbox of u1 80", "forward sandbox of u1 80"}, h.seen())
}

// The close of a connection ends a Read of it; the end of the client ends all connections.
func TestPortForward_Ends(t *testing.T) {
	h := serve(t).start()
	forwarding := make(chan struct{}, 2)
	over := make(chan error, 2)
	h.forward = func(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
		read := make(chan error, 1)
		go func() {
			_, err := conn.Read(make([]byte, 1))
			read <- err
		}()
		forwarding <- struct{}{}
		if req.Port == 81 {
			_ = conn.Close()
		}
		over <- <-read
		<-ctx.Done()
		return ctx.Err()
	}
	c, _ := h.dial("/portForward/default/web", "portforward.k8s.io")
	require.NotNil(t, c)
	_, _ = c.connection("1", "81")
	require.ErrorIs(t, <-over, io.EOF)
	_, _ = c.connection("2", "80")
	<-forwarding
	<-forwarding
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-over, io.EOF)
}

// One client has so many connections at once.
func TestPortForward_Bound(t *testing.T) {
	h := serve(t).start()
	h.forward = func(ctx context.Context, _ runtime.PortForwardRequest, _ io.ReadWriteCloser) error {
		<-ctx.Done()
		return ctx.Err()
	}
	c, _ := h.dial("/portForward/default/web", "portforward.k8s.io")
	require.NotNil(t, c)
	for range 128 {
		_, _ = c.connection("", "80")
	}
	fault, _ := c.connection("", "80")
	assert.Equal(t, "128 connections are open already", all(t, fault))
	require.NoError(t, c.Close())
}
