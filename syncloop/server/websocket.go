package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

const (
	// Protocols with a status in JSON: binary, and in base64 for clients that can only send text.
	v4Channels       = "v4." + wsstream.ChannelWebSocketProtocol
	v4Base64Channels = "v4." + wsstream.Base64ChannelWebSocketProtocol
	// maxQueuedParts is the maximum number of parts of input that a channel buffers for a process that does not
	// read. A part has at most maxDataFrame bytes. The SPDY library buffers as many frames for a stream.
	maxQueuedParts = 50
)

// processChannels are the streams of a process by the number of their channel.
var processChannels = []string{
	remotecommand.StreamStdIn: v1.StreamTypeStdin, remotecommand.StreamStdOut: v1.StreamTypeStdout, remotecommand.StreamStdErr: v1.StreamTypeStderr,
	remotecommand.StreamErr: v1.StreamTypeError, remotecommand.StreamResize: v1.StreamTypeResize,
}

// serveProcessOverWebSocket upgrades the request to a WebSocket and runs a process with streams of these kinds. Like
// the kubelet it uses v5.channel.k8s.io if the client offers it, and otherwise an older protocol. It responds
// with 403 if the client offers no supported protocol. The first message is empty, on the first output channel.
func serveProcessOverWebSocket(w http.ResponseWriter, r *http.Request, kinds []string, tty bool, run process) {
	channels := make([]wsstream.ChannelType, len(processChannels))
	for i, kind := range processChannels {
		switch {
		case !slices.Contains(kinds, kind):
			channels[i] = wsstream.IgnoreChannel
		case kind == v1.StreamTypeStdin || kind == v1.StreamTypeResize:
			channels[i] = wsstream.ReadChannel
		default:
			channels[i] = wsstream.WriteChannel
		}
	}
	protocols := wsstream.NewDefaultChannelProtocols(channels)
	protocols[v4Channels] = wsstream.ChannelProtocolConfig{Binary: true, Channels: channels}
	protocols[v4Base64Channels] = wsstream.ChannelProtocolConfig{Channels: channels}
	if wsstream.IsWebSocketRequestWithStreamCloseProtocol(r) {
		protocols = map[string]wsstream.ChannelProtocolConfig{remotecommand.StreamProtocolV5Name: {Binary: true, Channels: channels}}
	}
	ctx, ws, err := upgradeToWebSocket(w, r, protocols)
	if err != nil {
		return
	}
	defer ws.close()
	streams := map[string]stream{}
	for i, kind := range processChannels {
		if slices.Contains(kinds, kind) {
			streams[kind] = ws.channels[i]
		}
	}
	for _, kind := range []string{v1.StreamTypeStdout, v1.StreamTypeStderr, v1.StreamTypeError} {
		if out := streams[kind]; out != nil {
			_, _ = out.Write(nil)
			break
		}
	}
	encode := encodeStatusAsText
	if slices.Contains([]string{v4Channels, v4Base64Channels, remotecommand.StreamProtocolV5Name}, ws.protocol) {
		encode = encodeStatusAsJSON
	}
	runAndSendExitStatus(ctx, streams, tty, run, encode)
}

// forwardPortsOverWebSocket upgrades the request to a WebSocket and forwards one connection to each of the ports. A
// port has two channels, for data and for its error, and the first message on each is the port. It returns when
// all connections have ended, or with the client. It responds with 403 if the client offers no supported
// protocol.
func (s *server) forwardPortsOverWebSocket(w http.ResponseWriter, r *http.Request, sandbox string, ports []uint16) {
	var channels []wsstream.ChannelType
	for range ports {
		channels = append(channels, wsstream.ReadWriteChannel, wsstream.WriteChannel)
	}
	ctx, ws, err := upgradeToWebSocket(w, r, map[string]wsstream.ChannelProtocolConfig{
		"": {Binary: true, Channels: channels}, v4Channels: {Binary: true, Channels: channels}, v4Base64Channels: {Channels: channels},
	})
	if err != nil {
		return
	}
	defer ws.close()
	var connections sync.WaitGroup
	defer connections.Wait()
	for i, port := range ports {
		data, fault := ws.channels[2*i], ws.channels[2*i+1]
		for _, channel := range []stream{data, fault} {
			_, _ = channel.Write([]byte{byte(port), byte(port >> 8)}) // The least significant byte is the first one.
		}
		connections.Go(func() {
			if err := s.forwardConnection(ctx, sandbox, port, &forwardedConn{data}); err != nil {
				_, _ = fmt.Fprint(fault, plain.Text(err.Error()))
			}
			_ = data.Reset() // After a panic the connection is open.
		})
	}
}

// webSocket is the WebSocket of a client, with the channels of its protocol.
type webSocket struct {
	protocol string
	channels []*channel
	conn     *webSocketConn
	parent   context.Context    // of the request
	cancel   context.CancelFunc // of the context of the WebSocket
	unwatch  func() bool        // stops closing the connection with the context
	filling  sync.WaitGroup     // of the input of the channels
}

// upgradeToWebSocket upgrades the connection of a request to a WebSocket with one of these protocols; after an error
// the client has received a response. The returned context ends with the request's context and with the
// connection.
func upgradeToWebSocket(w http.ResponseWriter, r *http.Request, protocols map[string]wsstream.ChannelProtocolConfig) (context.Context, *webSocket, error) {
	raw, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		respond.WriteText(w, http.StatusInternalServerError, "the connection cannot be upgraded\n")
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	s := &webSocket{parent: r.Context(), cancel: cancel, conn: &webSocketConn{Conn: raw, ended: cancel, served: make(chan struct{}), idle: time.AfterFunc(idleTimeout, cancel)}}
	protocols = selectProtocol(r, protocols)
	conn := wsstream.NewConn(protocols)
	conn.SetIdleTimeout(idleTimeout)
	// The reader of the HTTP server would end the context of the request after the last read.
	begin, _ := buffered.Peek(buffered.Reader.Buffered())
	frames := &webSocketFrameReader{from: bufio.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(begin)), raw))}
	for _, selected := range protocols {
		frames.isBase64 = !selected.Binary
	}
	hijacked := &hijackedConn{ResponseWriter: w, conn: s.conn, buffered: bufio.NewReadWriter(bufio.NewReader(frames), buffered.Writer)}
	// The library would log what clients send.
	protocol, opened, err := conn.Open(hijacked, r.WithContext(logr.NewContext(ctx, logr.Discard())))
	if err != nil {
		_ = raw.Close()
		cancel()
		s.conn.idle.Stop()
		return nil, nil, err
	}
	s.protocol, s.unwatch = protocol, context.AfterFunc(ctx, func() { _ = raw.Close() })
	for i, of := range opened {
		c := &channel{ReadWriteCloser: of}
		s.channels = append(s.channels, c)
		if kind := protocols[protocol].Channels[i]; kind == wsstream.ReadChannel || kind == wsstream.ReadWriteChannel {
			c.input = make(chan []byte, maxQueuedParts)
			s.filling.Go(func() { c.fillInput(ctx) })
		}
	}
	return ctx, s, nil
}

// selectProtocol returns only the first protocol that the client offers and protocols has. A client without an offer
// gets the protocol without a name. It returns no protocol if protocols has none of the offer; the library then
// responds with 403.
func selectProtocol(r *http.Request, protocols map[string]wsstream.ChannelProtocolConfig) map[string]wsstream.ChannelProtocolConfig {
	for offered := range strings.SplitSeq(r.Header.Get(wsstream.WebSocketProtocolHeader), ",") {
		offered = strings.TrimSpace(offered)
		if config, ok := protocols[offered]; ok {
			return map[string]wsstream.ChannelProtocolConfig{offered: config}
		}
	}
	return nil
}

// close sends the rest of the output and the end of the WebSocket, and closes the connection when the client has
// closed it, after at most closeTimeout. If the context of the WebSocket has ended, it closes the connection
// at once. It waits for all goroutines of the WebSocket.
func (s *webSocket) close() {
	isOpen := s.unwatch()
	if !isOpen {
		_ = s.conn.Conn.Close()
	}
	s.cancel()
	for _, c := range s.channels {
		_ = c.Close() // The library may wait until a channel takes its input.
	}
	s.conn.endInput()
	<-s.conn.served
	s.filling.Wait()
	if isOpen {
		s.conn.waitForClient(s.parent)
	}
	_ = s.conn.Conn.Close()
}

// channel is a channel of a WebSocket.
type channel struct {
	io.ReadWriteCloser             // of the library
	input              chan []byte // parts that the client has sent; nil: the client sends none
	rest               []byte      // unread rest of a part
}

// fillInput reads the input of the channel into c.input until the channel is closed or ctx ends. It then closes
// c.input. It makes the library read the connection although the process does not read, so that the server
// notices the end of the client.
func (c *channel) fillInput(ctx context.Context) {
	defer close(c.input)
	part := make([]byte, maxDataFrame)
	for {
		n, err := c.ReadWriteCloser.Read(part)
		if err != nil {
			return
		}
		select {
		case c.input <- slices.Clone(part[:n]):
		case <-ctx.Done():
			return
		}
	}
}

// Read returns input of the client. It returns io.EOF after the input if the client has closed the channel, if
// the channel is reset, or if the client is gone.
func (c *channel) Read(p []byte) (n int, err error) {
	for len(c.rest) == 0 {
		part, ok := <-c.input
		if !ok {
			return 0, io.EOF
		}
		c.rest = part
	}
	n = copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Reset ends the input of the channel. Further input of the client is discarded.
func (c *channel) Reset() error { return c.Close() }

// hijackedConn gives a connection that is hijacked from the HTTP server to the library.
type hijackedConn struct {
	http.ResponseWriter
	conn     net.Conn
	buffered *bufio.ReadWriter
}

// Hijack implements http.Hijacker.
func (h *hijackedConn) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.conn, h.buffered, nil }

// webSocketConn is the connection below a WebSocket. The library serves the WebSocket in a goroutine, which closes
// the connection twice at its end: after the WebSocket's close message, and when it exits. Neither call closes
// the connection, so that the client receives everything that was sent.
type webSocketConn struct {
	net.Conn
	ended  func()        // called when the WebSocket ends
	served chan struct{} // closed when the goroutine of the library exits
	idle   *time.Timer   // ends the context of the WebSocket at the deadline

	mu     sync.Mutex
	closes int  // calls of Close
	ending bool // endInput was called
}

// Close implements net.Conn. It closes nothing; the first call ends the context of the WebSocket, and the second
// one says that the library no longer uses the connection.
func (c *webSocketConn) Close() error {
	c.mu.Lock()
	c.closes++
	closes := c.closes
	c.mu.Unlock()
	switch closes {
	case 1:
		c.ended()
	case 2:
		close(c.served)
	}
	return nil
}

// SetDeadline implements net.Conn. The library calls it for each message. The context of the WebSocket ends at the
// deadline, also if the library then waits for a process and does not use the connection. After endInput it does
// nothing.
func (c *webSocketConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending {
		return nil
	}
	c.idle.Reset(time.Until(t))
	return c.Conn.SetDeadline(t)
}

// endInput makes the library stop reading and send its close message, within closeTimeout.
func (c *webSocketConn) endInput() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	c.idle.Stop()
	_ = c.Conn.SetWriteDeadline(time.Now().Add(closeTimeout))
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0))
}

// waitForClient tells the client that no more output follows. It then waits until the client closes the connection,
// until ctx ends, or for closeTimeout.
func (c *webSocketConn) waitForClient(ctx context.Context) {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = c.Conn.SetReadDeadline(time.Now().Add(closeTimeout))
	defer context.AfterFunc(ctx, func() { _ = c.Conn.Close() })()
	_, _ = io.Copy(io.Discard, c.Conn)
}
