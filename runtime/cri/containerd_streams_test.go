//go:build linux

package cri_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/e2e"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri"
)

// streamTimeout is what anything may take on a machine that does much else.
const streamTimeout = 60 * time.Second

// Commands, terminals and ports over the streaming servers of real containerds.
func TestStreams_Containerd(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes seconds of real time")
	}
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			p := newPeople(t, e2e.Start(t, version))
			for name, story := range map[string]func(*people){
				"exec": (*people).exec, "exec ends with its context": (*people).execEnds, "terminal": (*people).terminal,
				"attach": (*people).attach, "attached terminal": (*people).attachTerminal, "ports": (*people).ports,
				"attach to what ends at once": (*people).attachLate,
			} {
				t.Run(name, func(t *testing.T) { story(p.on(t)) })
			}
		})
	}
}

// people are the users of one pod: they run commands in it, attach to it and forward ports.
type people struct {
	*testing.T
	r       *cri.Runtime
	image   string
	sandbox string
	version e2e.Version
}

var theirs = runtime.PodRef{UID: "people", Name: "people", Namespace: "default", Incarnation: 1}

func newPeople(t *testing.T, c *e2e.Containerd) *people {
	r, err := cri.New(cri.Config{Endpoint: c.Endpoint, Owner: "people"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	p := &people{T: t, r: r, image: c.Registry.Image(), version: c.Version}
	_, err = r.PullImage(t.Context(), runtime.PullImageRequest{Image: p.image})
	require.NoError(t, err)
	p.sandbox, err = r.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: theirs, LogDir: t.TempDir()})
	require.NoError(t, err)
	return p
}

func (p *people) on(t *testing.T) *people {
	other := *p
	other.T = t
	return &other
}

// container runs a script until the story ends.
func (p *people) container(name, script string, change ...func(*runtime.CreateContainerRequest)) string {
	p.Helper()
	req := runtime.CreateContainerRequest{
		Pod: theirs, SandboxID: p.sandbox, Name: name, Image: p.image, ImageRef: p.image, Command: []string{"sh", "-c", script},
	}
	for _, f := range change {
		f(&req)
	}
	id, err := p.r.CreateContainer(p.Context(), req)
	require.NoError(p, err)
	require.NoError(p, p.r.StartContainer(p.Context(), runtime.StartContainerRequest{ContainerID: id}))
	p.Cleanup(func() {
		var err error
		p.until(func() bool { // containerd may not have recorded the exit of a container that has just exited.
			err = p.r.StopContainer(context.WithoutCancel(p.Context()), runtime.StopContainerRequest{ContainerID: id})
			return !errors.Is(err, cri.ErrStillRuns)
		}, "the container has stopped")
		assert.NoError(p, err)
	})
	return id
}

func (p *people) within() context.Context {
	ctx, cancel := context.WithTimeout(p.Context(), streamTimeout)
	p.Cleanup(cancel)
	return ctx
}

// exec checks that input is sent to its end, and that the streams and the exit code are separate.
func (p *people) exec() {
	id := p.container("exec", "sleep 100000")
	var out, wrong text
	code, err := p.r.ExecStream(p.within(), runtime.ExecStreamRequest{
		ContainerID: id, Command: []string{"sh", "-c", "tr a-z A-Z; echo wrong >&2; exit 3"},
	}, runtime.Streams{Stdin: strings.NewReader("one\ntwo\n"), Stdout: &out, Stderr: &wrong})
	require.NoError(p, err)
	assert.EqualValues(p, 3, code)
	assert.Equal(p, "ONE\nTWO\n", out.String())
	assert.Equal(p, "wrong\n", wrong.String())
}

// The end of the context ends the call, and the command with it, but on 1.6.
func (p *people) execEnds() {
	id := p.container("ends", "sleep 100000")
	ctx, cancel := context.WithCancel(p.within())
	var out text
	ended := make(chan error, 1)
	go func() {
		_, err := p.r.ExecStream(ctx, runtime.ExecStreamRequest{
			ContainerID: id, Command: []string{"sh", "-c", "echo begun; exec sleep 4711"},
		}, runtime.Streams{Stdout: &out, Stderr: &out})
		ended <- err
	}()
	p.until(func() bool { return out.String() == "begun\n" }, "it begins")
	cancel()
	require.ErrorIs(p, <-ended, context.Canceled)
	goesOn := func() bool {
		res, err := p.r.Exec(p.within(), runtime.ExecRequest{ContainerID: id, Command: []string{"sh", "-c", "grep -l 471[1] /proc/[0-9]*/cmdline"}})
		require.NoError(p, err)
		return len(res.Output) > 0
	}
	if p.version == e2e.Containerd16 {
		assert.True(p, goesOn())
		return
	}
	p.until(func() bool { return !goesOn() }, "it is killed")
}

// asks is a script that tells the size of its terminal for each line it reads.
const asks = `while stty size; read line; do [ "$line" = enough ] && exit 7; done`

// A command has a terminal, with a size from the start, which changes.
func (p *people) terminal() {
	id := p.container("terminal", "sleep 100000")
	p.typed(func(s runtime.Streams) error {
		code, err := p.r.ExecStream(p.within(), runtime.ExecStreamRequest{ContainerID: id, Command: []string{"sh", "-c", asks}, TTY: true}, s)
		assert.EqualValues(p, 7, code)
		return err
	})
}

// The process of a container has one, too.
func (p *people) attachTerminal() {
	id := p.container("attached-terminal", "read line; "+asks, withStdin, func(req *runtime.CreateContainerRequest) { req.TTY = true })
	p.typed(func(s runtime.Streams) error {
		return p.r.Attach(p.within(), runtime.AttachRequest{ContainerID: id, TTY: true}, s)
	})
	p.until(func() bool { return p.end(id) == 7 }, "it has ended, with its code")
}

// end is the code with which a container has ended; none is -1.
func (p *people) end(id string) int32 {
	st, err := p.r.PodStatus(p.within(), theirs.UID)
	require.NoError(p, err)
	for _, c := range st.Containers {
		if c.ID == id && c.State == runtime.StateExited {
			return c.ExitCode
		}
	}
	return -1
}

func withStdin(req *runtime.CreateContainerRequest) { req.Stdin, req.StdinOnce = true, true }

// typed is a user at a terminal in which a command runs. The terminal echoes the input.
func (p *people) typed(run func(runtime.Streams) error) {
	p.Helper()
	in, keys := io.Pipe()
	defer func() { _ = in.Close() }()
	sizes := make(chan runtime.TerminalSize, 2)
	sizes <- runtime.TerminalSize{Columns: 100, Rows: 30}
	var screen text
	ended := make(chan error, 1)
	go func() {
		ended <- run(runtime.Streams{Stdin: in, Stdout: &screen, Resized: func(ctx context.Context) (runtime.TerminalSize, bool) {
			select {
			case size := <-sizes:
				return size, true
			case <-ctx.Done():
				return runtime.TerminalSize{}, false
			}
		}})
	}()
	// A size may arrive after later input: it uses another stream.
	shows := func(size string) {
		p.Helper()
		p.until(func() bool {
			_, _ = keys.Write([]byte("\n"))
			return strings.Contains(screen.String(), size+"\r\n")
		}, "the size is "+size)
	}
	shows("30 100")
	sizes <- runtime.TerminalSize{Columns: 132, Rows: 43}
	shows("43 132")
	_, err := keys.Write([]byte("enough\n"))
	require.NoError(p, err)
	err = <-ended
	require.NoError(p, err, "the screen shows %q", screen.String())
	assert.Contains(p, screen.String(), "enough\r\n")
}

// A process without a terminal reads its input up to the end of the input. The caller gets its standard output and its
// standard error apart, up to the exit of the process.
func (p *people) attach() {
	id := p.container("attach", "read line; echo got $line; cat; echo wrong >&2; exit 5", withStdin)
	in, keys := io.Pipe()
	var out, wrong text
	ended := make(chan error, 1)
	go func() {
		ended <- p.r.Attach(p.within(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{Stdin: in, Stdout: &out, Stderr: &wrong})
	}()
	_, err := keys.Write([]byte("one\n"))
	require.NoError(p, err)
	p.until(func() bool { return out.String() == "got one\n" }, "it answers")
	_, err = keys.Write([]byte("two\n"))
	require.NoError(p, err)
	require.NoError(p, keys.Close())
	err = <-ended
	require.NoError(p, err, "after the end of its input; it has printed %q", out.String())
	assert.Equal(p, "got one\ntwo\n", out.String())
	assert.Equal(p, "wrong\n", wrong.String())
}

// A client that attaches while its container ends gets the output, or an error by which kubectl
// prints the log instead: it never gets nothing and success.
func (p *people) attachLate() {
	for i := range 10 {
		id := p.container(fmt.Sprint("late-", i), "echo hey", withStdin)
		in, keys := io.Pipe()
		var out text
		err := p.r.Attach(p.within(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{Stdin: in, Stdout: &out})
		_ = keys.Close()
		if err == nil {
			assert.Equal(p, "hey\n", out.String())
		}
	}
}

// PortForward reaches a port that listens on the pod's loopback only, and passes on the end of the sent data. It
// returns an error for a port on which no process listens, and for a sandbox of another owner.
func (p *people) ports() {
	p.container("ports", "exec nc -ll -p 8080 127.0.0.1 -e tr a-z A-Z")
	var answer []byte
	p.until(func() bool {
		near, far := net.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- p.r.PortForward(p.within(), runtime.PortForwardRequest{SandboxID: p.sandbox, Port: 8080}, halved{far, strings.NewReader("hello")})
		}()
		answer, _ = io.ReadAll(near)
		return <-ended == nil // It does not listen at once.
	}, "it listens")
	assert.Equal(p, "HELLO", string(answer))

	near, far := net.Pipe()
	err := p.r.PortForward(p.within(), runtime.PortForwardRequest{SandboxID: p.sandbox, Port: 9}, far)
	require.ErrorContains(p, err, "refused")
	_, err = near.Read(make([]byte, 1))
	require.ErrorIs(p, err, io.EOF)
	_, far = net.Pipe()
	require.ErrorIs(p, p.r.PortForward(p.within(), runtime.PortForwardRequest{SandboxID: "none", Port: 8080}, far), runtime.ErrNotFound)
}

// until waits for what must come.
func (p *people) until(holds func() bool, what string) {
	p.Helper()
	e2e.Await(p, what, streamTimeout, holds)
}

// text returns the written bytes.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
