package streaming

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/podkeel/podkeel/runtime"
)

const (
	// handshakeTimeout limits how long the server may take to respond.
	handshakeTimeout = 30 * time.Second
	// drainTimeout limits the wait for streams that were opened before the connection closed.
	drainTimeout = time.Second
	// maxResponseBytes limits the HTTP response, and the content of the error stream.
	maxResponseBytes = 64 << 10
)

// Dial opens connections.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// connection is a SPDY connection to a streaming server.
type connection struct {
	httpstream.Connection
	raw net.Conn
}

// closeNow closes the network connection at once, without waiting for its streams and without notice to the
// server.
func (c *connection) closeNow() {
	_ = c.raw.Close()
	_ = c.Close() // The peer does not get the goodbye frame.
}

// dialAndUpgrade connects to the URL of the runtime's streaming server and upgrades the connection to SPDY. It
// returns ErrUnsupported if the URL is not http on a loopback address with a port. If ctx ends after the
// return, the connection stays open.
func dialAndUpgrade(ctx context.Context, dial Dial, address, protocol string) (*connection, error) {
	where, err := url.Parse(address)
	if err != nil || where.Scheme != "http" || !isLoopback(where.Hostname()) || where.Port() == "" {
		// The URL contains a token, so the error does not contain the URL.
		return nil, fmt.Errorf("streaming: the URL of the runtime's streaming server is not http on a loopback address: %w", runtime.ErrUnsupported)
	}
	dialing, cancel := context.WithTimeout(ctx, handshakeTimeout)
	raw, err := dial(dialing, "tcp", where.Host)
	cancel()
	if err != nil {
		return nil, fmt.Errorf("streaming: %w: %w", runtime.ErrNotReady, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	upgraded, err := upgradeToSPDY(raw, where, protocol)
	if err == nil {
		var c httpstream.Connection
		if c, err = spdy.NewClientConnection(upgraded); err == nil {
			return &connection{c, raw}, nil
		}
	}
	_ = raw.Close()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return nil, fmt.Errorf("streaming: %w", err)
}

// isLoopback reports whether host is "localhost" or a loopback IP address.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// upgradeToSPDY upgrades an HTTP connection to SPDY with the given stream protocol. It returns an error if the
// server does not accept both within handshakeTimeout. The returned connection first delivers the bytes that
// were already read from raw.
func upgradeToSPDY(raw net.Conn, address *url.URL, protocol string) (net.Conn, error) {
	if err := raw.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return nil, err
	}
	request := &http.Request{Method: http.MethodPost, URL: address, Host: address.Host, Header: http.Header{
		httpstream.HeaderConnection:      {httpstream.HeaderUpgrade},
		httpstream.HeaderUpgrade:         {spdy.HeaderSpdy31},
		httpstream.HeaderProtocolVersion: {protocol},
	}}
	if err := request.Write(raw); err != nil {
		return nil, err
	}
	in := bufio.NewReader(io.LimitReader(raw, maxResponseBytes))
	answer, err := http.ReadResponse(in, request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // The part read so far is good enough.
		return nil, fmt.Errorf("the server responds %s: %q", answer.Status, strings.TrimSpace(string(why)))
	}
	if !strings.EqualFold(answer.Header.Get(httpstream.HeaderUpgrade), spdy.HeaderSpdy31) || answer.Header.Get(httpstream.HeaderProtocolVersion) != protocol {
		return nil, fmt.Errorf("the server speaks %.40q over %.40q: %w", answer.Header.Get(httpstream.HeaderProtocolVersion), answer.Header.Get(httpstream.HeaderUpgrade), runtime.ErrUnsupported)
	}
	early, err := in.Peek(in.Buffered())
	if err != nil {
		return nil, err
	}
	return &bufferedConn{raw, io.MultiReader(strings.NewReader(string(early)), raw)}, raw.SetDeadline(time.Time{})
}

// bufferedConn is a connection whose first bytes were already read.
type bufferedConn struct {
	net.Conn
	in io.Reader
}

// Read implements io.Reader.
func (b *bufferedConn) Read(p []byte) (int, error) { return b.in.Read(p) }

// Close implements io.Closer. A second Close is no error. With an error, the SPDY library would
// keep a goroutine that waits for a reader of that error.
func (b *bufferedConn) Close() error {
	_ = b.Conn.Close()
	return nil
}

// openStreams opens one stream for each header. It returns an error if the connection breaks or ctx ends before
// all streams are open.
func (c *connection) openStreams(ctx context.Context, headers []http.Header) ([]httpstream.Stream, error) {
	type opened struct {
		streams []httpstream.Stream
		err     error
	}
	done := make(chan opened, 1)
	go func() {
		var o opened
		for _, h := range headers {
			s, err := c.CreateStream(h)
			if err != nil {
				o.err = err
				break
			}
			o.streams = append(o.streams, s)
		}
		done <- o
	}()
	closed := c.CloseChan()
	var late <-chan time.Time
	for {
		select {
		case o := <-done:
			if o.err != nil {
				return nil, fmt.Errorf("streaming: %w: %w", runtime.ErrNotReady, o.err)
			}
			return o.streams, nil
		case <-closed:
			// A process may exit before this goroutine sees its streams open. The library
			// still handles the frames that it has received.
			closed, late = nil, time.After(drainTimeout)
		case <-late:
			return nil, fmt.Errorf("streaming: %w: the connection broke", runtime.ErrNotReady)
		case <-ctx.Done():
			return nil, fmt.Errorf("streaming: %w", ctx.Err())
		}
	}
}

// readAllLimited reads a stream until its end, or up to maxResponseBytes.
func readAllLimited(s io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(s, maxResponseBytes))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text, err
}
