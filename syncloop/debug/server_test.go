package debug_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/debug"
)

// pipes is an in-memory listener, so that it works in a synctest bubble.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.ended:
	default:
		close(p.ended)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial waits until there is room.
func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// served runs a server until the test ends.
func served(t *testing.T, config debug.ServerConfig) *pipes {
	s, err := debug.NewServer(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	l, ended := newPipes(), make(chan error)
	go func() { ended <- s.Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	return l
}

// lasts says how long a connection is kept by a client that sends a text and
// then nothing, and what it is answered.
func lasts(t *testing.T, c net.Conn, text string) (time.Duration, string) {
	began := time.Now()
	answered := make(chan string)
	go func() {
		answer, _ := io.ReadAll(c)
		answered <- string(answer)
	}()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
	answer := <-answered
	status, _, _ := strings.Cut(answer, "\r\n")
	return time.Since(began), status
}

// TestServer_SilentClients: whatever a client leaves unsaid, its connection is
// closed within a bound.
func TestServer_SilentClients(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		limit time.Duration
		want  string
	}{
		"nothing":                  {"", 5 * time.Second, ""},
		"half a header":            {"GET /pods HTTP/1.1\r\nHost: localh", 5 * time.Second, ""},
		"a body that never comes":  {"GET /pods HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", time.Second, "HTTP/1.1 413 Request Entity Too Large"},
		"half a body":              {"POST /exec/default/web HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc", time.Second, "HTTP/1.1 413 Request Entity Too Large"},
		"chunks that never come":   {"GET /pods HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", time.Second, "HTTP/1.1 413 Request Entity Too Large"},
		"body, and another Host":   {"GET /pods HTTP/1.1\r\nHost: evil\r\nContent-Length: 1000\r\n\r\n", 10 * time.Second, "HTTP/1.1 403 Forbidden"},
		"a body that is expected":  {"GET /pods HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n", time.Second, "HTTP/1.1 413 Request Entity Too Large"},
		"a body without any route": {"GET /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", time.Second, "HTTP/1.1 413 Request Entity Too Large"},
		"no next request":          {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 30 * time.Second, "HTTP/1.1 200 OK"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := debug.New(everything())
				require.NoError(t, err)
				took, answer := lasts(t, served(t, debug.ServerConfig{Handler: h}).dial(), c.text)
				assert.Equal(t, c.want, answer)
				assert.LessOrEqual(t, took, c.limit+time.Second) // The server lingers for half a second.
			})
		})
	}
}

// TestServer_ClientThatReadsNothing of a long answer is let go within a minute.
func TestServer_ClientThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := everything()
		config.Pods = func() []*v1.Pod { return make1000Pods() }
		h, err := debug.New(config)
		require.NoError(t, err)
		c := served(t, debug.ServerConfig{Handler: h}).dial()
		began := time.Now()
		_, err = io.WriteString(c, "GET /pods HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		time.Sleep(59 * time.Second)
		_, err = c.Read(make([]byte, 1))
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		_, err = io.Copy(io.Discard, c)
		require.NoError(t, err)
		assert.Less(t, time.Since(began), 65*time.Second)
	})
}

func make1000Pods() (pods []*v1.Pod) {
	for range 1000 {
		pods = append(pods, &v1.Pod{})
	}
	return pods
}

// TestServer_StreamsLiveLong: a log that says nothing for hours, and a command that
// runs for hours, are not cut by any of the bounds, and end with their client.
func TestServer_StreamsLiveLong(t *testing.T) {
	for _, request := range []string{"GET /logs/default/web?follow", "POST /exec/default/web?command=watch"} {
		synctest.Test(t, func(t *testing.T) {
			gone := make(chan error, 1)
			slow := func(ctx context.Context, w io.Writer) error {
				for _, line := range []string{"one\n", "two\n"} {
					select {
					case <-time.After(3 * time.Hour):
					case <-ctx.Done():
						return ctx.Err()
					}
					if _, err := io.WriteString(w, line); err != nil {
						return err
					}
				}
				<-ctx.Done()
				gone <- ctx.Err()
				return ctx.Err()
			}
			p := &people{
				read: func(ctx context.Context, _ runtime.ReadLogRequest, w io.Writer) error { return slow(ctx, w) },
				exec: func(ctx context.Context, _ runtime.ExecStreamRequest, s runtime.Streams) (int32, error) {
					return 0, slow(ctx, s.Stdout)
				},
			}
			l := served(t, debug.ServerConfig{Handler: handlerFor(t, p)})
			c := l.dial()
			_, err := io.WriteString(c, request+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
			require.NoError(t, err)
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			text := make([]byte, 8)
			_, err = io.ReadFull(answer.Body, text)
			require.NoError(t, err)
			assert.Equal(t, "one\ntwo\n", string(text))
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			assert.Empty(t, gone)
			require.NoError(t, c.Close())
			require.ErrorIs(t, <-gone, context.Canceled)
		})
	}
}

// handlerFor has a peer in memory come from this machine.
func handlerFor(t *testing.T, p *people) http.Handler {
	h := handler(t, p, true)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = "127.0.0.1:1"
		h.ServeHTTP(w, r)
	})
}

// TestServer_ListenerFails: Run returns the error, and all goroutines have returned.
func TestServer_ListenerFails(t *testing.T) {
	h, err := debug.New(everything())
	require.NoError(t, err)
	s, err := debug.NewServer(debug.ServerConfig{Handler: h})
	require.NoError(t, err)
	l := newPipes()
	require.NoError(t, l.Close())
	err = s.Run(t.Context(), l)
	assert.ErrorIs(t, err, net.ErrClosed)
	assert.False(t, errors.Is(err, http.ErrServerClosed))

	again := newPipes()
	err = s.Run(t.Context(), again)
	assert.ErrorIs(t, err, runtime.ErrSecondRun)
	assert.EqualError(t, err, "debug: Run was called a second time")
	_, err = again.Accept()
	assert.ErrorIs(t, err, net.ErrClosed, "its listener is closed in any case")
}

func TestNewServer_Faults(t *testing.T) {
	_, err := debug.NewServer(debug.ServerConfig{})
	assert.EqualError(t, err, "debug: ServerConfig.Handler is needed")
	_, err = debug.NewServer(debug.ServerConfig{Handler: http.NotFoundHandler(), MaxConnections: -1})
	assert.EqualError(t, err, "debug: ServerConfig.MaxConnections is negative")
}

// TestServer_WaitsForWhoTookAConnection: at its end nothing that it has begun goes on, not
// even a handler that has taken over its connection and only reads from it.
func TestServer_WaitsForWhoTookAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := false
		s, err := debug.NewServer(debug.ServerConfig{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			assert.NoError(t, err)
			_, err = io.Copy(io.Discard, conn)
			assert.Error(t, err, "the connection was closed here")
			time.Sleep(time.Second) // What it has to tidy up.
			over = true
		})})
		require.NoError(t, err)
		l := newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx, l) }()
		c := l.dial()
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		cancel()
		require.NoError(t, <-ended)
		require.True(t, over)
	})
}
