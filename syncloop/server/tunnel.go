package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/websocket"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// forwardThroughTunnel upgrades the request to a WebSocket whose messages contain a SPDY session, and forwards the
// connections of that session. It responds with 403 if the client offers no tunnel for port forwarding.
func (s *server) forwardThroughTunnel(w http.ResponseWriter, r *http.Request, sandbox string) {
	offer := r.Clone(r.Context())
	offer.Header.Del(httpstream.HeaderProtocolVersion)
	for protocol := range strings.SplitSeq(r.Header.Get(wsstream.WebSocketProtocolHeader), ",") {
		if inner, ok := strings.CutPrefix(strings.TrimSpace(protocol), portforward.WebsocketsSPDYTunnelingPrefix); ok {
			offer.Header.Add(httpstream.HeaderProtocolVersion, inner)
		}
	}
	if _, err := httpstream.Handshake(offer, w, []string{portforward.PortForwardV1Name}); err != nil {
		return
	}
	raw, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		respond.WriteText(w, http.StatusInternalServerError, "the connection cannot be upgraded\n")
		return
	}
	conn := &idempotentConn{Conn: raw}
	websocket.Server{
		Handshake: func(chosen *websocket.Config, _ *http.Request) error {
			chosen.Protocol = []string{portforward.WebsocketsSPDYTunnelingPortForwardV1}
			return nil
		},
		Handler: func(ws *websocket.Conn) {
			ws.PayloadType = websocket.BinaryFrame
			below := &hijackRecorder{conn: &tunnelConn{Conn: conn, ws: ws, frames: bufio.NewReader(&spdyFrameReader{from: bufio.NewReader(ws)})}}
			ctx, session, err := startSession(r.Context(), below, 2*maxConnections, func(accept httpstream.NewStreamHandler) httpstream.Connection {
				tunneled, err := spdy.NewServerConnection(below.conn, accept)
				if err != nil {
					return nil
				}
				return tunneled
			})
			if err == nil {
				s.forwardSession(ctx, session, sandbox)
			}
		},
	}.ServeHTTP(&hijackedConn{ResponseWriter: w, conn: conn, buffered: buffered}, r)
}

// tunnelConn is the connection of a SPDY session in the messages of a WebSocket.
type tunnelConn struct {
	net.Conn // below the WebSocket
	ws       *websocket.Conn
	frames   *bufio.Reader // SPDY frames of the client
}

// Read implements net.Conn.
func (t *tunnelConn) Read(p []byte) (int, error) { return t.frames.Read(p) }

// Write implements net.Conn.
func (t *tunnelConn) Write(p []byte) (int, error) { return t.ws.Write(p) }

// parsePortsQuery returns the ports of a WebSocket with channels: the query parameters, each with one port or with
// several ports between commas. It returns an error if there is no port, an invalid port, or more than
// maxConnections ports.
func parsePortsQuery(parameters []string) (ports []uint16, err error) {
	if len(parameters) == 0 {
		return nil, fmt.Errorf("query parameter %q is required", v1.PortHeader)
	}
	for _, parameter := range parameters {
		if parameter == "" {
			return nil, fmt.Errorf("query parameter %q cannot be empty", v1.PortHeader)
		}
		for text := range strings.SplitSeq(parameter, ",") {
			port, err := strconv.ParseUint(text, 10, 16)
			switch {
			case err != nil || port == 0:
				return nil, fmt.Errorf("query parameter %q has %.20q, which is no port from 1 to 65535", v1.PortHeader, text)
			case len(ports) == maxConnections:
				return nil, fmt.Errorf("query parameter %q has more than %d ports", v1.PortHeader, maxConnections)
			}
			ports = append(ports, uint16(port))
		}
	}
	return ports, nil
}
