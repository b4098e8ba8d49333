package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

const (
	// openTimeout is how long a client may take to open the streams that it has announced.
	openTimeout = 30 * time.Second
	// idleTimeout ends a connection without traffic.
	idleTimeout = 4 * time.Hour
	// maxRefused is the maximum number of streams that are reset in one connection.
	maxRefused = 64
	// closeTimeout is how long a client may take to close the connection after the end of the session.
	closeTimeout = time.Second
)

// session is a connection of SPDY streams. The client opens all streams.
type session struct {
	httpstream.Connection
	raw    *hijackRecorder
	opened chan openedStream
	close  func() // closes the connection and all streams
	// refused counts streams that were reset at once. The library stores them until the end of the connection.
	refused atomic.Int32
}

// stream is a SPDY stream of a client, or a channel of its WebSocket.
type stream interface {
	io.ReadWriteCloser
	// Reset ends a running Read.
	Reset() error
}

// openedStream is a SPDY stream that a client has opened.
type openedStream struct {
	httpstream.Stream
	replied <-chan struct{} // closed when the reply to the client is sent
}

// requireUpgradeOrRespond reports whether the request asks for an upgrade to SPDY/3.1 or WebSocket. If it asks for
// neither, it responds with 400.
func requireUpgradeOrRespond(w http.ResponseWriter, r *http.Request) (asks bool) {
	isSPDY := httpstream.IsUpgradeRequest(r) && strings.EqualFold(r.Header.Get(httpstream.HeaderUpgrade), spdy.HeaderSpdy31)
	if isSPDY || wsstream.IsWebSocketRequest(r) {
		return true
	}
	respond.WriteText(w, http.StatusBadRequest, "this needs an upgrade of the connection to SPDY/3.1 or WebSocket\n")
	return false
}

// upgradeToSPDY upgrades the connection of a request to a SPDY session; after an error the client has received
// a response. For the context and maxWaiting see startSession.
func upgradeToSPDY(w http.ResponseWriter, r *http.Request, protocol string, maxWaiting int) (context.Context, *session, error) {
	if _, err := httpstream.Handshake(r, w, []string{protocol}); err != nil {
		return nil, nil, err
	}
	raw := &hijackRecorder{ResponseWriter: w}
	return startSession(r.Context(), raw, maxWaiting, func(accept httpstream.NewStreamHandler) httpstream.Connection {
		return spdy.NewResponseUpgrader().UpgradeResponse(raw, r, accept)
	})
}

// startSession starts a SPDY session on the connection that connect returns. It returns an error if connect
// returns nil. raw has the connection below when connect returns. The returned context ends with parent and with
// the connection. At most maxWaiting opened streams wait for the caller; further ones are reset, and after
// maxRefused of them the connection is closed.
func startSession(parent context.Context, raw *hijackRecorder, maxWaiting int, connect func(httpstream.NewStreamHandler) httpstream.Connection) (context.Context, *session, error) {
	s := &session{opened: make(chan openedStream, maxWaiting), raw: raw}
	s.Connection = connect(func(stream httpstream.Stream, replied <-chan struct{}) error {
		select {
		case s.opened <- openedStream{stream, replied}:
		default:
			_ = stream.Reset() // Not returned as an error, because the library would log it.
			if s.refused.Add(1) > maxRefused {
				_ = s.raw.conn.Close()
			}
		}
		return nil
	})
	if s.Connection == nil {
		return nil, nil, errors.New("server: the connection cannot be upgraded")
	}
	s.SetIdleTimeout(idleTimeout)
	ctx, cancel := context.WithCancel(parent)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-s.CloseChan():
		case <-ctx.Done():
			_ = s.raw.conn.Close()
		}
		cancel()
	})
	s.close = func() {
		_ = s.raw.conn.Close()
		_ = s.Close() // This closes the streams; its frame is not sent, because the connection is closed.
		cancel()
		watching.Wait()
	}
	return ctx, s, nil
}

// nextStream waits until the client opens the next stream, and returns it. It returns false when ctx ends.
func (s *session) nextStream(ctx context.Context) (httpstream.Stream, bool) {
	select {
	case o := <-s.opened:
		select {
		case <-o.replied:
			return o, true
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	return nil, false
}

// waitForStreams waits until the client has opened one stream of each kind, and returns the streams by kind. ok
// is false if the client does not open them within openTimeout, or opens a stream of another kind.
func (s *session) waitForStreams(ctx context.Context, kinds []string) (byKind map[string]stream, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	all := map[string]stream{}
	for len(all) < len(kinds) {
		opened, ok := s.nextStream(ctx)
		if !ok {
			return nil, false
		}
		all[opened.Headers().Get(v1.StreamType)] = opened
	}
	for _, kind := range kinds {
		if all[kind] == nil {
			return nil, false
		}
	}
	return all, true
}

// closeAfterClientOrTimeout waits until the client has closed the connection, at most closeTimeout, and then
// closes the session. If the server closed first while the client still sends, the operating system would
// delete output that the client has not read.
func (s *session) closeAfterClientOrTimeout(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	<-ctx.Done()
	s.close()
}

// hijackRecorder stores the connection that is hijacked from the HTTP server.
type hijackRecorder struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack implements http.Hijacker. It stores the connection, so that the session can close it, and splits long
// SPDY frames of the client.
func (h *hijackRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = &idempotentConn{Conn: conn}
	return h.conn, bufio.NewReadWriter(bufio.NewReader(&spdyFrameReader{from: rw.Reader}), rw.Writer), nil
}

// idempotentConn is a connection whose second Close returns no error. After an error the library would
// wait a second.
type idempotentConn struct{ net.Conn }

// Close implements net.Conn. It always returns nil, so that a second Close is no error.
func (c *idempotentConn) Close() error {
	_ = c.Conn.Close()
	return nil
}
