package console

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// untilDone is an Ended that never is.
func untilDone(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// open connects a process with a client that types.
func open(t *testing.T, tty bool) (ctx context.Context, c *Console, keys *io.PipeWriter, screen *strings.Builder) {
	in, keys := io.Pipe()
	screen = &strings.Builder{}
	ctx, c = Open(t.Context(), Config{
		Executor: executor.Over(nil), TTY: tty, Client: runtime.Streams{Stdin: in, Stdout: screen}, Ended: untilDone,
	})
	t.Cleanup(func() { c.Close(); _ = keys.Close() })
	return ctx, c, keys, screen
}

// A terminal echoes, edits, and gives lines, and Ctrl-D ends them.
func TestTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, keys, screen := open(t, true)
		for typed, want := range map[string]string{
			"one\r": "one\n", "two\n": "two\n", "thre\x7fee\r": "three\n", "\x7f\x7fé\bx\r": "x\n", "a\x1b\x00\tb\r": "a\tb\n",
			"half\x04": "half", "\x04": "", strings.Repeat("x", 3000) + "\r": strings.Repeat("x", 3000) + "\n",
		} {
			screen.Reset()
			_, err := io.WriteString(keys, typed)
			require.NoError(t, err)
			synctest.Wait()
			assert.Empty(t, screen.String(), "it echoes only keys that were read")
			buf := make([]byte, 1<<14)
			n, err := c.Stdin.Read(buf)
			assert.Equal(t, map[bool]error{true: io.EOF}[typed == "\x04"], err)
			assert.Equal(t, want, string(buf[:n]), "%q", typed)
			if typed == "thre\x7fee\r" {
				assert.Equal(t, "thre\b \bee\r\n", screen.String())
			}
		}
	})
}

// Ctrl-C terminates the process, or the foreground command, or is read as an empty line. The console drops input that
// was typed before it, and input beyond the limit.
func TestTerminal_Interrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, c, keys, screen := open(t, true)
		typing := func(text string) {
			_, err := io.WriteString(keys, text)
			require.NoError(t, err)
			synctest.Wait()
		}
		ended := 0
		c.SetInterruptHandler(func() { ended++ })
		typing("sleep\x03\x03")
		assert.Equal(t, 2, ended)
		c.SetInterruptHandler(nil)
		typing("lost\x03next\r")
		lines := bufio.NewReaderSize(c.Stdin, 1<<14)
		for _, want := range []string{"\n", "next\n"} {
			got, err := lines.ReadString('\n')
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
		assert.Equal(t, "^C\r\nnext\r\n", screen.String())
		for range 10 {
			typing(strings.Repeat("x", 1000))
		}
		held := c.Stdin.(*lineTerminal).in.(*reader).in
		assert.Len(t, held.mu.held, maxTypedBytes)
		typing("\x03\x03y\r")
		got, err := lines.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "\n", got)
		assert.False(t, c.Interrupted())
		c.SetInterruptHandler(c.interruptProcess)
		typing("\x03")
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		assert.True(t, c.Interrupted())
		_, err = lines.ReadString('\n')
		require.NoError(t, err, "the line from before")
		_, err = c.Stdin.Read(make([]byte, 1))
		require.ErrorIs(t, err, context.Canceled)
		_, err = c.Stdout.Write(nil)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// Without a terminal nothing is changed, and a client waits until what it sent is read.
func TestConsole_Pipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, keys, screen := open(t, false)
		var sent int
		go func() {
			for range 100 {
				n, err := keys.Write(make([]byte, 10_000))
				sent += n
				if err != nil {
					return
				}
			}
			_ = keys.Close()
		}()
		synctest.Wait()
		assert.LessOrEqual(t, sent, 2*readBufferSize, "the rest is the client's to keep")
		text, err := io.ReadAll(c.Stdin)
		require.NoError(t, err)
		assert.Len(t, text, 1_000_000)
		_, err = io.WriteString(c.Stdout, "a\nb\x03\r")
		require.NoError(t, err)
		assert.Equal(t, "a\nb\x03\r", screen.String())
		n, err := c.Stderr.Write([]byte("dropped"))
		require.NoError(t, err)
		assert.Equal(t, 7, n)
	})
}

type broken struct{}

var errBroken = errors.New("broken pipe")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// A process ends when its context ends or Ended returns true, and a Read that has begun ends too. Without a client,
// Read returns no input.
func TestConsole_Ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		ctx, c := Open(t.Context(), Config{
			Executor: executor.Over(nil), Ended: func(context.Context) error { <-over; return nil }, StaysOpen: true,
			Client: runtime.Streams{Stdin: strings.NewReader("all"), Stdout: broken{}},
		})
		read := make(chan string)
		go func() {
			text, err := io.ReadAll(c.Stdin)
			assert.ErrorIs(t, err, context.Canceled)
			read <- string(text)
		}()
		synctest.Wait()
		_, err := c.Stdout.Write([]byte("x"))
		require.ErrorIs(t, err, errBroken)
		require.NoError(t, ctx.Err())
		close(over)
		assert.Equal(t, "all", <-read)
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		c.Close()
		require.ErrorIs(t, c.Err(), errBroken)

		_, c = Open(t.Context(), Config{Executor: executor.Over(nil), Ended: untilDone})
		text, err := io.ReadAll(c.Stdin)
		require.NoError(t, err)
		assert.Empty(t, text)
		_, ok := c.Size(t.Context())
		assert.False(t, ok)
		c.Close()
	})
}

// Resized returns a size once, and Size returns it again and again.
func TestConsole_Sizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sizes := make(chan runtime.TerminalSize)
		_, c := Open(t.Context(), Config{Executor: executor.Over(nil), Ended: untilDone, TTY: true, Client: runtime.Streams{
			Resized: func(ctx context.Context) (size runtime.TerminalSize, ok bool) {
				select {
				case size, ok = <-sizes:
				case <-ctx.Done():
				}
				return size, ok
			},
		}})
		for rows := uint16(1); rows < 4; rows++ {
			go func() { sizes <- runtime.TerminalSize{Columns: 80, Rows: rows} }()
			for range 2 {
				synctest.Wait()
				size, ok := c.Size(t.Context())
				require.True(t, ok)
				assert.Equal(t, rows, size.Rows)
			}
			size, ok := c.Resized(t.Context())
			require.True(t, ok)
			assert.Equal(t, rows, size.Rows)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, ok := c.Resized(ctx)
		assert.False(t, ok, "no other one has come")
		close(sizes)
		_, ok = c.Resized(t.Context())
		assert.False(t, ok)
		c.Close()
	})
}
