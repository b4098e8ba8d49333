package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// maxConnections limits the connections of one client, complete or not.
const maxConnections = 128

// servePortForward upgrades the request to SPDY or WebSocket and forwards connections of the client to ports of the
// pod's sandbox, until the client disconnects. It responds with an error if the node has no PortForward, if there
// are too many requests, if the pod or its sandbox does not exist, or if the request asks for no upgrade. It
// responds with 400 to a WebSocket without a tunnel if the query has no valid ports.
func (s *server) servePortForward(w http.ResponseWriter, r *http.Request) {
	if s.PortForward == nil {
		respond.WriteText(w, http.StatusNotImplemented, "this node forwards no ports\n")
		return
	}
	if !s.forwards.Enter(w) {
		return
	}
	defer s.forwards.Leave()
	isTunnel := wsstream.IsWebSocketRequestWithTunnelingProtocol(r)
	hasChannels := wsstream.IsWebSocketRequest(r) && !isTunnel
	var ports []uint16
	if hasChannels {
		var err error
		if ports, err = parsePortsQuery(r.URL.Query()[v1.PortHeader]); err != nil {
			respond.WriteText(w, http.StatusBadRequest, err.Error()+"\n")
			return
		}
	}
	pod, ok := s.findPodOrRespond(w, r)
	if !ok || !requireUpgradeOrRespond(w, r) {
		return
	}
	sandbox, err := s.Finder.PodSandboxID(r.Context(), pod.UID)
	switch {
	case err != nil:
		respond.WriteError(w, err)
	case hasChannels:
		s.forwardPortsOverWebSocket(w, r, sandbox, ports)
	case isTunnel:
		s.forwardThroughTunnel(w, r, sandbox)
	default:
		if ctx, session, err := upgradeToSPDY(w, r, portforward.PortForwardV1Name, 2*maxConnections); err == nil {
			s.forwardSession(ctx, session, sandbox)
		}
	}
}

// forwardSession forwards the connections of a SPDY session until the session ends. It then closes the session and
// waits until all connections have ended.
func (s *server) forwardSession(ctx context.Context, session *session, sandbox string) {
	f := &forwarder{server: s, session: session, sandbox: sandbox, pairs: map[string]*streamPair{}}
	f.forwardConnections(ctx)
	session.close()
	f.connections.Wait()
}

// forwarder forwards the connections of one client.
type forwarder struct {
	server      *server
	session     *session
	sandbox     string
	pairs       map[string]*streamPair // incomplete pairs by request ID
	connections sync.WaitGroup
}

// streamPair has the two streams of a connection.
type streamPair struct {
	fault, data httpstream.Stream
	since       time.Time
}

// forwardConnections forwards each connection that the client opens, until the client disconnects. It rejects a
// connection if maxConnections are open. An error of one connection does not end the others.
func (f *forwarder) forwardConnections(ctx context.Context) {
	slots := make(chan struct{}, maxConnections)
	for {
		stream, ok := f.session.nextStream(ctx)
		if !ok {
			return
		}
		p, port := f.addStreamToPair(stream, time.Now())
		if p == nil {
			continue
		}
		select {
		case slots <- struct{}{}:
		default:
			f.sendErrorAndCloseStreams(p, fmt.Errorf("%d connections are open already", maxConnections))
			continue
		}
		f.connections.Go(func() {
			defer func() { <-slots }()
			f.sendErrorAndCloseStreams(p, f.server.forwardConnection(ctx, f.sandbox, port, &forwardedConn{p.data}))
		})
	}
}

// forwardConnection forwards one connection to a port of the sandbox until one side closes it. It returns a panic
// of the PortForwarder as an error.
func (s *server) forwardConnection(ctx context.Context, sandbox string, port uint16, conn io.ReadWriteCloser) (err error) {
	defer s.panics.Recover("PortForward", &err)
	return s.PortForward.PortForward(ctx, runtime.PortForwardRequest{SandboxID: sandbox, Port: port}, conn)
}

// addStreamToPair adds a stream to the pair of data stream and error stream that form one connection. It
// returns the pair and its port if the pair is now complete, or else nil. It resets a stream without a valid
// port, a second stream of a kind, and a stream beyond maxConnections pairs; it closes pairs that were not
// completed within openTimeout.
func (f *forwarder) addStreamToPair(stream httpstream.Stream, now time.Time) (*streamPair, uint16) {
	for id, p := range f.pairs {
		if now.Sub(p.since) > openTimeout {
			delete(f.pairs, id)
			f.sendErrorAndCloseStreams(p, fmt.Errorf("the client did not open the other stream of the connection"))
		}
	}
	kind, id := stream.Headers().Get(v1.StreamType), requestIDSharedByStreamPair(stream)
	port, err := strconv.ParseUint(stream.Headers().Get(v1.PortHeader), 10, 16)
	p := f.pairs[id]
	if p == nil {
		p = &streamPair{since: now}
	}
	switch {
	case err != nil || port == 0 || len(f.pairs) >= maxConnections && f.pairs[id] == nil:
	case kind == v1.StreamTypeError && p.fault == nil:
		p.fault = stream
	case kind == v1.StreamTypeData && p.data == nil:
		p.data = stream
	}
	switch {
	case p.fault != stream && p.data != stream:
		_ = stream.Reset()
		f.session.RemoveStreams(stream)
		return nil, 0
	case p.fault == nil || p.data == nil:
		f.pairs[id] = p
		return nil, 0
	}
	delete(f.pairs, id)
	return p, uint16(port)
}

// requestIDSharedByStreamPair returns the ID that the data stream and the error stream of one forwarded
// connection share. It is the ID in the header of the stream. An old client sends no such header, and opens the
// error stream before the data stream. For the error stream of such a client the ID is the stream's own number.
// For the data stream it is the number of the error stream, which is lower by 2.
func requestIDSharedByStreamPair(stream httpstream.Stream) string {
	if id := stream.Headers().Get(v1.PortForwardRequestIDHeader); id != "" {
		return id
	}
	id := stream.Identifier()
	if stream.Headers().Get(v1.StreamType) == v1.StreamTypeData {
		id -= 2
	}
	return strconv.FormatUint(uint64(id), 10)
}

// sendErrorAndCloseStreams sends err on the error stream of a connection, if there is an error and the stream
// is open. It then closes both streams.
func (f *forwarder) sendErrorAndCloseStreams(p *streamPair, err error) {
	if err != nil && p.fault != nil {
		_, _ = fmt.Fprint(p.fault, plain.Text(err.Error()))
	}
	for _, stream := range []httpstream.Stream{p.fault, p.data} {
		if stream != nil {
			_ = stream.Close() // Sent data still arrive; the reset concerns only this side.
			_ = stream.Reset()
			f.session.RemoveStreams(stream)
		}
	}
}

// forwardedConn is the data stream of a connection as an io.ReadWriteCloser.
type forwardedConn struct{ stream }

// Close closes both directions. A running Read returns.
func (f *forwardedConn) Close() error {
	_ = f.stream.Close()
	return f.Reset()
}
