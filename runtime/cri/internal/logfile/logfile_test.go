package logfile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime/cri/internal/logfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const at = "2026-11-21T12:00:00.000000001Z "

func line(text string) string { return at + "stdout F " + text + "\n" }

// written is a file with that content.
func written(t *testing.T, content string) string {
	path := filepath.Join(t.TempDir(), "0.log")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func add(t *testing.T, path, content string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(content)
	require.NoError(t, errors.Join(err, f.Close()))
}

func always(over bool) func(context.Context) bool {
	return func(context.Context) bool { return over }
}

func read(t *testing.T, req logfile.Request) string {
	t.Helper()
	if req.HasExited == nil {
		req.HasExited = always(true)
	}
	req.Executor = executor.Over(nil)
	var out strings.Builder
	require.NoError(t, logfile.Read(t.Context(), req, &out))
	return out.String()
}

func TestRead_Whole(t *testing.T) {
	path := written(t, line("a")+line("b")+at+"stdout F torn")
	assert.Equal(t, "a\nb\ntorn", read(t, logfile.Request{Path: path}))
	assert.Equal(t, "a\nb\n", read(t, logfile.Request{Path: path, HasExited: always(false)}), "the end of the line may come yet")
	assert.Empty(t, read(t, logfile.Request{Path: path, Since: time.Date(2026, 11, 21, 12, 0, 1, 0, time.UTC)}))
}

// counted counts the bytes that are read through it.
type counted struct {
	io.ReaderAt
	n int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	c.n += len(p)
	return c.ReaderAt.ReadAt(p, off)
}

// The lines of every length and at every place, over the edges of blocks, are the
// same as the lines of the whole file.
func TestRead_Tail(t *testing.T) {
	for _, length := range []int{0, 1, 100, 9_000, 32<<10 - 41, 32<<10 - 40, 32<<10 - 39, 70_000} {
		var file strings.Builder
		var want []string
		for i := range 12 {
			text := fmt.Sprint(i) + strings.Repeat("x", length)
			if i%3 == 0 {
				file.WriteString(at + "stderr P " + text + "\n")
				file.WriteString(at + "stderr P " + text + "\n")
				file.WriteString(at + "stderr F \n")
				text += text
			} else {
				file.WriteString(line(text))
			}
			file.WriteString("no line\n")
			want = append(want, text+"\n")
		}
		path := written(t, file.String())
		for n := 1; n <= 14; n++ {
			got := read(t, logfile.Request{Path: path, Tail: n})
			require.Equal(t, strings.Join(want[max(0, 12-n):], ""), got, "%d lines of length %d", n, length)
		}
	}
	path := written(t, line("a")+line("b")+at+"stdout P begun\n")
	assert.Equal(t, "b\nbegun", read(t, logfile.Request{Path: path, Tail: 2}), "an incomplete line is a line")
	assert.Empty(t, read(t, logfile.Request{Path: written(t, ""), Tail: 2}))
	assert.Empty(t, read(t, logfile.Request{Path: written(t, "nothing of the kind\n"), Tail: 2}))
}

func TestLastLines_ReadsNoMoreThanNeedBe(t *testing.T) {
	file := strings.Repeat(line(strings.Repeat("x", 100)), 100_000)
	c := &counted{ReaderAt: strings.NewReader(file)}
	_, err := logfile.LastLines(t.Context(), c, int64(len(file)), 10)
	require.NoError(t, err)
	assert.LessOrEqual(t, c.n, 64<<10)
}

// The rest of a log, which may be long, is not searched for a reader that has gone.
func TestLastLines_EndsWithTheContext(t *testing.T) {
	file := strings.Repeat(line(strings.Repeat("x", 100)), 10_000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &counted{ReaderAt: strings.NewReader(file)}
	_, err := logfile.LastLines(ctx, c, int64(len(file)), 10_000)
	require.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, c.n)
	err = logfile.Read(ctx, logfile.Request{Path: written(t, file), Tail: 1, HasExited: always(true), Executor: executor.Over(nil)}, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestRead_EndsWithItsReader(t *testing.T) {
	path := written(t, line("a"))
	for _, follow := range []bool{false, true} {
		err := logfile.Read(t.Context(), logfile.Request{Path: path, Follow: follow, HasExited: always(false), Executor: executor.Over(nil)}, broken{})
		require.ErrorIs(t, err, io.ErrClosedPipe)
	}
}

// follower is a log that is followed in a bubble.
type follower struct {
	mu    sync.Mutex
	out   strings.Builder
	over  atomic.Bool
	asked atomic.Int32
	ended chan error
}

func (f *follower) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.Write(p)
}

// after waits half a second in a bubble, and returns the output since the last call.
func (f *follower) after() string {
	time.Sleep(500 * time.Millisecond)
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.out.Reset()
	return f.out.String()
}

func follow(ctx context.Context, path string, tail int) *follower {
	f := &follower{ended: make(chan error, 1)}
	go func() {
		f.ended <- logfile.Read(ctx, logfile.Request{Path: path, Tail: tail, Follow: true, Executor: executor.Over(nil), HasExited: func(context.Context) bool {
			f.asked.Add(1)
			return f.over.Load()
		}}, f)
	}()
	return f
}

func TestRead_Follow(t *testing.T) {
	path := written(t, line("a")+line("b"))
	synctest.Test(t, func(t *testing.T) {
		f := follow(t.Context(), path, 1)
		assert.Equal(t, "b\n", f.after())
		add(t, path, line("c")+at+"stdout F d")
		assert.Equal(t, "c\n", f.after())
		add(t, path, "d\n")
		assert.Equal(t, "dd\n", f.after())
		for range 120 {
			assert.Empty(t, f.after())
		}
		assert.InDelta(t, 61, f.asked.Load(), 2, "the runtime is asked once a second")
		add(t, path, line("e")+at+"stdout P f\n"+at+"stdo")
		f.over.Store(true)
		require.NoError(t, <-f.ended)
		assert.Equal(t, "e\nf", f.after())
	})
}

func TestRead_FollowUntilTheContextEnds(t *testing.T) {
	path := written(t, line("a"))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := follow(ctx, path, 0)
		assert.Equal(t, "a\n", f.after())
		cancel()
		require.ErrorIs(t, <-f.ended, context.Canceled)
	})
}

// F95: a runtime that was told to reopen a log has made the new file, and written to
// it, before the last lines are in the old one.
func TestRead_F95_FollowsTheOldFileToItsEnd(t *testing.T) {
	path := written(t, line("a"))
	synctest.Test(t, func(t *testing.T) {
		f := follow(t.Context(), path, 0)
		assert.Equal(t, "a\n", f.after())
		require.NoError(t, os.Rename(path, path+".1"))
		add(t, path, line("d")+at+"stdout P half a ")
		for _, late := range []string{"b", "c"} {
			time.Sleep(190 * time.Millisecond) // Each comes before the next look.
			add(t, path+".1", line(late))
		}
		f.over.Store(true)
		require.NoError(t, <-f.ended)
		assert.Equal(t, "b\nc\nd\nhalf a ", f.after())
	})
}

// F95: a reader that opens a log between the two steps of a rotation gets it a moment later. The log of an exited
// container, or a log that does not appear, is an error.
func TestRead_F95_WhileThereIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		none := func(over bool) error {
			return logfile.Read(t.Context(), logfile.Request{Path: path, HasExited: always(over), Executor: executor.Over(nil)}, io.Discard)
		}
		require.ErrorIs(t, none(true), fs.ErrNotExist)
		assert.Zero(t, time.Since(began))
		require.ErrorIs(t, none(false), fs.ErrNotExist)
		assert.Equal(t, time.Second, time.Since(began))
		go func() {
			time.Sleep(500 * time.Millisecond)
			add(t, path, line("a"))
		}()
		assert.Equal(t, "a\n", read(t, logfile.Request{Path: path, HasExited: always(false)}))
	})
}

func TestRead_FollowsWhatTakesThePlaceOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	synctest.Test(t, func(t *testing.T) {
		f := follow(t.Context(), path, 1)
		assert.Empty(t, f.after(), "there is none yet")
		add(t, path, line("a")+line("b"))
		assert.Equal(t, "a\nb\n", f.after(), "all of it is new")

		require.NoError(t, os.Rename(path, path+".1"))
		add(t, path+".1", line("c")+at+"stdout F torn")
		assert.Equal(t, "c\n", f.after(), "the next one has not come")
		add(t, path+".1", line(""))
		add(t, path, line("d"))
		assert.Equal(t, "torn"+at+"stdout F \nd\n", f.after(), "the old one to its end, then the new one")

		require.NoError(t, os.Rename(path, path+".2"))
		add(t, path+".2", at+"stdout F half")
		add(t, path, line("e"))
		assert.Equal(t, "e\n", f.after(), "the half of a line does not get into the next file")

		require.NoError(t, os.Truncate(path, 0))
		add(t, path, line("f"))
		assert.Empty(t, f.after(), "a file that is as long as it was looks as it did")
		require.NoError(t, os.Truncate(path, 0))
		assert.Empty(t, f.after())
		add(t, path, line("g"))
		assert.Equal(t, "g\n", f.after())
		f.over.Store(true)
		require.NoError(t, <-f.ended)
	})
}
