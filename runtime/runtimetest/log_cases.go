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
	{"log/order", "a log is what the container printed, in order", logOrder},
	{"log/tail", "the tail of a log is its last lines", logTail},
	{"log/since", "a log since a time leaves out what was printed before", logSince},
	{"log/timestamps", "a log with timestamps has the time at which each line was printed", logTimestamps},
	{"log/follow", "who follows a log gets each line when it comes, until the container ends", logFollow},
	{"log/follow-context", "the end of the context ends the following of a log", logFollowContext},
	{"log/reopen", "a log that is reopened where it is loses nothing and doubles nothing, as long as the container runs", logReopen},
	{"log/reopen-unknown", "reopening the log of an unknown container is ErrNotFound", logReopenUnknown},
	{"log/file", "a LogReopener writes a file at LogPath, in the format of runtime.CreateContainerRequest.LogPath", logFile},
	{"log/unknown", "the log of an unknown container is ErrNotFound", logUnknown},
}

func logReader(b *bench) (runtime.LogReader, bool) {
	return feature(b, b.features().LogReader, "LogReader")
}

// text is an io.Writer that can be looked at while it is written.
type text struct {
	mu  sync.Mutex
	all strings.Builder
}

// Write implements io.Writer.
func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.String()
}

// log reads a log that is complete.
func (b *bench) log(l runtime.LogReader, req runtime.ReadLogRequest) string {
	b.Helper()
	var t text
	b.Must(l.ReadLog(b.ctx, req, &t), "ReadLog")
	return t.String()
}

// hasPrinted is a container that has printed its lines and ended.
func (b *bench) hasPrinted() runtime.ContainerStatus {
	b.Helper()
	ref, _, id := b.run(b.h.Print(printed, 3))
	return b.exited(ref, id)
}

func logOrder(b *bench) {
	l, ok := logReader(b)
	if !ok {
		return
	}
	c := b.hasPrinted()
	for range 2 {
		got := b.log(l, runtime.ReadLogRequest{ContainerID: c.ID})
		b.Check(got == printedText, "it printed %q, the log is %q", printedText, got)
	}
}

func logTail(b *bench) {
	l, ok := logReader(b)
	if !ok {
		return
	}
	c := b.hasPrinted()
	for tail, want := range []string{printedText, "three\n", "two\nthree\n", printedText, printedText} {
		got := b.log(l, runtime.ReadLogRequest{ContainerID: c.ID, Tail: tail})
		b.Check(got == want, "a tail of %d is %q", tail, got)
	}
}

func logSince(b *bench) {
	l, ok := logReader(b)
	if !ok {
		return
	}
	c := b.hasPrinted()
	got := b.log(l, runtime.ReadLogRequest{ContainerID: c.ID, Since: c.CreatedAt})
	b.Check(got == printedText, "since it was created it printed %q", got)
	got = b.log(l, runtime.ReadLogRequest{ContainerID: c.ID, Since: b.executor.Now().Add(time.Second)})
	b.Check(got == "", "after its end it printed %q", got)
}

func logTimestamps(b *bench) {
	l, ok := logReader(b)
	if !ok {
		return
	}
	c := b.hasPrinted()
	lines := strings.SplitAfter(b.log(l, runtime.ReadLogRequest{ContainerID: c.ID, Timestamps: true}), "\n")
	var text strings.Builder
	last := c.CreatedAt
	for _, line := range lines[:len(lines)-1] {
		n := strings.IndexByte(line, ' ') + 1
		at, err := time.Parse(runtime.LogTimestamp, line[:n])
		b.Check(err == nil && !at.Before(last), "after %v it says %q", last, line)
		last = at
		text.WriteString(line[n:])
	}
	b.Check(text.String() == printedText, "it printed %q, the log with timestamps is %q", printedText, text.String())
}

// following is a log that somebody else follows.
type following struct {
	executor.Latch
	text
	err error // once open
}

func (b *bench) follow(ctx context.Context, l runtime.LogReader, id string) *following {
	f := &following{Latch: b.executor.NewLatch()}
	b.others.Go(func() {
		f.err = l.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: id, Follow: true}, &f.text)
		f.Open()
	})
	return f
}

func logFollow(b *bench) {
	l, ok := logReader(b)
	if !ok {
		return
	}
	ref, _, id := b.run(b.h.Print(printed, 3))
	f := b.follow(b.ctx, l, id)
	b.until("the first line comes", func() bool { return f.String() != "" })
	b.Check(b.container(ref, id).State == runtime.StateRunning, "no line came before the end")
	b.until("ReadLog returns", f.Opened)
	b.Must(f.err, "ReadLog")
	c := b.container(ref, id)
	b.Check(c.State == runtime.StateExited, "the container is %s, and nobody follows it any more", c.State)
	b.Check(f.String() == printedText, "it printed %q, who followed got %q", printedText, f.String())
}

func logFollowContext(b *bench) {
	l, ok := logReader(b)
	if !ok {
		return
	}
	ref, _, id := b.run(b.h.Forever)
	ctx, cancel := executor.WithCancel(b.ctx)
	defer cancel()
	f := b.follow(ctx, l, id)
	b.sleep(time.Second)
	b.Check(!f.Opened(), "ReadLog returned while the container runs: %v", f.err)
	cancel()
	b.until("ReadLog returns", f.Opened)
	b.Check(b.container(ref, id).State == runtime.StateRunning, "the container ended with it")
}

func logUnknown(b *bench) {
	l, ok := logReader(b)
	if !ok {
		return
	}
	for _, follow := range []bool{false, true} {
		err := l.ReadLog(b.ctx, runtime.ReadLogRequest{ContainerID: b.name + "-no-such-container", Follow: follow}, &text{})
		b.is(err, runtime.ErrNotFound, "ReadLog")
	}
}

// reopen reopens a log, or skips the case if the runtime has none in files.
func (b *bench) reopen(l runtime.LogReopener, id string) (ok bool, err error) {
	err = l.ReopenContainerLog(b.ctx, id)
	if errors.Is(err, runtime.ErrUnsupported) {
		b.Skipf("the runtime says: %v", err)
		return false, err
	}
	return true, err
}

func logReopen(b *bench) {
	o, isOpener := feature(b, b.features().LogReopener, "LogReopener")
	l, isReader := logReader(b)
	if !isOpener || !isReader {
		return
	}
	ref, _, id := b.run(b.h.Print(printed, 3))
	f := b.follow(b.ctx, l, id)
	b.until("the first line comes", func() bool { return f.String() != "" })
	ok, err := b.reopen(o, id)
	if !ok {
		return
	}
	b.Must(err, "ReopenContainerLog")
	b.until("ReadLog returns", f.Opened)
	b.exited(ref, id)
	got := b.log(l, runtime.ReadLogRequest{ContainerID: id})
	b.Check(got == printedText && f.String() == printedText, "it printed %q, who followed got %q, the log is %q", printedText, f.String(), got)
	_, err = b.reopen(o, id)
	b.is(err, runtime.ErrWrongState, "ReopenContainerLog")
}

func logReopenUnknown(b *bench) {
	o, ok := feature(b, b.features().LogReopener, "LogReopener")
	if !ok {
		return
	}
	if ok, err := b.reopen(o, b.name+"-no-such-container"); ok {
		b.is(err, runtime.ErrNotFound, "ReopenContainerLog")
	}
}

// logEntry is a line of a log file.
var logEntry = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) (F|P) (.*)$`)

func logFile(b *bench) {
	o, ok := feature(b, b.features().LogReopener, "LogReopener")
	if !ok {
		return
	}
	if b.h.LogDir == "" {
		b.Skipf("the harness has no directory for logs")
		return
	}
	ref, _, id := b.run(b.h.Print(printed, 3))
	if ok, err := b.reopen(o, id); !ok { // It is one by name only.
		return
	} else {
		b.Must(err, "ReopenContainerLog")
	}
	c := b.exited(ref, id)
	text, err := os.ReadFile(filepath.Join(b.h.LogDir, logPath(ref, "main", 0)))
	b.Must(err, "reading the file at LogPath")
	var got strings.Builder
	last := c.CreatedAt
	for line := range strings.Lines(string(text)) {
		entry := logEntry.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		b.Check(entry != nil && strings.HasSuffix(line, "\n"), "a line of the file is %q", line)
		at, err := time.Parse(time.RFC3339Nano, entry[1])
		b.Check(err == nil && !at.Before(last), "after %v it says %q", last, line)
		last = at
		b.Check((entry[2] == "stderr") == (entry[4] == printed[1]), "the stream is wrong: %q", line)
		got.WriteString(entry[4])
		if entry[3] == "F" { // The last part of a line.
			got.WriteByte('\n')
		}
	}
	b.Check(got.String() == printedText, "it printed %q, the file is %q", printedText, text)
}
