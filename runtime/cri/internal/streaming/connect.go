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
	// handshakeTimeout is how long a server may take to answer.
	handshakeTimeout = 30 * time.Second
	// lateness is how long what was received before the end may take.
	lateness = time.Second
	// longestAnswer bounds what a server says before there are streams, and what it
	// says of an end.
	longestAnswer = 64 << 10
)

// Dial makes connections.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// connection is one with a streaming server.
type connection struct {
	httpstream.Connection
	raw net.Conn
}

// end closes it, whatever its streams are at.
func (c *connection) end() {
	_ = c.raw.Close()
	_ = c.Close() // It has nobody to say farewell to.
}

// connect connects with the address that a runtime has returned. The connection
// does not end with the context yet.
func connect(ctx context.Context, dial Dial, address, protocol string) (*connection, error) {
	where, err := url.Parse(address)
	if err != nil || where.Scheme != "http" || !local(where.Hostname()) || where.Port() == "" {
		// The address is as good as a password, so it is not said.
		return nil, fmt.Errorf("streaming: the runtime's streaming server is not on http and a loopback address: %w", runtime.ErrUnsupported)
	}
	dialing, cancel := context.WithTimeout(ctx, handshakeTimeout)
	raw, err := dial(dialing, "tcp", where.Host)
	cancel()
	if err != nil {
		return nil, fmt.Errorf("streaming: %w: %w", runtime.ErrNotReady, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	upgraded, err := upgrade(raw, where, protocol)
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

// local: a host is on this machine.
func local(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// upgrade turns a connection into one of SPDY frames.
func upgrade(raw net.Conn, where *url.URL, protocol string) (net.Conn, error) {
	if err := raw.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return nil, err
	}
	request := &http.Request{Method: http.MethodPost, URL: where, Host: where.Host, Header: http.Header{
		httpstream.HeaderConnection:      {httpstream.HeaderUpgrade},
		httpstream.HeaderUpgrade:         {spdy.HeaderSpdy31},
		httpstream.HeaderProtocolVersion: {protocol},
	}}
	if err := request.Write(raw); err != nil {
		return nil, err
	}
	in := bufio.NewReader(io.LimitReader(raw, longestAnswer))
	answer, err := http.ReadResponse(in, request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // What has come is all there is to say.
		return nil, fmt.Errorf("the server answers %s: %q", answer.Status, strings.TrimSpace(string(why)))
	}
	if !strings.EqualFold(answer.Header.Get(httpstream.HeaderUpgrade), spdy.HeaderSpdy31) || answer.Header.Get(httpstream.HeaderProtocolVersion) != protocol {
		return nil, fmt.Errorf("the server speaks %.40q over %.40q: %w", answer.Header.Get(httpstream.HeaderProtocolVersion), answer.Header.Get(httpstream.HeaderUpgrade), runtime.ErrUnsupported)
	}
	early, err := in.Peek(in.Buffered())
	if err != nil {
		return nil, err
	}
	return &begun{raw, io.MultiReader(strings.NewReader(string(early)), raw)}, raw.SetDeadline(time.Time{})
}

// begun is a connection of which something was read already.
type begun struct {
	net.Conn
	in io.Reader
}

// Read implements io.Reader.
func (b *begun) Read(p []byte) (int, error) { return b.in.Read(p) }

// Close implements io.Closer. That it was closed before is no error, on which SPDY
// would linger for somebody to hear of it.
func (b *begun) Close() error {
	_ = b.Conn.Close()
	return nil
}

// streams opens streams of these headers. A server that does not answer holds up
// nobody beyond the end of the connection or of the context; whoever waits for the
// stream in the library itself gives up after half a minute.
func (c *connection) streams(ctx context.Context, headers []http.Header) ([]httpstream.Stream, error) {
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
			// A process that ends at once may have ended before its streams are seen
			// to be open: what was received is still being worked through.
			closed, late = nil, time.After(lateness)
		case <-late:
			return nil, fmt.Errorf("streaming: %w: the connection broke", runtime.ErrNotReady)
		case <-ctx.Done():
			return nil, fmt.Errorf("streaming: %w", ctx.Err())
		}
	}
}

// said is what a stream says, to its end.
func said(s io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(s, longestAnswer))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text, err
}
