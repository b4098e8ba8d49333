package cri_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri"
)

// readListStream is what an address stands for.
type readListStream struct {
	tty, stdin, stderr bool
	run                func(ctx context.Context, streams runtime.Streams) (int32, error)
	port               bool
}

// address makes an address for it.
func (f *fake) address(s readListStream) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	token := strconv.Itoa(len(f.streams))
	f.streams[token] = s
	return "http://127.0.0.1:10010/" + token
}

func (f *fake) Exec(_ context.Context, req *criv1.ExecRequest) (*criv1.ExecResponse, error) {
	run := func(ctx context.Context, streams runtime.Streams) (int32, error) {
		return f.m.ExecStream(ctx, runtime.ExecStreamRequest{ContainerID: req.ContainerId, Command: req.Cmd}, streams)
	}
	if other := f.process(); other != nil {
		run = other
	}
	return &criv1.ExecResponse{Url: f.address(readListStream{tty: req.Tty, stdin: req.Stdin, stderr: req.Stderr, run: run})}, nil
}

func (f *fake) Attach(_ context.Context, req *criv1.AttachRequest) (*criv1.AttachResponse, error) {
	return &criv1.AttachResponse{Url: f.address(readListStream{tty: req.Tty, stdin: req.Stdin, stderr: req.Stderr, run: f.process()})}, nil
}

func (f *fake) PortForward(context.Context, *criv1.PortForwardRequest) (*criv1.PortForwardResponse, error) {
	return &criv1.PortForwardResponse{Url: f.address(readListStream{port: true, run: f.process()})}, nil
}

func (f *fake) process() func(context.Context, runtime.Streams) (int32, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.instance
}

// runs has all processes be this one.
func (f *fake) runs(p func(ctx context.Context, streams runtime.Streams) (int32, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.instance = p
}

// ServeHTTP is the streaming server.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	s, ok := f.streams[strings.TrimPrefix(r.URL.Path, "/")]
	f.mu.Unlock()
	if !ok {
		http.Error(w, "no such token", http.StatusNotFound)
		return
	}
	protocol := remotecommand.StreamProtocolV4Name
	if s.port {
		protocol = portforward.PortForwardV1Name
	}
	if _, err := httpstream.Handshake(r, w, []string{protocol}); err != nil {
		return
	}
	opened := make(chan httpstream.Stream, 10)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, replied <-chan struct{}) error {
		go func() {
			<-replied
			opened <- s
		}()
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-conn.CloseChan():
			cancel()
		case <-ctx.Done():
		}
	}()
	if s.port {
		s.forward(ctx, opened)
		return
	}
	s.serve(ctx, opened)
}

// collect waits for so many streams.
func collect(ctx context.Context, opened <-chan httpstream.Stream, n int) map[string]httpstream.Stream {
	all := map[string]httpstream.Stream{}
	for len(all) < n {
		select {
		case s := <-opened:
			all[s.Headers().Get(v1.StreamType)] = s
		case <-ctx.Done():
			return nil
		}
	}
	return all
}

func (s readListStream) serve(ctx context.Context, opened <-chan httpstream.Stream) {
	n := 2
	for _, more := range []bool{s.stdin, s.stderr, s.tty} {
		if more {
			n++
		}
	}
	all := collect(ctx, opened, n)
	if all == nil {
		return
	}
	streams := runtime.Streams{Stdout: all[v1.StreamTypeStdout]}
	if s.stdin {
		streams.Stdin = all[v1.StreamTypeStdin]
	}
	if s.stderr {
		streams.Stderr = all[v1.StreamTypeStderr]
	}
	if s.tty {
		sizes := json.NewDecoder(all[v1.StreamTypeResize])
		streams.Resized = func(context.Context) (runtime.TerminalSize, bool) {
			var size struct{ Width, Height uint16 }
			err := sizes.Decode(&size)
			return runtime.TerminalSize{Columns: size.Width, Rows: size.Height}, err == nil
		}
	}
	code, err := s.run(ctx, streams)
	status := metav1.Status{Status: metav1.StatusSuccess}
	switch {
	case errors.Is(err, errBroken):
		return
	case err != nil:
		status = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
	case code != 0:
		status = metav1.Status{Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason, Details: &metav1.StatusDetails{
			Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: fmt.Sprint(code)}},
		}}
	}
	_ = json.NewEncoder(all[v1.StreamTypeError]).Encode(status)
}

// errBroken is a runtime that goes away.
var errBroken = errors.New("broken")

func (s readListStream) forward(ctx context.Context, opened <-chan httpstream.Stream) {
	all := collect(ctx, opened, 2)
	if all == nil {
		return
	}
	data := all[v1.StreamTypeData]
	if _, err := s.run(ctx, runtime.Streams{Stdin: data, Stdout: data}); err != nil {
		_, _ = io.WriteString(all[v1.StreamTypeError], err.Error())
	}
	_ = data.Close()
	_ = all[v1.StreamTypeError].Close()
}

// echo is a process that prints what it reads, to its end.
func echo(_ context.Context, s runtime.Streams) (int32, error) {
	text, err := io.ReadAll(s.Stdin)
	_, _ = s.Stdout.Write(bytes.ToUpper(text))
	if s.Stderr != nil {
		_, _ = fmt.Fprintf(s.Stderr, "%d bytes", len(text))
	}
	return 5, err
}

func TestExecStream(t *testing.T) {
	f := newFake(t)
	r, other := f.client("me"), f.client("other")
	_, id := running(t, r, web)
	f.runs(echo)
	req := runtime.ExecStreamRequest{ContainerID: id, Command: []string{"tr"}}
	text := strings.Repeat("hello ", 100_000)
	var out, complaints strings.Builder
	code, err := r.ExecStream(t.Context(), req, runtime.Streams{Stdin: strings.NewReader(text), Stdout: &out, Stderr: &complaints})
	require.NoError(t, err)
	assert.Equal(t, int32(5), code)
	assert.Equal(t, strings.ToUpper(text), out.String(), "whole, and the end of the input is one for the process")
	assert.Equal(t, "600000 bytes", complaints.String())

	req.TTY = true
	f.runs(func(ctx context.Context, s runtime.Streams) (int32, error) {
		for range 2 {
			size, _ := s.Resized(ctx)
			fmt.Fprint(s.Stdout, size)
		}
		return 0, nil
	})
	out.Reset()
	sizes := []runtime.TerminalSize{{Columns: 80, Rows: 24}, {Columns: 100, Rows: 50}}
	code, err = r.ExecStream(t.Context(), req, runtime.Streams{Stdout: &out, Resized: func(ctx context.Context) (s runtime.TerminalSize, ok bool) {
		if len(sizes) == 0 {
			<-ctx.Done()
			return s, false
		}
		s, sizes = sizes[0], sizes[1:]
		return s, true
	}})
	require.NoError(t, err)
	assert.Zero(t, code)
	assert.Equal(t, "{80 24}{100 50}", out.String())

	_, err = other.ExecStream(t.Context(), req, runtime.Streams{})
	require.ErrorIs(t, err, cri.ErrForeign)
	require.ErrorIs(t, other.Attach(t.Context(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{}), cri.ErrForeign)
	_, err = r.ExecStream(t.Context(), runtime.ExecStreamRequest{ContainerID: id}, runtime.Streams{})
	require.EqualError(t, err, "cri: Exec: the command is empty")
}

// gone is a writer whose client has disconnected.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// However a stream ends, the call does.
func TestExecStream_Ends(t *testing.T) {
	f := newFake(t)
	r := f.client("me")
	_, id := running(t, r, web)
	req := runtime.ExecStreamRequest{ContainerID: id, Command: []string{"x"}}
	killed := make(chan struct{}, 1)
	f.runs(func(ctx context.Context, s runtime.Streams) (int32, error) {
		_, _ = io.WriteString(s.Stdout, "begun")
		<-ctx.Done()
		killed <- struct{}{}
		return 0, nil
	})
	_, err := r.ExecStream(t.Context(), req, runtime.Streams{Stdout: gone{}})
	require.ErrorIs(t, err, io.ErrClosedPipe)
	<-killed

	ctx, cancel := context.WithCancel(t.Context())
	begun := writer(func(p []byte) (int, error) { cancel(); return len(p), nil })
	in, hold := io.Pipe()
	_, err = r.ExecStream(ctx, req, runtime.Streams{Stdin: in, Stdout: begun})
	require.ErrorIs(t, err, context.Canceled)
	<-killed
	require.NoError(t, hold.Close())

	f.runs(func(context.Context, runtime.Streams) (int32, error) { return 0, errors.New("no such program") })
	_, err = r.ExecStream(t.Context(), req, runtime.Streams{})
	require.EqualError(t, err, `cri: Exec: streaming: the runtime reports "no such program"`)

	f.runs(func(context.Context, runtime.Streams) (int32, error) { return 0, errBroken })
	_, err = r.ExecStream(t.Context(), req, runtime.Streams{})
	require.ErrorIs(t, err, runtime.ErrNotReady)

	f.runs(func(_ context.Context, s runtime.Streams) (int32, error) {
		_, err := io.WriteString(s.Stdout, "output")
		return 9, err
	})
	require.Error(t, r.Attach(t.Context(), runtime.AttachRequest{ContainerID: "none"}, runtime.Streams{}))
	require.NoError(t, r.Attach(t.Context(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{}))

	f.fails("Attach", status.Error(codes.Unknown, "no room"))
	require.EqualError(t, r.Attach(t.Context(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{}), "cri: Attach: Unknown: no room")
	f.onInstead(nil)

	for _, url := range []string{"http://192.0.2.1:80/x", "https://127.0.0.1:80/x", "http://evil.example:80/x", "http://127.0.0.1/x", "", "%"} {
		f.onAfter(func(_ string, _, res any) (any, error) {
			if res, ok := res.(*criv1.ExecResponse); ok {
				res.Url = url
			}
			return res, nil
		})
		_, err = r.ExecStream(t.Context(), req, runtime.Streams{})
		require.ErrorIs(t, err, runtime.ErrUnsupported, url)
	}
	f.onAfter(func(_ string, _, res any) (any, error) {
		if res, ok := res.(*criv1.ExecResponse); ok {
			res.Url = "http://127.0.0.1:10010/none"
		}
		return res, nil
	})
	_, err = r.ExecStream(t.Context(), req, runtime.Streams{})
	require.EqualError(t, err, `cri: Exec: streaming: the server responds 404 Not Found: "no such token"`)
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestPortForward(t *testing.T) {
	f := newFake(t)
	r := f.client("me")
	sandbox, _ := running(t, r, web)
	f.runs(echo)
	req := runtime.PortForwardRequest{SandboxID: sandbox, Port: 80}
	near, far := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- r.PortForward(t.Context(), req, halved{far, strings.NewReader("hello")}) }()
	answer, err := io.ReadAll(near)
	require.NoError(t, err)
	assert.Equal(t, "HELLO", string(answer), "after the end of the input")
	require.NoError(t, <-ended)

	f.runs(func(context.Context, runtime.Streams) (int32, error) { return 0, errors.New("connection refused") })
	near, far = net.Pipe()
	require.EqualError(t, r.PortForward(t.Context(), req, far), `cri: PortForward: streaming: port 80: "connection refused"`)
	_, err = near.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "it is closed")

	f.runs(func(ctx context.Context, _ runtime.Streams) (int32, error) { <-ctx.Done(); return 0, nil })
	ctx, cancel := context.WithCancel(t.Context())
	_, far = net.Pipe()
	go func() { ended <- r.PortForward(ctx, req, far) }()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)

	_, far = net.Pipe()
	require.ErrorIs(t, r.PortForward(t.Context(), runtime.PortForwardRequest{SandboxID: "none", Port: 80}, far), runtime.ErrNotFound)
	require.NoError(t, r.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: sandbox}))
	require.ErrorIs(t, r.PortForward(t.Context(), req, far), runtime.ErrWrongState)
}

// halved is a connection whose client has closed its half for writing.
type halved struct {
	net.Conn
	in io.Reader
}

func (h halved) Read(p []byte) (int, error) { return h.in.Read(p) }

// pipes is a listener for virtual time. A deadline of its connections does not fire after it was cleared; a deadline of
// bufconn may.
type pipes struct {
	conns chan net.Conn
	ctx   context.Context
	end   context.CancelFunc
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn)}
	p.ctx, p.end = context.WithCancel(context.Background())
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.end()
	return nil
}

func (p *pipes) Addr() net.Addr {
	near, _ := net.Pipe()
	return near.LocalAddr()
}

func (p *pipes) DialContext(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.ctx.Done():
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A container that exits while a client attaches, and that gives it nothing of its output, is an
// error, so that kubectl prints the log; one that has run on beside the client, or that has printed,
// is none.
func TestAttach_Exited(t *testing.T) {
	const hey = "hey"
	for name, c := range map[string]struct {
		runs           time.Duration // beside the client
		shown          time.Duration // later than that
		says, complain string
		fails          bool
	}{
		"at once":                    {fails: true},
		"at once, shown later":       {shown: 300 * time.Millisecond, fails: true},
		"at once, after a last word": {says: hey},
		"at once, after a complaint": {complain: hey},
		"after a while":              {runs: 3 * time.Second},
		"never":                      {shown: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				r := f.client("me")
				_, id := running(t, r, web)
				f.runs(func(_ context.Context, s runtime.Streams) (int32, error) {
					_, said := io.WriteString(s.Stdout, c.says)
					_, complained := io.WriteString(s.Stderr, c.complain)
					time.Sleep(c.runs)
					if c.shown == 0 {
						_ = f.m.ExitContainer(id, 0)
					} else {
						time.AfterFunc(c.shown, func() { _ = f.m.ExitContainer(id, 0) })
					}
					return 0, errors.Join(said, complained)
				})
				asked := f.called("ContainerStatus")
				err := r.Attach(t.Context(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{})
				require.LessOrEqual(t, f.called("ContainerStatus")-asked, 9, "the pauses grow")
				if c.fails {
					require.EqualError(t, err, "cri: Attach: runtime: wrong state: container "+id+" exited before the client was attached")
					require.ErrorIs(t, err, runtime.ErrWrongState)
				} else {
					require.NoError(t, err)
				}
				f.runs(func(context.Context, runtime.Streams) (int32, error) { return 0, errors.New("no running task found") })
				_ = f.m.ExitContainer(id, 0)
				require.ErrorIs(t, r.Attach(t.Context(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{}), runtime.ErrWrongState)
			})
		})
	}
}
