package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/podkeel/podkeel/runtime"
)

// TestPanics: a runtime, an Authenticator or an Authorizer that panics ends its own request or
// connection, and answers nothing that it was not asked; others go on.
func TestPanics(t *testing.T) {
	h := serve(t)
	h.forward = func(_ context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
		if req.Port == 1 {
			panic("boom")
		}
		_, err := io.WriteString(conn, "hello")
		return err
	}
	h.process = func(context.Context, runtime.Streams) (int32, error) { panic("boom") }
	h.read = func(context.Context, runtime.ReadLogRequest, io.Writer) error { panic("boom") }
	h.start()
	c, answer := h.dial("/portForward/default/web", "portforward.k8s.io")
	require.NotNil(t, c, answer)
	for port, want := range map[string]string{"1": "PortForward panicked: boom", "2": ""} {
		fault := c.stream("error", "port", port, "requestID", port)
		data := c.stream("data", "port", port, "requestID", port)
		assert.Equal(t, want, all(t, fault))
		if want == "" {
			assert.Equal(t, "hello", all(t, data))
		}
	}
	e := h.exec("/exec/default/web/c?command=x&output=1")
	status, _ := e.stream("error"), e.stream("stdout")
	assert.Equal(t, "FailureExecStream panicked: boom", ended(t, status))
	code, text := h.ask(http.MethodGet, "/containerLogs/default/web/c")
	assert.Equal(t, "500 ReadLog panicked: boom", sprint(code, text))
	h.mu.Lock()
	h.allowed = func(authorizationv1.ResourceAttributes) (bool, error) { panic("boom") }
	h.mu.Unlock()
	code, text = h.ask(http.MethodGet, "/pods")
	assert.Equal(t, "500 the request cannot be authorized: Authorize panicked: boom", sprint(code, text))
}

// TestUnauthenticated: without a user every method of every path is refused but the health,
// however the path is written.
func TestUnauthenticated(t *testing.T) {
	h := serve(t).start()
	h.read = func(_ context.Context, _ runtime.ReadLogRequest, w io.Writer) error { return nil }
	paths := []string{
		"/", "/pods", "//pods", "/pods/", "/PODS", "/pods%2f", "/%70ods", "/./pods", "/x/../pods", "/healthz/../pods", "/healthz/..%2fpods", "/healthz%2f..%2fpods",
		"/healthz/", "/healthz/x", "/HEALTHZ", "/exec/default/web/c?command=x&output=1", "/exec/default/web/%63?command=x&output=1", "/run/default/web/c",
		"/containerLogs/default/web/c", "/containerLogs/default/..%2f..%2fetc/passwd", "/containerLogs/../../etc/passwd", "/logs/", "/debug/pprof/", "/metrics",
		"/portForward/default/web", "/attach/default/web/c", "*", "http://evil.example/pods", "http://127.0.0.1/healthz/../pods", "/pods?token=alice", "/pods;healthz", "/healthz;/pods", "",
	}
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "healthz", "PRI"} {
		for _, path := range paths {
			for _, header := range []string{"", "Upgrade: SPDY/3.1\r\nConnection: Upgrade\r\n", "X-Remote-User: system:admin\r\nX-Forwarded-For: 127.0.0.1\r\n", "Authorization: Basic YWxpY2U6\r\n", "Authorization: Bearer\r\n", "X-HTTP-Method-Override: GET\r\nX-Original-URL: /healthz\r\n"} {
				conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
				require.NoError(t, err)
				fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: evil.example\r\n%sConnection: close\r\n\r\n", method, path, header)
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err == nil {
					ofGo := method == "OPTIONS" && path == "*" // net/http answers it, with nothing.
					assert.True(t, ofGo || answer.StatusCode >= 300, "%s %q %q: %d", method, path, header, answer.StatusCode)
					assert.NotEqual(t, 500, answer.StatusCode)
				}
				require.NoError(t, conn.Close())
			}
		}
	}
	assert.Empty(t, h.seen())
	assert.Empty(t, h.reviewed)
	code, text := h.askAs("", http.MethodGet, "/healthz")
	assert.Equal(t, "200 ok", sprint(code, text))
}

// TestGarbage: data that are no SPDY frames end the session, and no goroutine is left.
func TestGarbage(t *testing.T) {
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
	frame := func(kind uint16, flags byte, body []byte) []byte {
		b := binary.BigEndian.AppendUint16(nil, 0x8003)
		b = binary.BigEndian.AppendUint16(b, kind)
		b = binary.BigEndian.AppendUint32(b, uint32(flags)<<24|uint32(len(body)))
		return append(b, body...)
	}
	random := make([]byte, 4096)
	for i := range random {
		random[i] = byte(rand.IntN(256))
	}
	cases := map[string][]byte{
		"nothing": nil, "random": random, "zeros": make([]byte, 1<<16), "http": []byte("GET / HTTP/1.1\r\n\r\n"),
		"syn": frame(1, 0, random[:100]), "syn of nothing": frame(1, 0, nil), "reply": frame(2, 0, []byte{0, 0, 0, 1, 0, 0}), "reset": frame(3, 0, []byte{0, 0, 0, 9, 0, 0, 0, 1}),
		"settings": frame(4, 0, []byte{0xff, 0xff, 0xff, 0xff}), "goaway": frame(7, 0, make([]byte, 8)), "ping": bytes.Repeat(frame(6, 0, []byte{0, 0, 0, 1}), 1000),
		"unknown": frame(99, 0, random[:10]), "long": {0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff}, "data of none": append([]byte{0, 0, 0, 5, 0, 0, 0, 4}, "abcd"...),
	}
	for _, path := range []string{"/exec/default/web/c?command=x&output=1&input=1", "/portForward/default/web", "/attach/default/web/c?output=1"} {
		for name, garbage := range cases {
			for range 3 {
				conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
				require.NoError(t, err)
				fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n\r\n", path)
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				require.NoError(t, err)
				require.Equal(t, 101, answer.StatusCode, name)
				_, _ = conn.Write(garbage)
				require.NoError(t, conn.Close())
			}
		}
	}
}
