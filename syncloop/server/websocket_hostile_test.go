package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/server"
)

// TestWebSocket_FloodedByAClient: a client floods a process that reads nothing, with one message of a GiB, with
// fragments, or with sizes of a terminal. The server stops reading, and uses little memory. When the process exits,
// the client gets the status.
func TestWebSocket_FloodedByAClient(t *testing.T) {
	const part = 64 << 10
	giant := []byte{final | binaryData, 0x80 | 127, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0} // Its key and its channel are 0.
	for name, begin := range map[string][]byte{"message": giant, "fragments": masked(binaryData, "\x00begins"), "sizes": masked(final|binaryData, "\x04{")} {
		t.Run(name, func(t *testing.T) {
			h, f := serve(t), newFlood(1)
			end := make(chan struct{})
			h.process = func(context.Context, runtime.Streams) (int32, error) {
				close(f.begin)
				<-end
				return 7, nil
			}
			h.start()
			c := h.webSocket("/exec/default/web/c?command=sleep&input=1&output=1&tty=1", "v5.channel.k8s.io")
			<-f.begin
			data := map[string][]byte{"message": make([]byte, part), "fragments": masked(continued, strings.Repeat("x", part)), "sizes": masked(final|binaryData, "\x04"+strings.Repeat(" ", part))}[name]
			before := heap()
			f.stall.Reset(500 * time.Millisecond)
			var sending sync.WaitGroup
			sending.Go(func() {
				if _, err := c.Write(begin); err != nil {
					return
				}
				for range (64 << 20) / part {
					if _, err := c.Write(data); err != nil {
						return
					}
					f.written.Add(part)
					f.stall.Reset(500 * time.Millisecond)
				}
			})
			<-f.stalled
			assert.Less(t, int64(heap()-before), int64(4<<20))
			t.Logf("%d KiB sent, %d KiB of heap", f.written.Load()>>10, int64(heap()-before)>>10)
			close(end)
			assert.Equal(t, "1 ", c.receive())
			assert.Contains(t, c.receive(), `"message":"7"`)
			assert.Equal(t, "close 1000", c.receive())
			_ = c.Close()
			sending.Wait()
		})
	}
}

// TestWebSocket_FloodsAClientThatStopped: a command that floods a client which has stopped reading stands still, takes
// no memory, and ends with the client. So it is with the answers to the pings of such a client.
func TestWebSocket_FloodsAClientThatStopped(t *testing.T) {
	const clients = 20
	h, f := serve(t), newFlood(clients)
	h.simulated(f)
	h.start()
	var stopped []*webSocket
	for range clients {
		stopped = append(stopped, h.webSocket("/exec/default/web/c?command=flood&output=1", "v4.channel.k8s.io"))
	}
	for range clients {
		<-f.started
	}
	before := heap()
	close(f.begin)
	<-f.stalled
	for _, c := range stopped {
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		for pings := []byte(strings.Repeat(string(masked(final|ping, strings.Repeat("x", 125))), 100)); ; {
			if _, err := c.Write(pings); err != nil {
				break
			}
		}
	}
	last := f.written.Load()
	assert.Less(t, last/clients, int64(16<<20), "bytes that one client was sent and did not take")
	assert.Less(t, int64(heap()-before)/clients, int64(1<<20), "bytes of memory for each of them")
	t.Logf("%d clients that stopped: %d KiB written to each, %d KiB of heap for each", clients, last/clients>>10, int64(heap()-before)/clients>>10)
	for _, c := range stopped {
		_ = c.Conn.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	for range clients {
		<-f.over
	}
}

// TestWebSocket_Bound: commands over WebSockets and over SPDY have the same bound, and a WebSocket that ends gives its
// slot back.
func TestWebSocket_Bound(t *testing.T) {
	h := serve(t).start()
	over := make(chan struct{}, 64)
	h.process = func(ctx context.Context, _ runtime.Streams) (int32, error) {
		<-ctx.Done()
		over <- struct{}{}
		return 0, ctx.Err()
	}
	var idle []*webSocket
	for range 64 {
		idle = append(idle, h.webSocket("/exec/default/web/c?command=sleep&output=1", "v5.channel.k8s.io"))
	}
	_, answer := h.dialWebSocket("/exec/default/web/c?command=sleep&output=1", "v5.channel.k8s.io")
	assert.Equal(t, "503 64 such requests are in progress; stop one", answer)
	_, answer = h.dial("/exec/default/web/c?command=sleep&output=1", "v4.channel.k8s.io")
	assert.Equal(t, "503 64 such requests are in progress; stop one", answer)
	for _, c := range idle {
		assert.Equal(t, "1 ", c.receive())
		c.send(final|closing, "\x03\xe8")
		assert.Equal(t, "close 1000", c.receive())
		<-over
		assert.Equal(t, "EOF", c.receive()) // The request has ended.
	}
	assert.NotNil(t, h.webSocket("/exec/default/web/c?command=sleep&output=1", "v5.channel.k8s.io"))
}

// TestWebSocket_Garbage: data that are no frames end the WebSocket, and no goroutine is left.
func TestWebSocket_Garbage(t *testing.T) {
	h := serve(t)
	h.process = func(ctx context.Context, _ runtime.Streams) (int32, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	h.forward = func(ctx context.Context, _ runtime.PortForwardRequest, _ io.ReadWriteCloser) error {
		<-ctx.Done()
		return ctx.Err()
	}
	h.start()
	cases := map[string]string{
		"nothing": "", "zeros": strings.Repeat("\x00", 1<<16), "http": "GET / HTTP/1.1\r\n\r\n", "cut header": "\x82", "not masked": "\x82\x02\x00x",
		"cut giant": "\x82\xff\x3f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00abc", "ping": strings.Repeat(string(masked(final|ping, "")), 1000), "unknown": string(masked(final|0x7, "\x00x")),
		"base64": string(masked(final|text, "0!!!!")), "spdy": string(masked(final|binaryData, "\x80\x03\x00\x01\x00\xff\xff\xff")), "signals": strings.Repeat(string(masked(final|binaryData, "\xff\x00")), 100),
	}
	for _, path := range []string{"/exec/default/web/c?command=x&output=1&input=1", "/portForward/default/web?port=80,81", "/attach/default/web/c?output=1"} {
		for _, protocol := range []string{"v4.channel.k8s.io", "v4.base64.channel.k8s.io", "v5.channel.k8s.io", "SPDY/3.1+portforward.k8s.io"} {
			if strings.HasPrefix(path, "/portForward") == strings.HasPrefix(protocol, "v5") || strings.HasPrefix(protocol, "SPDY") && !strings.HasPrefix(path, "/portForward") {
				continue
			}
			for name, garbage := range cases {
				c, answer := h.dialWebSocket(path, protocol)
				require.NotNil(t, c, "%s %s %s: %s", path, protocol, name, answer)
				_, _ = io.WriteString(c.Conn, garbage)
				require.NoError(t, c.Close())
			}
		}
	}
}

// TestWebSocket_EarlyInput: messages that a client sends with its request, before the answer, are not lost.
func TestWebSocket_EarlyInput(t *testing.T) {
	h := serve(t).start()
	h.process = upper
	raw, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	require.NoError(t, err)
	defer raw.Close()
	_, err = io.WriteString(raw, "GET /exec/default/web/c?command=tr&input=1&output=1&error=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n"+
		string(masked(final|binaryData, "\x00ear"))+string(masked(final|binaryData, "\x00ly.")))
	require.NoError(t, err)
	from := bufio.NewReader(raw)
	_, err = http.ReadResponse(from, nil)
	require.NoError(t, err)
	c := &webSocket{raw, from, t}
	assert.Equal(t, []string{"1 ", "1 EARLY.", "2 done"}, c.transcript()[:3])
}

// TestWebSocket_TunnelOfLongFrames: a frame of control in a tunnel has the same bound as outside of one.
func TestWebSocket_TunnelOfLongFrames(t *testing.T) {
	h := serve(t).start()
	c := h.webSocket("/portForward/default/web", "SPDY/3.1+portforward.k8s.io")
	c.send(final|binaryData, "\x80\x03\x00\x01\x00\xff\xff\xff") // The rest of the frame never comes.
	assert.Equal(t, "EOF", c.receive())
}

// TestWebSocket_OutputWithUnreadInput: a client gets all output and the status, although the process has not read its
// input. Closing the connection too early would reset it.
func TestWebSocket_OutputWithUnreadInput(t *testing.T) {
	h := serve(t).start()
	sent, writing := make(chan struct{}), make(chan struct{})
	h.process = func(_ context.Context, s runtime.Streams) (int32, error) {
		<-sent
		close(writing)
		_, err := s.Stdout.Write(make([]byte, 4<<20))
		return 0, err
	}
	c := h.webSocket("/exec/default/web/c?command=sh&input=1&output=1", "v5.channel.k8s.io")
	require.NoError(t, c.Conn.(*net.TCPConn).SetReadBuffer(64<<10))
	require.NoError(t, c.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	for input := masked(final|binaryData, "\x00"+strings.Repeat("x", 16<<10)); ; {
		if _, err := c.Write(input); err != nil {
			break // The buffers of the system are full.
		}
	}
	close(sent)
	<-writing
	assert.Equal(t, "1 ", c.receive())
	assert.Len(t, c.receive(), 2+4<<20)
	assert.Equal(t, []string{`3 {"metadata":{},"status":"Success"}`, "close 1000", "EOF"}, c.transcript())
}

// pipeWriter is a response whose connection is a pipe.
type pipeWriter struct {
	http.ResponseWriter
	net.Conn
}

func (p pipeWriter) Write(b []byte) (int, error) { return p.Conn.Write(b) }

func (p pipeWriter) Header() http.Header { return http.Header{} }

func (p pipeWriter) WriteHeader(code int) { _, _ = fmt.Fprintf(p.Conn, "HTTP/1.1 %d x\r\n\r\n", code) }

func (p pipeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return p.Conn, bufio.NewReadWriter(bufio.NewReader(p.Conn), bufio.NewWriter(p.Conn)), nil
}

// halfClosed is a connection that records when its halves are closed.
type halfClosed struct {
	net.Conn
	began time.Time
	ends  *[]string
}

func (c halfClosed) CloseWrite() error {
	*c.ends = append(*c.ends, fmt.Sprint("output ended after ", time.Since(c.began)))
	return nil
}

func (c halfClosed) Close() error {
	*c.ends = append(*c.ends, fmt.Sprint("closed after ", time.Since(c.began)))
	return c.Conn.Close()
}

// TestWebSocket_Close: when the process has exited, the client hears of the end of the output at once. The server closes
// the connection after a second, when the client has closed it, or when the server stops.
func TestWebSocket_Close(t *testing.T) {
	for by, after := range map[string]string{"server": "1s", "client": "0s", "stop": "0s"} {
		synctest.Test(t, func(t *testing.T) {
			h := serve(t)
			h.process = func(context.Context, runtime.Streams) (int32, error) { return 0, nil }
			var ends []string
			c, done := h.servePipe(func(below net.Conn) net.Conn { return halfClosed{below, time.Now(), &ends} })
			for _, want := range []string{"3 ", "close 1000"} {
				assert.Equal(t, want, c.receive())
			}
			synctest.Wait()
			switch by {
			case "client":
				require.NoError(t, c.Close())
			case "stop":
				h.stop()
			}
			<-done
			assert.Equal(t, []string{"output ended after 0s", "closed after " + after}, ends[:2], by)
			h.stop()
			_ = c.Close()
		})
	}
}

// servePipe serves a WebSocket without protocol on a pipe, with input and without output. done is closed when the
// request has ended.
func (h *harness) servePipe(wrap func(net.Conn) net.Conn) (c *webSocket, done <-chan struct{}) {
	handler, err := server.New(h.config)
	require.NoError(h, err)
	client, below := net.Pipe()
	served := make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() {
		defer close(served)
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET /exec/default/web/c?command=sleep&input=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")))
		if assert.NoError(h, err) {
			handler.ServeHTTP(pipeWriter{nil, wrap(below)}, r.WithContext(ctx))
		}
	}()
	from := bufio.NewReader(client)
	_, err = http.ReadResponse(from, nil)
	require.NoError(h, err)
	return &webSocket{client, from, h.T}, served
}

// TestWebSocket_Idle: a WebSocket without traffic ends after four hours, also while the client waits because the
// process does not read.
func TestWebSocket_Idle(t *testing.T) {
	for _, parts := range []int{0, 10, 100} {
		synctest.Test(t, func(t *testing.T) {
			h := serve(t)
			began := time.Now()
			var ended time.Duration
			h.process = func(ctx context.Context, _ runtime.Streams) (int32, error) {
				<-ctx.Done()
				ended = time.Since(began)
				return 0, ctx.Err()
			}
			c, done := h.servePipe(func(below net.Conn) net.Conn { return below })
			assert.Equal(t, "3 ", c.receive())
			go func() { _, _ = io.Copy(io.Discard, c.from) }()
			time.Sleep(time.Hour)
			for range parts {
				if _, err := c.Write(masked(final|binaryData, "\x00x")); errors.Is(err, io.ErrClosedPipe) {
					break
				}
			}
			<-done
			want := 4 * time.Hour
			if parts > 0 {
				want = 5 * time.Hour
			}
			assert.Equal(t, want, ended)
			require.NoError(t, c.Close())
			h.stop()
		})
	}
}
