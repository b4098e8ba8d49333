package memory_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// inContainer runs a command with an input, and returns its code and what it printed.
func inContainer(t *testing.T, r *memory.Runtime, id string, in io.Reader, command ...string) (int32, string, string) {
	t.Helper()
	var out, complaint strings.Builder
	code, err := r.ExecStream(t.Context(), runtime.ExecStreamRequest{ContainerID: id, Command: command}, runtime.Streams{Stdin: in, Stdout: &out, Stderr: &complaint})
	require.NoError(t, err)
	return code, out.String(), complaint.String()
}

// A command reads its input to the end. Each command of a shell continues where the previous one
// has stopped.
func TestExecStream_Input(t *testing.T) {
	r := memory.New(memory.Config{})
	ref, sandbox := createSandbox(t, r, "a", nil)
	id := startContainer(t, r, ref, sandbox, "main", 0)
	big := strings.Repeat("0123456789abcde\n", 1<<16)
	for _, c := range []struct {
		in      io.Reader
		command string
		code    int32
		out     string
		fault   string
	}{
		{strings.NewReader(big), "cat", 0, big, ""},
		{nil, "cat", 0, "", ""},
		{strings.NewReader("text"), "sh -c cat; echo complaint >&2; exit 3", 3, "text", "complaint\n"},
		{strings.NewReader("echo one\ncat\ntwo\nexit 7"), "sh", 0, "one\ntwo\nexit 7", ""},
		{strings.NewReader("echo one\nfalse\nexit\necho two"), "sh", 1, "one\n", ""},
		{strings.NewReader("make; echo a | b\nnginx"), "sh", 127, "", "sh: make: not found\nsh: only simple commands are supported\nsh: nginx: not found\n"},
		{nil, "sh -c echo -n x; exec echo y; echo z", 0, "xy\n", ""},
		{strings.NewReader("echo one"), "sh -c command -v bash >/dev/null && exec bash || exec echo none", 0, "one\n", ""}, // As k9s does.
		{nil, "sh -c command -v zsh >/dev/null && exec zsh || exec echo none", 0, "none\n", ""},
		{nil, "sh -c false || echo a && echo b; true || echo c; false && echo d", 1, "a\nb\n", ""},
		{nil, "sh script.sh", 0, "", ""},
		{nil, "nginx -t", 0, "", ""},
		{nil, "test -d /tmp", 0, "", ""},
		{nil, "test -f /tmp", 1, "", ""},
		{nil, "test -d /none", 1, "", ""},
		{nil, "stty size", 1, "", "stty: standard input: not a terminal\n"},
		{nil, "ls /none", 1, "", "ls: can't open \"/none\": No such file or directory\n"},
		{nil, "ls -l /usr", 0, "local\n", ""},
	} {
		command := strings.Fields(c.command)
		if strings.HasPrefix(c.command, "sh -c ") {
			command = []string{"sh", "-c", strings.TrimPrefix(c.command, "sh -c ")}
		}
		code, out, fault := inContainer(t, r, id, c.in, command...)
		assert.True(t, c.out == out, "%s: %.100q", c.command, out)
		assert.Equal(t, fmt.Sprint(c.code, c.fault), fmt.Sprint(code, fault), c.command)
	}
	require.Zero(t, r.Waiters())
}

// A process that reads its input stops when its container exits or its client disconnects, even if
// the input stays open.
func TestExecStream_InputEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := createSandbox(t, r, "a", nil)
		id := startContainer(t, r, ref, sandbox, "main", 0)
		in, typed := io.Pipe()
		defer typed.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := r.ExecStream(ctx, runtime.ExecStreamRequest{ContainerID: id, Command: []string{"cat"}}, runtime.Streams{Stdin: in})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.AfterFunc(time.Second, func() {
			assert.NoError(t, r.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: id}))
		})
		code, out, _ := inContainer(t, r, id, in, "sh", "-c", "cat; echo late")
		assert.Equal(t, "137 ", fmt.Sprint(code, " ", out))
		require.Zero(t, r.Waiters())
	})
}

// keyboard is a client with a terminal.
type keyboard struct {
	*io.PipeWriter
	screen *strings.Builder
	sizes  chan runtime.TerminalSize
}

// newTerminal returns a client with a terminal of 80 columns and 24 rows.
func newTerminal(t *testing.T) (keyboard, runtime.Streams) {
	in, keys := io.Pipe()
	k := keyboard{keys, &strings.Builder{}, make(chan runtime.TerminalSize, 1)}
	k.sizes <- runtime.TerminalSize{Columns: 80, Rows: 24}
	t.Cleanup(func() { _ = keys.Close() })
	return k, runtime.Streams{Stdin: in, Stdout: k.screen, Resized: func(ctx context.Context) (size runtime.TerminalSize, ok bool) {
		select {
		case size, ok = <-k.sizes:
		case <-ctx.Done():
		}
		return size, ok
	}}
}

// typeKeys types keys and requires this text on the screen when everything is idle.
func (k keyboard) typeKeys(t *testing.T, keys, screen string) {
	t.Helper()
	k.screen.Reset()
	_, err := io.WriteString(k, keys)
	require.NoError(t, err)
	synctest.Wait()
	assert.Equal(t, screen, k.screen.String())
}

// A shell on a terminal prompts, echoes and reports the size. Ctrl-C stops only the current
// command.
func TestExecStream_Terminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := createSandbox(t, r, "a", nil)
		id := startContainer(t, r, ref, sandbox, "main", 0)
		codes := make(chan int32)
		run := func(command ...string) keyboard {
			k, streams := newTerminal(t)
			go func() {
				code, err := r.ExecStream(t.Context(), runtime.ExecStreamRequest{ContainerID: id, TTY: true, Command: command}, streams)
				assert.NoError(t, err)
				codes <- code
			}()
			synctest.Wait()
			return k
		}
		k := run("/bin/sh")
		k.typeKeys(t, "stty size\r", "stty size\r\n24 80\r\n/ # ")
		k.sizes <- runtime.TerminalSize{Columns: 132, Rows: 50}
		synctest.Wait()
		k.typeKeys(t, "stty size\r", "stty size\r\n50 132\r\n/ # ")
		k.typeKeys(t, "ech\x03", "^C\r\n/ # ")
		k.typeKeys(t, "sleep 1000\r", "sleep 1000\r\n")
		k.typeKeys(t, "\x03", "^C\r\n/ # ")
		k.typeKeys(t, "cat >&2\rhello\r\x04", "cat >&2\r\nhello\r\nhello\r\n/ # ")
		k.typeKeys(t, "false\r\x04", "false\r\n/ # ")
		assert.EqualValues(t, 1, <-codes)
		k = run("sleep", "1000")
		k.typeKeys(t, "\x03", "")
		assert.EqualValues(t, 130, <-codes)
		require.Zero(t, r.Waiters())
	})
}

// The commands of kubectl cp: files come back unchanged, belong to one container, and are removed
// with it.
func TestExecStream_Copy(t *testing.T) {
	r := memory.New(memory.Config{})
	ref, sandbox := createSandbox(t, r, "a", nil)
	id, other := startContainer(t, r, ref, sandbox, "main", 0), startContainer(t, r, ref, sandbox, "other", 0)
	code, archive, _ := inContainer(t, r, id, nil, "tar", "cf", "-", "-C", "/", "etc")
	require.Zero(t, code)
	code, _, fault := inContainer(t, r, id, strings.NewReader(archive), "tar", "--no-same-permissions", "--no-same-owner", "-xmf", "-", "-C", "/tmp/in")
	require.Zero(t, code, fault)
	_, out, _ := inContainer(t, r, id, nil, "ls", "/tmp/in")
	assert.Equal(t, "etc\n", out)
	r.SetCommand(memory.Selector{}, "write", func(_ context.Context, p *memory.Process) int32 {
		text, err := io.ReadAll(p.Stdin)
		if err != nil || p.WriteFile("data/"+p.Args[1], text) != nil {
			return 1
		}
		return 0
	})
	text := strings.Repeat("0123456789abcde\n", 1<<16)
	code, _, _ = inContainer(t, r, id, strings.NewReader(text), "write", "big")
	require.Zero(t, code)
	_, archive, _ = inContainer(t, r, id, nil, "tar", "cf", "-", "/data/big")
	code, _, _ = inContainer(t, r, other, strings.NewReader(archive), "tar", "xmf", "-", "-C", "/tmp")
	require.Zero(t, code)
	_, out, _ = inContainer(t, r, other, nil, "cat", "/tmp/data/big")
	assert.True(t, text == out)
	for _, c := range [][]string{{"tar", "cf", "-", "/tmp/data"}, {"cat", "data/big", "none"}} {
		in := id
		if c[0] == "tar" {
			c[3] = "/none"
		}
		code, _, fault := inContainer(t, r, in, nil, c...)
		assert.EqualValues(t, 1, code)
		assert.Contains(t, fault, "none\": No such file or directory\n")
	}
	code, _, fault = inContainer(t, r, id, strings.NewReader(strings.Repeat("x", 1000)), "tar", "xf", "-")
	assert.Equal(t, "1 tar: archive/tar: invalid tar header\n", fmt.Sprint(code, " ", fault))
	code, _, _ = inContainer(t, r, id, nil, "tar", "tf", "-")
	assert.EqualValues(t, 1, code)
	assert.Greater(t, r.FileBytes(), 2<<20)
	require.NoError(t, r.LoseContainer(id))
	require.NoError(t, r.LoseContainer(other))
	assert.Zero(t, r.FileBytes())
}

// A program of SetCommand gets all streams, runs only in selected containers, also within a shell,
// and may leave goroutines behind.
func TestSetCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := createSandbox(t, r, "a", nil)
		id := startContainer(t, r, ref, sandbox, "main", 0)
		say := func(text string) memory.Command {
			return func(_ context.Context, p *memory.Process) int32 {
				fmt.Fprint(p.Stdout, text, p.Args[1:], p.Container, p.TTY)
				return 4
			}
		}
		run := func(command ...string) string {
			code, out, _ := inContainer(t, r, id, nil, command...)
			return fmt.Sprint(code, " ", out)
		}
		r.SetCommand(memory.Selector{}, "psql", say("all"))
		r.SetCommand(memory.Selector{Container: "other"}, "psql", say("other"))
		assert.Equal(t, "4 all[-l]mainfalse", run("/usr/bin/psql", "-l"))
		assert.Equal(t, "4 all[]mainfalse", run("sh", "-c", "psql"))
		r.SetCommand(memory.Selector{Container: "main"}, "psql", say("main"))
		r.SetCommand(memory.Selector{}, "cat", say("cat"))
		assert.Equal(t, "4 main[]mainfalse", run("psql"))
		assert.Equal(t, "4 cat[]mainfalse", run("cat"))
		r.SetCommand(memory.Selector{Container: "main"}, "psql", nil)
		r.SetCommand(memory.Selector{}, "cat", nil)
		assert.Equal(t, "4 all[]mainfalse", run("psql"))
		assert.Equal(t, "0 ", run("cat"))
		res, err := r.Exec(t.Context(), runtime.ExecRequest{ContainerID: id, Command: []string{"psql"}, OutputLimit: 5})
		require.NoError(t, err)
		assert.Equal(t, runtime.ExecResult{ExitCode: 4, Output: []byte("all[]")}, res)

		r.SetCommand(memory.Selector{}, "hang", func(ctx context.Context, p *memory.Process) int32 {
			size, ok := p.Resized(ctx)
			fmt.Fprint(p.Stdout, size.Rows, ok)
			<-ctx.Done()
			_, err := p.Stdin.Read(make([]byte, 1))
			assert.ErrorIs(t, err, context.Canceled)
			return 5
		})
		for end, want := range map[string]int32{"\x03": 130, "stop": 137} {
			id := startContainer(t, r, ref, sandbox, "main", uint32(want))
			k, streams := newTerminal(t)
			time.AfterFunc(time.Second, func() {
				if end == "stop" {
					assert.NoError(t, r.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: id}))
					return
				}
				_, err := io.WriteString(k, end)
				assert.NoError(t, err)
			})
			code, err := r.ExecStream(t.Context(), runtime.ExecStreamRequest{ContainerID: id, TTY: true, Command: []string{"hang"}}, streams)
			require.NoError(t, err)
			assert.Equal(t, want, code)
			assert.Equal(t, "24 true", k.screen.String())
		}
	})
}

// startAttachable starts a container with an input.
func startAttachable(t *testing.T, r *memory.Runtime, uid string, once bool, command ...string) (runtime.PodRef, string) {
	ref, sandbox := createSandbox(t, r, uid, nil)
	id, err := r.CreateContainer(t.Context(), runtime.CreateContainerRequest{
		Pod: ref, SandboxID: sandbox, Name: "main", Image: "busybox", Command: command, Stdin: true, StdinOnce: once,
	})
	require.NoError(t, err)
	require.NoError(t, r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}))
	return ref, id
}

// A client that attaches with stdin starts an interactive command and stops it by detaching. The
// output is in the log.
func TestAttach_Input(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		for i, c := range []struct {
			command []string
			in, out string
			code    int32
		}{
			{[]string{"cat"}, "one\ntwo", "one\ntwo", 0},
			{[]string{"sh", "-c", "echo ready; cat; exit 3"}, "one\n", "one\n", 3},
			{[]string{"sh", "-c", "trap 'exit 143' TERM; exec cat; echo no"}, "one\n", "one\n", 0},
			{[]string{"sh"}, "echo hello\nexit 5\n", "hello\n", 5},
		} {
			ref, id := startAttachable(t, r, fmt.Sprint(i), true, c.command...)
			time.Sleep(time.Second)
			var out, log strings.Builder
			require.NoError(t, r.Attach(t.Context(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{Stdin: strings.NewReader(c.in), Stdout: &out}))
			assert.Equal(t, c.out, out.String())
			st := containerStatus(t, r, ref, id)
			assert.Equal(t, runtime.StateExited, st.State)
			assert.Equal(t, c.code, st.ExitCode)
			require.NoError(t, r.ReadLog(t.Context(), runtime.ReadLogRequest{ContainerID: id}, &log))
			assert.Contains(t, log.String(), strings.SplitAfter(c.out, "\n")[0])
		}
		require.Zero(t, r.Waiters())
	})
}

// A client does not end an input that stays open, nor the container. A container that is scripted,
// has no stdin or does not read, ignores the input.
func TestAttach_InputStaysOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		r.SetScript(memory.Selector{Name: "scripted"}, memory.Script{Runs: []memory.Run{{Forever: true, Print: []memory.Line{{After: 30 * time.Second, Text: "scripted"}}}}})
		for name, c := range map[string]struct {
			command []string
			out     string
		}{
			"open": {[]string{"cat"}, "text"}, "scripted": {[]string{"cat"}, "scripted\n"}, "deaf": {[]string{"sleep", "inf"}, ""},
			"never": {[]string{"sh", "-c", "sleep inf; cat"}, ""}, "unknown": {[]string{"nginx"}, ""}, "unread": {[]string{"sh", "-c", "cat | wc"}, ""},
		} {
			ref, id := startAttachable(t, r, name, false, c.command...)
			time.Sleep(time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
			var out strings.Builder
			err := r.Attach(ctx, runtime.AttachRequest{ContainerID: id}, runtime.Streams{Stdin: strings.NewReader("text"), Stdout: &out})
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, c.out, out.String(), name)
			assert.Equal(t, runtime.StateRunning, containerStatus(t, r, ref, id).State)
			gone := errors.New("client disconnected")
			if name == "open" {
				err := r.Attach(t.Context(), runtime.AttachRequest{ContainerID: id}, runtime.Streams{Stdin: strings.NewReader("text"), Stdout: brokenPipe{gone}})
				require.ErrorIs(t, err, gone)
				assert.Equal(t, runtime.StateRunning, containerStatus(t, r, ref, id).State)
			}
		}
		ref, sandbox := createSandbox(t, r, "none", nil)
		id := startContainer(t, r, ref, sandbox, "main", 0, "cat")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var out strings.Builder
		require.ErrorIs(t, r.Attach(ctx, runtime.AttachRequest{ContainerID: id}, runtime.Streams{Stdin: strings.NewReader("text"), Stdout: &out}), context.DeadlineExceeded)
		assert.Empty(t, out.String())
		require.Zero(t, r.Waiters())
	})
}
