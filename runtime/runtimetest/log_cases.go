package runtimetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

var logCases = []Case{
	{"log/order", "a log has all lines that the container printed, in order", checkLogOrder},
	{"log/tail", "Tail returns the last lines of a log", checkLogTail},
	{"log/since", "Since omits the lines printed before that time", checkLogSince},
	{"log/timestamps", "Timestamps starts each line with the time at which it was printed", checkLogTimestamps},
	{"log/follow", "Follow returns each line as soon as it is printed, until the container exits", checkLogFollow},
	{"log/follow-context", "ReadLog with Follow returns when its context ends", checkLogFollowStopsWithContext},
	{"log/reopen", "reopening the log of a running container at the same path loses and repeats no line", checkLogReopen},
	{"log/reopen-unknown", "reopening the log of an unknown container is ErrNotFound", checkLogReopenUnknown},
	{"log/file", "a LogReopener writes a file at LogPath, in the format of runtime.CreateContainerRequest.LogPath", checkLogFile},
	{"log/unknown", "the log of an unknown container is ErrNotFound", checkLogOfUnknownContainer},
}

func logReaderOrSkip(b *bench) (runtime.LogReader, bool) {
	return roleOrSkip(b, b.features().LogReader, "LogReader")
}

// safeBuffer is an io.Writer whose content can be read while it is written.
type safeBuffer struct {
	mu      sync.Mutex
	content strings.Builder
}

// Write implements io.Writer.
func (t *safeBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.content.Write(p)
}

func (t *safeBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.content.String()
}

// readLog returns the present log of a container. It fails the case on an error.
func (b *bench) readLog(l runtime.LogReader, req runtime.ReadLogRequest) string {
	b.Helper()
	var t safeBuffer
	b.Must(l.ReadLog(b.ctx, req, &t), "ReadLog")
	return t.String()
}

// runPrintToExit runs a container that prints printLines and exits with code 3, and returns its status after
// the exit.
func (b *bench) runPrintToExit() runtime.ContainerStatus {
	b.Helper()
	ref, _, id := b.runContainer(b.h.Print(printLines, 3))
	return b.waitForExit(ref, id)
}

func checkLogOrder(b *bench) {
	l, ok := logReaderOrSkip(b)
	if !ok {
		return
	}
	c := b.runPrintToExit()
	for range 2 {
		got := b.readLog(l, runtime.ReadLogRequest{ContainerID: c.ID})
		b.Check(got == printOutput, "the container printed %q, but its log is %q", printOutput, got)
	}
}

func checkLogTail(b *bench) {
	l, ok := logReaderOrSkip(b)
	if !ok {
		return
	}
	c := b.runPrintToExit()
	for tail, want := range []string{printOutput, "three\n", "two\nthree\n", printOutput, printOutput} {
		got := b.readLog(l, runtime.ReadLogRequest{ContainerID: c.ID, Tail: tail})
		b.Check(got == want, "ReadLog with Tail %d returned %q, want %q", tail, got, want)
	}
}

func checkLogSince(b *bench) {
	l, ok := logReaderOrSkip(b)
	if !ok {
		return
	}
	c := b.runPrintToExit()
	got := b.readLog(l, runtime.ReadLogRequest{ContainerID: c.ID, Since: c.CreatedAt})
	b.Check(got == printOutput, "ReadLog since the creation of the container returned %q, want all lines", got)
	got = b.readLog(l, runtime.ReadLogRequest{ContainerID: c.ID, Since: b.executor.Now().Add(time.Second)})
	b.Check(got == "", "ReadLog since a time after the exit returned %q, want nothing", got)
}

func checkLogTimestamps(b *bench) {
	l, ok := logReaderOrSkip(b)
	if !ok {
		return
	}
	c := b.runPrintToExit()
	lines := strings.SplitAfter(b.readLog(l, runtime.ReadLogRequest{ContainerID: c.ID, Timestamps: true}), "\n")
	var text strings.Builder
	last := c.CreatedAt
	for _, line := range lines[:len(lines)-1] {
		n := strings.IndexByte(line, ' ') + 1
		at, err := time.Parse(runtime.LogTimestamp, line[:n])
		b.Check(err == nil && !at.Before(last), "a line with a time not before %v was expected; the line is %q", last, line)
		last = at
		text.WriteString(line[n:])
	}
	b.Check(text.String() == printOutput, "the container printed %q, but its log with timestamps has the text %q", printOutput, text.String())
}

// followedLog is a log that a background goroutine follows.
type followedLog struct {
	executor.Latch
	safeBuffer
	err error // valid after the latch is open
}

// followLog starts in the background a ReadLog call that follows the log of a container. It returns an object
// that gets each line, and the error when the call returns.
func (b *bench) followLog(ctx context.Context, l runtime.LogReader, id string) *followedLog {
	f := &followedLog{Latch: b.executor.NewLatch()}
	b.background.Go(func() {
		f.err = l.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: id, Follow: true}, &f.safeBuffer)
		f.Open()
	})
	return f
}

func checkLogFollow(b *bench) {
	l, ok := logReaderOrSkip(b)
	if !ok {
		return
	}
	ref, _, id := b.runContainer(b.h.Print(printLines, 3))
	f := b.followLog(b.ctx, l, id)
	b.waitFor("the first line arrives", func() bool { return f.String() != "" })
	b.Check(b.containerStatus(ref, id).State == runtime.StateRunning, "no line arrived while the container was running")
	b.waitFor("ReadLog returns", f.Opened)
	b.Must(f.err, "ReadLog")
	c := b.containerStatus(ref, id)
	b.Check(c.State == runtime.StateExited, "ReadLog with Follow returned while the container is %s", c.State)
	b.Check(f.String() == printOutput, "the container printed %q, but the follower received %q", printOutput, f.String())
}

func checkLogFollowStopsWithContext(b *bench) {
	l, ok := logReaderOrSkip(b)
	if !ok {
		return
	}
	ref, _, id := b.runContainer(b.h.Forever)
	ctx, cancel := executor.WithCancel(b.ctx)
	defer cancel()
	f := b.followLog(ctx, l, id)
	b.sleep(time.Second)
	b.Check(!f.Opened(), "ReadLog with Follow returned while the container runs: %v", f.err)
	cancel()
	b.waitFor("ReadLog returns", f.Opened)
	b.Check(b.containerStatus(ref, id).State == runtime.StateRunning, "the container does not run after the context of the call has ended")
}

func checkLogOfUnknownContainer(b *bench) {
	l, ok := logReaderOrSkip(b)
	if !ok {
		return
	}
	for _, follow := range []bool{false, true} {
		err := l.ReadLog(b.ctx, runtime.ReadLogRequest{ContainerID: b.name + "-no-such-container", Follow: follow}, &safeBuffer{})
		b.requireErrorIs(err, runtime.ErrNotFound, "ReadLog")
	}
}

// reopenLogOrSkip calls ReopenContainerLog and returns its error and true. If that error is ErrUnsupported, it
// skips the case and returns false.
func (b *bench) reopenLogOrSkip(l runtime.LogReopener, id string) (ok bool, err error) {
	err = l.ReopenContainerLog(b.ctx, id)
	if errors.Is(err, runtime.ErrUnsupported) {
		b.Skipf("the runtime returned: %v", err)
		return false, err
	}
	return true, err
}

func checkLogReopen(b *bench) {
	o, isOpener := roleOrSkip(b, b.features().LogReopener, "LogReopener")
	l, isReader := logReaderOrSkip(b)
	if !isOpener || !isReader {
		return
	}
	ref, _, id := b.runContainer(b.h.Print(printLines, 3))
	f := b.followLog(b.ctx, l, id)
	b.waitFor("the first line arrives", func() bool { return f.String() != "" })
	ok, err := b.reopenLogOrSkip(o, id)
	if !ok {
		return
	}
	b.Must(err, "ReopenContainerLog")
	b.waitFor("ReadLog returns", f.Opened)
	b.waitForExit(ref, id)
	got := b.readLog(l, runtime.ReadLogRequest{ContainerID: id})
	b.Check(got == printOutput && f.String() == printOutput, "the container printed %q, but the follower received %q and the log is %q", printOutput, f.String(), got)
	_, err = b.reopenLogOrSkip(o, id)
	b.requireErrorIs(err, runtime.ErrWrongState, "ReopenContainerLog")
}

func checkLogReopenUnknown(b *bench) {
	o, ok := roleOrSkip(b, b.features().LogReopener, "LogReopener")
	if !ok {
		return
	}
	if ok, err := b.reopenLogOrSkip(o, b.name+"-no-such-container"); ok {
		b.requireErrorIs(err, runtime.ErrNotFound, "ReopenContainerLog")
	}
}

// logLinePattern matches a line of a log file.
var logLinePattern = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) (F|P) (.*)$`)

func checkLogFile(b *bench) {
	o, ok := roleOrSkip(b, b.features().LogReopener, "LogReopener")
	if !ok {
		return
	}
	if b.h.LogDir == "" {
		b.Skipf("Harness.LogDir is empty")
		return
	}
	ref, _, id := b.runContainer(b.h.Print(printLines, 3))
	if ok, err := b.reopenLogOrSkip(o, id); !ok { // The runtime has the role, but does not support it.
		return
	} else {
		b.Must(err, "ReopenContainerLog")
	}
	c := b.waitForExit(ref, id)
	text, err := os.ReadFile(filepath.Join(b.h.LogDir, logPath(ref, "main", 0)))
	b.Must(err, "reading the file at LogPath")
	var got strings.Builder
	last := c.CreatedAt
	for line := range strings.Lines(string(text)) {
		entry := logLinePattern.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		b.Check(entry != nil && strings.HasSuffix(line, "\n"), "a line of the log file is not in the format of CreateContainerRequest.LogPath: %q", line)
		at, err := time.Parse(time.RFC3339Nano, entry[1])
		b.Check(err == nil && !at.Before(last), "a line with a time not before %v was expected; the line is %q", last, line)
		last = at
		b.Check((entry[2] == "stderr") == (entry[4] == printLines[1]), "the line has the wrong stream: %q", line)
		got.WriteString(entry[4])
		if entry[3] == "F" { // F is a full line or the last part of a line.
			got.WriteByte('\n')
		}
	}
	b.Check(got.String() == printOutput, "the container printed %q, but the log file is %q", printOutput, text)
}
