package memory

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// logReader is one open call of ReadLog.
type logReader struct {
	c          *container
	changed    executor.Event
	tail       int // how many of the lines present at the beginning; 0 is all
	since      time.Time
	timestamps bool
	linesRead  int
}

// ReadLog implements runtime.LogReader. The log is computed from the run and the current time. It
// is therefore no longer than the script or command.
func (r *Runtime) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	_, err := instrumentCall(ctx, r, "ReadLog", req, func(r *Runtime, ctx context.Context, req runtime.ReadLogRequest) (nothing, error) {
		return nothing{}, r.readLog(ctx, req, w)
	})
	return err
}

// readLog writes to w the log lines that a container has printed until now. If the request says follow, it then
// writes new lines until the container exits or is removed, or ctx ends.
func (r *Runtime) readLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	l, err := r.m.openLogReader(req, r.executor.NewEvent())
	if err != nil {
		return err
	}
	defer r.m.removeWaiterAndUnusedExtras(l.c, l.changed)
	for {
		text, next, over := r.m.readNewLines(l)
		if text != "" {
			if _, err := io.WriteString(w, text); err != nil {
				return fmt.Errorf("memory: log of container %s: %w", l.c.id, err)
			}
		}
		if over || !req.Follow {
			return nil
		}
		if err := waitForEvent(ctx, l.changed, next); err != nil {
			return err
		}
	}
}

// openLogReader returns a reader for the log of a container, and registers changed: the machine signals it when
// the container changes. It returns an error if the container is unknown or the runtime is not ready.
func (m *machine) openLogReader(req runtime.ReadLogRequest, changed executor.Event) (*logReader, error) {
	if _, err := m.lockIfReady(); err != nil {
		return nil, err
	}
	defer m.unlockAndSignal()
	c := m.mu.containers[req.ContainerID]
	if c == nil {
		return nil, fmt.Errorf("memory: container %s: %w", req.ContainerID, runtime.ErrNotFound)
	}
	used := c.ensureExtras()
	used.waiters = append(used.waiters, changed)
	return &logReader{c: c, changed: changed, tail: req.Tail, since: req.Since, timestamps: req.Timestamps}, nil
}

// readNewLines returns the log lines that were printed since the last call. The first call applies the tail
// limit; lines before the reader's since time are left out. next is when more lines may follow. ended reports
// that the container has exited or was removed.
func (m *machine) readNewLines(l *logReader) (text string, next time.Time, ended bool) {
	now := m.lockAndPublish()
	defer m.unlockAndSignal()
	lines, next := l.c.linesAndNextChangeAt(now)
	switch {
	case l.tail > 0:
		l.linesRead = max(0, len(lines)-l.tail)
	case l.tail == tailFromNow:
		l.linesRead = len(lines)
	}
	l.tail = 0
	var out strings.Builder
	for _, line := range lines[l.linesRead:] {
		if at := l.c.startAt.Add(line.After); !at.Before(l.since) {
			if l.timestamps {
				out.WriteString(at.Format(runtime.LogTimestamp))
			}
			out.WriteString(line.Text)
			out.WriteByte('\n')
		}
	}
	l.linesRead = len(lines)
	return out.String(), next, l.c.removed || l.c.state(now) == runtime.StateExited
}

// linesAndNextChangeAt returns the log lines that the container has printed by now. nextLineOrStateChange is
// when the next line of the script is due or the state changes, whichever is earlier, and zero if there is
// neither. After the container has exited, it may be the time of a line that is never printed.
func (c *container) linesAndNextChangeAt(now time.Time) (lines []Line, nextLineOrStateChange time.Time) {
	if c.startAt.IsZero() || c.startAt.After(now) {
		return nil, c.nextChange
	}
	if c.state(now) == runtime.StateExited {
		now = c.exit.at
	}
	lines = c.logLines()
	n, _ := slices.BinarySearchFunc(lines, now.Sub(c.startAt), compareLineTime)
	next := c.nextChange
	if n < len(lines) {
		if at := c.startAt.Add(lines[n].After); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return lines[:n], next
}

// compareLineTime is a comparison for BinarySearchFunc that finds the first line that is printed later than
// since.
func compareLineTime(l Line, since time.Duration) int {
	if l.After <= since {
		return -1
	}
	return 1
}

// logLines returns all log lines of the container, past and future, sorted by time. If its Run prints nothing,
// the log is one line that describes the Run. The result is cached.
func (c *container) logLines() []Line {
	used := c.ensureExtras()
	if used.lines != nil {
		return used.lines
	}
	if len(c.run.Print) == 0 {
		used.lines = []Line{{0, c.name + ": " + c.run.String()}}
		return used.lines
	}
	for _, l := range c.run.Print {
		for text := range strings.SplitSeq(strings.TrimSuffix(l.Text, "\n"), "\n") {
			used.lines = append(used.lines, Line{l.After, text})
		}
	}
	slices.SortStableFunc(used.lines, func(a, b Line) int { return cmp.Compare(a.After, b.After) })
	return used.lines
}
