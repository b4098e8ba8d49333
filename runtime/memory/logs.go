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

// reader is one open call of ReadLog.
type reader struct {
	c       *container
	changed executor.Event
	tail    int // of what is there at first; 0 is all
	since   time.Time
	stamped bool
	read    int // lines
}

// ReadLog implements runtime.LogReader. A log is computed, from what the run
// prints and from the time; it is no longer than the script or command that it
// follows from.
func (r *Runtime) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	_, err := verb(ctx, r, "ReadLog", req, func(r *Runtime, ctx context.Context, req runtime.ReadLogRequest) (nothing, error) {
		return nothing{}, r.readLog(ctx, req, w)
	})
	return err
}

func (r *Runtime) readLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	l, err := r.m.openLog(req, r.executor.NewEvent())
	if err != nil {
		return err
	}
	defer r.m.unregister(l.c, l.changed)
	for {
		text, next, over := r.m.readOn(l)
		if text != "" {
			if _, err := io.WriteString(w, text); err != nil {
				return fmt.Errorf("memory: log of container %s: %w", l.c.id, err)
			}
		}
		if over || !req.Follow {
			return nil
		}
		if err := wait(ctx, l.changed, next); err != nil {
			return err
		}
	}
}

// openLog begins to read.
func (m *machine) openLog(req runtime.ReadLogRequest, changed executor.Event) (*reader, error) {
	if _, err := m.lockReady(); err != nil {
		return nil, err
	}
	defer m.unlock()
	c := m.mu.containers[req.ContainerID]
	if c == nil {
		return nil, fmt.Errorf("memory: container %s: %w", req.ContainerID, runtime.ErrNotFound)
	}
	used := c.uses()
	used.waiters = append(used.waiters, changed)
	return &reader{c: c, changed: changed, tail: req.Tail, since: req.Since, stamped: req.Timestamps}, nil
}

// readOn is what has been printed since the last call, when there may be more,
// and whether there will not.
func (m *machine) readOn(l *reader) (text string, next time.Time, over bool) {
	now := m.lock()
	defer m.unlock()
	lines, next := l.c.printed(now)
	switch {
	case l.tail > 0:
		l.read = max(0, len(lines)-l.tail)
	case l.tail == fromNow:
		l.read = len(lines)
	}
	l.tail = 0
	var out strings.Builder
	for _, line := range lines[l.read:] {
		if at := l.c.start.Add(line.After); !at.Before(l.since) {
			if l.stamped {
				out.WriteString(at.Format(runtime.LogTimestamp))
			}
			out.WriteString(line.Text)
			out.WriteByte('\n')
		}
	}
	l.read = len(lines)
	return out.String(), next, l.c.gone || l.c.state(now) == runtime.StateExited
}

// printed is the container's log as it stands, and when it or the container
// will change next.
func (c *container) printed(now time.Time) ([]Line, time.Time) {
	if c.start.IsZero() || c.start.After(now) {
		return nil, c.next
	}
	if c.state(now) == runtime.StateExited {
		now = c.end.at
	}
	lines := c.log()
	n, _ := slices.BinarySearchFunc(lines, now.Sub(c.start), lineAfter)
	next := c.next
	if n < len(lines) {
		if at := c.start.Add(lines[n].After); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return lines[:n], next
}

// lineAfter finds the first line after a time.
func lineAfter(l Line, since time.Duration) int {
	if l.After <= since {
		return -1
	}
	return 1
}

// log is what the container's run prints, line by line, in order of time.
func (c *container) log() []Line {
	used := c.uses()
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
