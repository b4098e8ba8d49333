package server_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
)

// webSocket is a WebSocket client that writes and reads single frames.
type webSocket struct {
	net.Conn
	from *bufio.Reader
	t    *testing.T
}

// Opcodes of frames. A frame with a continuation is the opcode without final.
const (
	continued, text, binaryData, closing, ping = 0x0, 0x1, 0x2, 0x8, 0x9
	final                                      = 0x80
)

// dialWebSocket upgrades a connection to a WebSocket, and returns the chosen protocol. Without a client the answer
// is one without an upgrade.
func (h *harness) dialWebSocket(path string, offered ...string) (c *webSocket, answer string) {
	h.Helper()
	header := http.Header{"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Origin": {"http://elsewhere.example"}}
	if len(offered) > 0 {
		header.Set("Sec-Websocket-Protocol", strings.Join(offered, ", "))
	}
	return h.dialWebSocketWithHeader(http.MethodGet, path, header)
}

func (h *harness) dialWebSocketWithHeader(method, path string, header http.Header) (c *webSocket, answer string) {
	h.Helper()
	raw, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	require.NoError(h, err)
	h.Cleanup(func() { _ = raw.Close() })
	r, err := http.NewRequest(method, h.url+path, nil)
	require.NoError(h, err)
	r.Header = header
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Connection", "keep-alive, Upgrade")
	r.Header.Set("Upgrade", "WebSocket")
	require.NoError(h, r.Write(raw))
	from := bufio.NewReader(raw)
	got, err := http.ReadResponse(from, r)
	require.NoError(h, err)
	if got.StatusCode != http.StatusSwitchingProtocols {
		return nil, sprint(got.StatusCode, strings.TrimSuffix(all(h.T, got.Body), "\n"))
	}
	assert.Equal(h, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", got.Header.Get("Sec-Websocket-Accept"))
	return &webSocket{raw, from, h.T}, got.Header.Get("Sec-Websocket-Protocol")
}

func (h *harness) webSocket(path string, offered ...string) *webSocket {
	h.Helper()
	c, answer := h.dialWebSocket(path, offered...)
	require.NotNil(h, c, answer)
	return c
}

// masked is a frame of a client. The first byte has the opcode and whether the frame is the final one.
func masked(first byte, payload string) []byte {
	key := []byte{0x11, 0xa2, 0x3b, 0xc4}
	frame := []byte{first}
	switch n := len(payload); {
	case n < 126:
		frame = append(frame, 0x80|byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(n))
	}
	frame = append(frame, key...)
	for i := range len(payload) {
		frame = append(frame, payload[i]^key[i%4])
	}
	return frame
}

// send sends one frame.
func (c *webSocket) send(first byte, payload string) {
	c.t.Helper()
	_, err := c.Write(masked(first, payload))
	require.NoError(c.t, err)
}

// receive returns the next frame: the channel and the data of a binary message, a text, the status of a close
// message, or the end of the connection.
func (c *webSocket) receive() string {
	c.t.Helper()
	header := make([]byte, 2)
	if _, err := io.ReadFull(c.from, header); err != nil {
		return err.Error()
	}
	length := uint64(header[1])
	extended := make([]byte, map[byte]int{126: 2, 127: 8}[header[1]])
	_, err := io.ReadFull(c.from, extended)
	require.NoError(c.t, err)
	if len(extended) > 0 {
		length = binary.BigEndian.Uint64(append(make([]byte, 8-len(extended)), extended...))
	}
	payload := make([]byte, length)
	_, err = io.ReadFull(c.from, payload)
	require.NoError(c.t, err)
	switch header[0] {
	case final | text:
		return string(payload)
	case final | binaryData:
		return fmt.Sprint(payload[0], " ", string(payload[1:]))
	case final | closing:
		return fmt.Sprint("close ", binary.BigEndian.Uint16(payload))
	}
	return fmt.Sprintf("frame %x %s", header[0], payload)
}

// transcript returns all frames until the end of the connection.
func (c *webSocket) transcript() (frames []string) {
	c.t.Helper()
	for {
		frame := c.receive()
		frames = append(frames, frame)
		if frame == io.EOF.Error() {
			return frames
		}
		require.LessOrEqual(c.t, len(frames), 1000)
	}
}

// upper is a process that reads its input to the first point, and writes it in capitals.
func upper(_ context.Context, s runtime.Streams) (int32, error) {
	text, err := bufio.NewReader(s.Stdin).ReadString('.')
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	_, _ = io.WriteString(s.Stdout, strings.ToUpper(text))
	_, _ = io.WriteString(s.Stderr, "done")
	return int32(len(text) % 256), nil
}

// HS-15, HS-17: the messages of each protocol, from the first empty one to the close message. The protocols
// before v4 report a failure as a text, and success not at all.
func TestWebSocket_Exec(t *testing.T) {
	h := serve(t).start()
	h.process = upper
	const failure = `{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: exit status 3","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}`
	raw := func(status string) []string {
		return []string{"1 ", "1 HI.", "2 done", "3 " + status, "close 1000", "EOF"}
	}
	for _, c := range []struct {
		offered []string
		chosen  string
		sent    string
		want    []string
	}{
		{nil, "", "\x00hi.", raw("command terminated with non-zero exit code: exit status 3")},
		{[]string{"channel.k8s.io"}, "channel.k8s.io", "\x00hi.", raw("command terminated with non-zero exit code: exit status 3")},
		{[]string{"v4.channel.k8s.io"}, "v4.channel.k8s.io", "\x00hi.", raw(failure)},
		{[]string{"v5.channel.k8s.io"}, "v5.channel.k8s.io", "\x00hi.", raw(failure)},
		{[]string{"v4.channel.k8s.io", "v5.channel.k8s.io"}, "v5.channel.k8s.io", "\x00hi.", raw(failure)},
		{[]string{"v9.channel.k8s.io", "channel.k8s.io", "v4.channel.k8s.io"}, "channel.k8s.io", "\x00hi.", raw("command terminated with non-zero exit code: exit status 3")},
		{[]string{"base64.channel.k8s.io"}, "base64.channel.k8s.io", "0aGku", []string{"1", "1SEku", "2ZG9uZQ==", "3Y29tbWFuZCB0ZXJtaW5hdGVkIHdpdGggbm9uLXplcm8gZXhpdCBjb2RlOiBleGl0IHN0YXR1cyAz", "close 1000", "EOF"}},
		{[]string{"v4.base64.channel.k8s.io"}, "v4.base64.channel.k8s.io", "0aGku", []string{"1", "1SEku", "2ZG9uZQ==", "3eyJtZXRhZGF0YSI6e30sInN0YXR1cyI6IkZhaWx1cmUiLCJtZXNzYWdlIjoiY29tbWFuZCB0ZXJtaW5hdGVkIHdpdGggbm9uLXplcm8gZXhpdCBjb2RlOiBleGl0IHN0YXR1cyAzIiwicmVhc29uIjoiTm9uWmVyb0V4aXRDb2RlIiwiZGV0YWlscyI6eyJjYXVzZXMiOlt7InJlYXNvbiI6IkV4aXRDb2RlIiwibWVzc2FnZSI6IjMifV19fQ==", "close 1000", "EOF"}},
	} {
		ws, chosen := h.dialWebSocket("/exec/default/web/c?command=tr&input=1&output=1&error=1", c.offered...)
		require.NotNil(t, ws, "%q: %s", c.offered, chosen)
		assert.Equal(t, c.chosen, chosen, c.offered)
		ws.send(final|binaryData, c.sent)
		assert.Equal(t, c.want, ws.transcript(), c.offered)
		assert.Equal(t, []string{`exec u1/c ["tr"] tty=false 3 streams`}, h.seen())
	}
	for protocol, want := range map[string][]string{
		"channel.k8s.io": {"2 ", "close 1000", "EOF"}, "v4.channel.k8s.io": {"2 ", `3 {"metadata":{},"status":"Success"}`, "close 1000", "EOF"},
	} {
		h.process = func(context.Context, runtime.Streams) (int32, error) { return 0, nil }
		assert.Equal(t, want, h.webSocket("/exec/default/web/c?command=true&input=1&error=1", protocol).transcript())
		h.process = func(context.Context, runtime.Streams) (int32, error) { return 0, errors.New("cri: the shim is gone") }
		want[0], want[1] = "3 ", map[bool]string{true: "3 the shim is gone", false: `3 {"metadata":{},"status":"Failure","message":"the shim is gone","reason":"InternalError","code":500}`}[len(want) == 3]
		want = append(want[:2], "close 1000", "EOF")
		assert.Equal(t, want, h.webSocket("/attach/default/web/c?input=1", protocol).transcript())
	}
}

// HS-13: a client that offers no supported protocol gets 403, and a broken handshake 400 or 405. Errors of the
// request come before the upgrade.
func TestWebSocket_Refused(t *testing.T) {
	h := serve(t).start()
	const exec, forward, tunnel = "/exec/default/web/c?command=sh&output=1", "/portForward/default/web", "SPDY/3.1+portforward.k8s.io"
	for _, c := range []struct {
		path, protocol, want string
	}{
		{exec, "v2.channel.k8s.io", "403 "}, {exec, "v3.channel.k8s.io", "403 "}, {exec, "v5.base64.channel.k8s.io", "403 "}, {exec, tunnel, "403 "}, {exec, "binary.k8s.io", "403 "},
		{forward + "?port=80", "channel.k8s.io", "403 "}, {forward + "?port=80", "v5.channel.k8s.io", "403 "}, {forward + "?port=80", "base64.channel.k8s.io", "403 "},
		{forward, "SPDY/3.1+v4.channel.k8s.io", "403 unable to upgrade: unable to negotiate protocol: client supports [v4.channel.k8s.io], server accepts [portforward.k8s.io]"},
		{forward, "v4.channel.k8s.io", `400 query parameter "port" is required`}, {forward + "?port=", "v4.channel.k8s.io", `400 query parameter "port" cannot be empty`},
		{forward + "?port=80,0", "v4.channel.k8s.io", `400 query parameter "port" has "0", which is no port from 1 to 65535`},
		{forward + "?port=80&port=65536", "v4.channel.k8s.io", `400 query parameter "port" has "65536", which is no port from 1 to 65535`},
		{forward + "?port=80,", "v4.channel.k8s.io", `400 query parameter "port" has "", which is no port from 1 to 65535`},
		{forward + "?port=1" + strings.Repeat(",1", 128), "v4.channel.k8s.io", `400 query parameter "port" has more than 128 ports`},
		{"/exec/default/web/c?output=1", "v5.channel.k8s.io", "400 the command is missing"}, {"/exec/default/web/c?command=sh", "v5.channel.k8s.io", "400 one of input, output and error is needed"},
		{"/exec/default/none/c?command=sh&output=1", "v5.channel.k8s.io", "404 pod none is not on this node"}, {"/attach/default/web/late?output=1", "v4.channel.k8s.io", "404 no container late: not found"},
		{"/portForward/kube-system/web", tunnel, "404 pod u2 has no sandbox: not found"},
	} {
		ws, answer := h.dialWebSocket(c.path, c.protocol)
		assert.Nil(t, ws, c)
		assert.Equal(t, c.want, answer, c)
	}
	for want, change := range map[string]func(http.Header){
		"400 missing or bad WebSocket Version": func(header http.Header) { header.Set("Sec-Websocket-Version", "8") },
		"400 mismatch challenge/response":      func(header http.Header) { header.Del("Sec-Websocket-Key") },
	} {
		header := http.Header{"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
		change(header)
		ws, answer := h.dialWebSocketWithHeader(http.MethodGet, exec, header)
		assert.Nil(t, ws)
		assert.Equal(t, want, answer)
	}
	ws, answer := h.dialWebSocketWithHeader(http.MethodPost, exec, http.Header{})
	assert.Nil(t, ws)
	assert.Equal(t, "405 bad method", answer)
	assert.Empty(t, h.seen())
}

// HS-16: the message {255, channel} of v5.channel.k8s.io closes the input, and output still follows. Older
// protocols ignore it.
func TestWebSocket_HalfClose(t *testing.T) {
	h := serve(t).start()
	h.process = func(_ context.Context, s runtime.Streams) (int32, error) {
		text, err := io.ReadAll(s.Stdin)
		_, _ = io.WriteString(s.Stdout, strings.ToUpper(string(text)))
		return 0, err
	}
	ws := h.webSocket("/exec/default/web/c?command=cat&input=1&output=1", "v5.channel.k8s.io")
	ws.send(final|binaryData, "\x00hello")
	ws.send(final|binaryData, "\xff\x00")
	assert.Equal(t, []string{"1 ", "1 HELLO", `3 {"metadata":{},"status":"Success"}`, "close 1000", "EOF"}, ws.transcript())
	h.process = upper
	ws = h.webSocket("/exec/default/web/c?command=cat&input=1&output=1&error=1", "v4.channel.k8s.io")
	ws.send(final|binaryData, "\x00hello")
	ws.send(final|binaryData, "\xff\x00")
	ws.send(final|binaryData, "\x00, world.")
	assert.Equal(t, []string{"1 ", "1 HELLO, WORLD.", "2 done"}, ws.transcript()[:3])
}

// A close message for a channel that does not exist, or of another length, is an error of the protocol. It ends the
// process.
func TestWebSocket_HalfCloseOfNoChannel(t *testing.T) {
	h := serve(t).start()
	over := make(chan error, 1)
	h.process = func(ctx context.Context, _ runtime.Streams) (int32, error) {
		<-ctx.Done()
		over <- ctx.Err()
		return 0, ctx.Err()
	}
	for _, signal := range []string{"\xff", "\xff\x05", "\xff\x00\x00", "\xff" + strings.Repeat("\x00", 100_000)} {
		ws := h.webSocket("/exec/default/web/c?command=cat&input=1&output=1", "v5.channel.k8s.io")
		_, _ = ws.Write(masked(final|binaryData, signal))
		require.ErrorIs(t, <-over, context.Canceled)
	}
}

// HS-16: the process ends with its client, also if it does not read its input, and with the server.
func TestWebSocket_Ends(t *testing.T) {
	for name, end := range map[string]func(h *harness, c *webSocket){
		"close message": func(_ *harness, c *webSocket) { c.send(final|closing, "\x03\xe8") },
		"connection":    func(_ *harness, c *webSocket) { _ = c.Close() },
		"killed":        func(_ *harness, c *webSocket) { _ = c.Conn.(*net.TCPConn).SetLinger(0); _ = c.Close() },
		"server":        func(h *harness, _ *webSocket) { h.stop() },
		"bad frame":     func(_ *harness, c *webSocket) { c.send(final|0x70|binaryData, "\x00") },
	} {
		for _, protocol := range []string{"channel.k8s.io", "v5.channel.k8s.io"} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				h := serve(t).start()
				over := make(chan error, 1)
				h.process = func(ctx context.Context, s runtime.Streams) (int32, error) {
					<-ctx.Done()
					_, err := io.ReadAll(s.Stdin)
					over <- errors.Join(ctx.Err(), err)
					return 0, ctx.Err()
				}
				c := h.webSocket("/exec/default/web/c?command=sleep&input=1&output=1", protocol)
				assert.Equal(t, "1 ", c.receive())
				for range 40 {
					c.send(final|binaryData, "\x00x")
				}
				end(h, c)
				assert.EqualError(t, <-over, "context canceled")
			})
		}
	}
}

// HS-11, HS-12: the channel of sizes. Sizes that nothing reads, and texts that are no size, do not hold up the input.
func TestWebSocket_Terminal(t *testing.T) {
	h := serve(t).start()
	h.process = func(ctx context.Context, s runtime.Streams) (int32, error) {
		for range 2 {
			size, ok := s.Resized(ctx)
			if !ok {
				return 1, nil
			}
			_ = json.NewEncoder(s.Stdout).Encode(size)
		}
		return 0, nil
	}
	for path, want := range map[string]string{
		"/exec/default/web/c?command=sh&tty=1&": `exec u1/c ["sh"] tty=true 3 streams`,
		"/attach/default/web/shell?tty=true&":   "attach u1/shell tty=true 3 streams",
	} {
		c := h.webSocket(path+"input=1&output=1&error=1", "v5.channel.k8s.io")
		c.send(final|binaryData, `.{"Width":80,"Height":24}`) // Channel 46 is ignored.
		c.send(final|binaryData, "\x04"+`{"Width":80,"Height":24}`)
		c.send(final|binaryData, "\x04"+`{"Width":100,"Height":50}`)
		assert.Equal(t, []string{"1 ", "1 {\"Columns\":80,\"Rows\":24}\n", "1 {\"Columns\":100,\"Rows\":50}\n", `3 {"metadata":{},"status":"Success"}`, "close 1000", "EOF"}, c.transcript())
		assert.Equal(t, []string{want}, h.seen())
	}
	h.process = func(ctx context.Context, s runtime.Streams) (int32, error) {
		text, err := bufio.NewReader(s.Stdin).ReadString('.')
		_, _ = io.WriteString(s.Stdout, text)
		_, ok := s.Resized(ctx)
		return map[bool]int32{true: 1, false: 2}[ok], err
	}
	c := h.webSocket("/exec/default/web/c?command=sh&tty=1&input=1&output=1", "v4.channel.k8s.io")
	for range 200 {
		c.send(final|binaryData, "\x04no size")
	}
	c.send(final|binaryData, "\x00read.")
	frames := c.transcript()
	assert.Equal(t, "1 read.", frames[1])
	assert.Contains(t, frames[2], `"message":"2"`)
	h.process = func(_ context.Context, s runtime.Streams) (int32, error) {
		text, err := bufio.NewReader(s.Stdin).ReadString('.')
		_, _ = fmt.Fprint(s.Stdout, text, s.Resized == nil)
		return 0, err
	}
	c = h.webSocket("/exec/default/web/c?command=sh&input=1&output=1", "v4.channel.k8s.io")
	for range 200 {
		c.send(final|binaryData, "\x04"+`{"Width":80,"Height":24}`)
	}
	c.send(final|binaryData, "\x00no terminal.")
	assert.Equal(t, "1 no terminal.true", c.transcript()[1])
}

// HS-17: long frames and fragmented messages arrive whole, a ping is answered, and empty messages say nothing.
func TestWebSocket_Frames(t *testing.T) {
	h := serve(t).start()
	h.process = func(_ context.Context, s runtime.Streams) (int32, error) {
		text, err := io.ReadAll(s.Stdin)
		_, _ = fmt.Fprint(s.Stdout, len(text), " ", strings.Count(string(text), "0123456789"))
		return 0, err
	}
	long := strings.Repeat("0123456789", 100_000)
	c := h.webSocket("/exec/default/web/c?command=wc&input=1&output=1", "v5.channel.k8s.io")
	assert.Equal(t, "1 ", c.receive())
	c.send(final|ping, "alive?")
	assert.Equal(t, "frame 8a alive?", c.receive())
	c.send(final|binaryData, "")
	c.send(final|binaryData, "\x00"+long)
	c.send(binaryData, "\x000")
	c.send(final|ping, "between")
	assert.Equal(t, "frame 8a between", c.receive())
	c.send(continued, "12345")
	c.send(continued, "")
	c.send(continued, "6789"+long)
	c.send(final|continued, long)
	c.send(final|binaryData, "\xff\x00")
	assert.Equal(t, []string{"1 3000010 300001", `3 {"metadata":{},"status":"Success"}`, "close 1000", "EOF"}, c.transcript())
}

// HS-17: a message in base64 may have fragments of any length. A message that is not base64 is ignored.
func TestWebSocket_Base64(t *testing.T) {
	h := serve(t).start()
	h.process = upper
	c := h.webSocket("/exec/default/web/c?command=tr&input=1&output=1&error=1", "v9.channel.k8s.io", "base64.channel.k8s.io")
	for _, message := range [][]string{{"0aGVs"}, {"0", "bG8", "gd2", "8="}, {"0", "rl", "d!"}, {"0c", "mx", "", "k"}, {"0Lg=="}} {
		for i, fragment := range message {
			c.send([]byte{text, continued}[min(i, 1)]|map[bool]byte{true: final}[i == len(message)-1], fragment)
		}
	}
	assert.Equal(t, []string{"1", "1" + base64.StdEncoding.EncodeToString([]byte("HELLO WORLD.")), "2ZG9uZQ=="}, c.transcript()[:3])
}
