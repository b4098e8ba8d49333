package server_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/podkeel/podkeel/runtime"
)

// HS-19: a pair of channels for each port, which begins with the port. An error is sent on the second channel, and
// does not end the other ports.
func TestWebSocket_PortForward(t *testing.T) {
	h := serve(t).start()
	var order sync.Mutex
	order.Lock()
	h.forward = func(_ context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
		if req.Port == 81 {
			defer order.Unlock()
			return errors.New("memory: connection refused")
		}
		text, err := bufio.NewReader(conn).ReadString('.')
		if err != nil {
			return err
		}
		if req.Port == 443 {
			order.Lock()
			defer order.Unlock()
		}
		_, err = io.WriteString(conn, strings.ToUpper(text))
		return err
	}
	for _, protocol := range []string{"", "v4.channel.k8s.io"} {
		ws := h.webSocket("/portForward/default/web?port=80&port=81,443", strings.Fields(protocol)...)
		for _, want := range []string{"0 P\x00", "1 P\x00"} {
			assert.Equal(t, want, ws.receive())
		}
		ws.send(final|binaryData, "\x01to the error channel, which is ignored")
		ws.send(final|binaryData, "\x02to the port that refuses")
		ws.send(final|binaryData, "\x00first.")
		ws.send(final|binaryData, "\x04second.")
		ws.send(final|binaryData, "\x06to no port")
		frames := ws.transcript()
		assert.ElementsMatch(t, []string{"0 FIRST.", "2 Q\x00", "3 Q\x00", "3 connection refused", "4 \xbb\x01", "5 \xbb\x01", "4 SECOND.", "close 1000", "EOF"}, frames)
		assert.Equal(t, []string{"close 1000", "EOF"}, frames[len(frames)-2:])
		assert.ElementsMatch(t, []string{"forward sandbox of u1 80", "forward sandbox of u1 81", "forward sandbox of u1 443"}, h.seen())
		order.Lock()
	}
	order.Unlock()
	ws := h.webSocket("/portForward/default/web?port=80", "v4.base64.channel.k8s.io")
	ws.send(final|text, "0aGku")
	assert.Equal(t, []string{"0UAA=", "1UAA=", "0SEku", "close 1000", "EOF"}, ws.transcript())
}

// The connections of all ports end with the client; the last of 128 ports has a channel of its own.
func TestWebSocket_PortForward_Ends(t *testing.T) {
	h := serve(t).start()
	over := make(chan error, 128)
	h.forward = func(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
		if req.Port == 2 {
			_, _ = io.WriteString(conn, "here")
		}
		_, err := io.Copy(io.Discard, conn)
		<-ctx.Done()
		over <- errors.Join(err, ctx.Err())
		return err
	}
	ws := h.webSocket("/portForward/default/web?port=1"+strings.Repeat(",1", 126)+",2", "v4.channel.k8s.io")
	for ws.receive() != "254 here" {
	}
	require.NoError(t, ws.Close())
	for range 128 {
		assert.EqualError(t, <-over, "context canceled")
	}
}

// panicking is a PortForwarder that panics for port 81, without closing the connection.
type panicking struct{ *harness }

func (p panicking) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	if req.Port == 81 {
		panic("boom")
	}
	return p.harness.PortForward(ctx, req, conn)
}

// The input of a port whose forwarding has panicked does not hold up the input of other ports.
func TestWebSocket_PortForward_Panics(t *testing.T) {
	h := serve(t)
	h.config.PortForward = panicking{h}
	h.forward = func(_ context.Context, _ runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
		text, err := bufio.NewReader(conn).ReadString('.')
		_, _ = io.WriteString(conn, strings.ToUpper(text))
		return err
	}
	c := h.start().webSocket("/portForward/default/web?port=81,80", "v4.channel.k8s.io")
	for range 200 {
		c.send(final|binaryData, "\x00x")
	}
	c.send(final|binaryData, "\x02read.")
	assert.ElementsMatch(t, []string{"0 Q\x00", "1 Q\x00", "1 PortForward panicked: boom", "2 P\x00", "3 P\x00", "2 READ.", "close 1000", "EOF"}, c.transcript())
}

// tunneled is the connection of a SPDY client in the messages of a WebSocket.
type tunneled struct {
	*webSocket
	rest string
}

func (c *tunneled) Read(p []byte) (int, error) {
	for c.rest == "" {
		header := make([]byte, 2)
		if _, err := io.ReadFull(c.from, header); err != nil {
			return 0, err
		}
		length := uint64(header[1])
		if extended := make([]byte, map[byte]int{126: 2, 127: 8}[header[1]]); len(extended) > 0 {
			if _, err := io.ReadFull(c.from, extended); err != nil {
				return 0, err
			}
			length = binary.BigEndian.Uint64(append(make([]byte, 8-len(extended)), extended...))
		}
		payload := make([]byte, length)
		if _, err := io.ReadFull(c.from, payload); err != nil {
			return 0, err
		}
		c.rest = string(payload)
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Write sends data in two frames, which do not follow the frames of SPDY.
func (c *tunneled) Write(p []byte) (int, error) {
	half := len(p) / 2
	_, err := c.Conn.Write(append(masked(binaryData, string(p[:half])), masked(final|continued, string(p[half:]))...))
	return len(p), err
}

// tunnel opens a SPDY session in a WebSocket.
func (h *harness) tunnel(path string, offered ...string) *client {
	h.Helper()
	ws, chosen := h.dialWebSocket(path, offered...)
	require.NotNil(h, ws, chosen)
	assert.Equal(h, "SPDY/3.1+portforward.k8s.io", chosen)
	w := &wire{Conn: &tunneled{webSocket: ws}, closed: make(chan struct{})}
	conn, err := spdy.NewClientConnection(w)
	require.NoError(h, err)
	h.Cleanup(func() { _ = w.Close() })
	return &client{conn, w, h.T}
}

// HS-19: a SPDY session for port forwarding in the messages of a WebSocket has all that a SPDY session has.
func TestWebSocket_Tunnel(t *testing.T) {
	h := serve(t).start()
	forwarding, over := make(chan struct{}), make(chan error, 1)
	h.forward = func(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
		switch req.Port {
		case 81:
			return errors.New("memory: connection refused")
		case 82:
			close(forwarding)
			<-ctx.Done()
			over <- ctx.Err()
			return ctx.Err()
		}
		text, err := io.ReadAll(conn)
		if err != nil {
			return err
		}
		_, err = io.WriteString(conn, strings.ToUpper(string(text)))
		return err
	}
	c := h.tunnel("/portForward/default/web", "v4.channel.k8s.io", "SPDY/3.1+v9.k8s.io", "SPDY/3.1+portforward.k8s.io")
	refused, _ := c.connection("0", "81")
	assert.Equal(t, "connection refused", all(t, refused))
	var others sync.WaitGroup
	for _, id := range []string{"1", "2"} {
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
	_, _ = c.connection("3", "82")
	<-forwarding
	require.NoError(t, c.wire.Close())
	require.ErrorIs(t, <-over, context.Canceled)
	assert.ElementsMatch(t, []string{"forward sandbox of u1 81", "forward sandbox of u1 80", "forward sandbox of u1 80", "forward sandbox of u1 82"}, h.seen())
}
