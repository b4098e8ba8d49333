package debug_test

import (
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/debug"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// gatekeeper is a handler that accepts who asks for /in, never decides about who asks for /slow,
// and follows /stream until its client has gone.
func gatekeeper(w http.ResponseWriter, r *http.Request) {
	peer := respond.PeerOf(r.Context())
	peer.Unknown()
	switch r.URL.Path {
	case "/slow":
		<-r.Context().Done()
	case "/stream":
		peer.Accepted()
		respond.NewStream(w).Begin()
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case "/in":
		peer.Accepted()
		respond.WriteText(w, http.StatusOK, "in")
	default:
		respond.WriteText(w, http.StatusUnauthorized, "no")
	}
}

// send asks over a connection for a path, and reads the answer.
func send(t *testing.T, c net.Conn, path string) {
	_, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, c) }()
	synctest.Wait()
}

// open reports whether a connection is open, over which nothing comes.
func open(c net.Conn) bool {
	_, err := io.WriteString(c, "G")
	return err == nil
}

// TestServer_ConnectionLimit: when there are as many connections as may be open, one is closed
// for the next one. Clients that were not accepted go first, whatever they do (nothing, ask for
// the health again and again, wait for a decision), and those last that are being answered.
func TestServer_ConnectionLimit(t *testing.T) {
	for name, path := range map[string]string{"silent": "", "refused": "/x", "undecided": "/slow"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := served(t, debug.ServerConfig{Handler: http.HandlerFunc(gatekeeper), MaxConnections: 4})
				stream, known := l.dial(), l.dial()
				send(t, stream, "/stream")
				send(t, known, "/in")
				for range 20 {
					began := time.Now()
					c := l.dial()
					if path != "" {
						send(t, c, path)
					}
					synctest.Wait()
					require.Zero(t, time.Since(began), "nobody waits")
				}
				assert.True(t, open(stream))
				assert.True(t, open(known))
			})
		})
	}
}

// TestServer_ConnectionLimit_Idle: who was accepted and asks for nothing goes before those that
// are being answered. If there are only these, a further one waits until one of them has ended.
func TestServer_ConnectionLimit_Idle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := served(t, debug.ServerConfig{Handler: http.HandlerFunc(gatekeeper), MaxConnections: 3})
		known := l.dial()
		send(t, known, "/in")
		var streams []net.Conn
		for range 3 {
			c := l.dial()
			send(t, c, "/stream")
			streams = append(streams, c)
		}
		assert.False(t, open(known))
		waits := l.dial() // It is accepted, and not read from.
		answered := make(chan string)
		go func() {
			_, answer := lasts(t, waits, "GET /in HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			answered <- answer
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Empty(t, answered)
		require.NoError(t, streams[0].Close())
		assert.Equal(t, "HTTP/1.1 200 OK", <-answered)
		assert.True(t, open(streams[1]))
		_ = l.dial() // Another waits at the end of the server.
	})
}

// TestServer_ConnectionLimit_NoCredentials: if the handler does not authenticate clients, a connection
// with a running request is not closed for another client.
func TestServer_ConnectionLimit_NoCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := served(t, debug.ServerConfig{MaxConnections: 2, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/stream" {
				<-r.Context().Done()
			}
		})})
		stream := l.dial()
		send(t, stream, "/stream")
		for range 10 {
			send(t, l.dial(), "/other")
		}
		assert.True(t, open(stream))
	})
}
