package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/runtime"
)

// maxLogLine is after how many bytes a line without an end is printed, as a line of its own.
const maxLogLine = 16 << 10

// lastLogs is how long the logs of containers may hold up the end. On a CRI runtime it takes more
// than a second until it is known that a container writes no more.
const lastLogs = 10 * time.Second

// logPrinter prints what the containers of the command run write, as kubectl logs --prefix does:
// each line behind the names of its pod and its container. Each container is read once, to its end.
type logPrinter struct {
	from  runtime.LogReader
	to    io.Writer // takes whole lines, concurrently with others
	plain bool      // to is no terminal, which nothing has to be kept from
	log   *slog.Logger
	all   sync.WaitGroup

	mu   sync.Mutex
	seen map[string]bool // container IDs
	over bool            // wait has been called: nothing is begun any more
}

// see begins to read the containers of a pod that have not been seen. It is called for each state
// of a pod.
func (p *logPrinter) see(ctx context.Context, pod *v1.Pod) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		for _, id := range runsOf(&c) {
			if !p.seen[id] && !p.over {
				p.seen[id] = true
				p.all.Go(func() { p.follow(ctx, id, fmt.Sprintf("[pod/%s/%s] ", displayName(pod), c.Name)) })
			}
		}
	}
}

// runsOf are the IDs of the containers that a status tells of and that have run, oldest first.
func runsOf(c *v1.ContainerStatus) (ids []string) {
	add := func(id string) {
		if _, id, ok := strings.Cut(id, "://"); ok {
			ids = append(ids, id)
		}
	}
	if last := c.LastTerminationState.Terminated; last != nil {
		add(last.ContainerID)
	}
	switch state := c.State; {
	case state.Running != nil:
		add(c.ContainerID)
	case state.Terminated != nil:
		add(state.Terminated.ContainerID)
	}
	return ids
}

// follow prints the log of a container until it ends.
func (p *logPrinter) follow(ctx context.Context, id, prefix string) {
	lines := &prefixed{printer: p, prefix: prefix}
	err := p.from.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: id, Follow: true}, lines)
	lines.flush()
	if err != nil && ctx.Err() == nil {
		p.log.Warn("what a container writes cannot be printed", "container", strings.Trim(prefix, "[] "), "err", err)
	}
}

// wait returns when the logs of all containers that were seen are printed, or after lastLogs. The
// containers have ended.
func (p *logPrinter) wait() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	done := make(chan struct{})
	go func() { defer close(done); p.all.Wait() }()
	select {
	case <-done:
	case <-time.After(lastLogs):
		p.log.Warn("not all that containers have written is printed", "within", lastLogs)
	}
}

// prefixed is a writer of the log of one container.
type prefixed struct {
	printer *logPrinter
	prefix  string
	line    []byte // what has come of the next line
	cut     bool   // the last line was printed before its end
}

// Write implements io.Writer: it prints the lines that are complete.
func (w *prefixed) Write(text []byte) (int, error) {
	w.line = append(w.line, text...)
	for {
		end := bytes.IndexByte(w.line, '\n')
		switch {
		case end == 0 && w.cut: // It ends what is printed.
			w.line, w.cut = w.line[1:], false
			continue
		case end < 0 && len(w.line) < maxLogLine:
			return len(text), nil
		}
		w.cut = end < 0 || end > maxLogLine
		if w.cut {
			end = maxLogLine
		}
		if err := w.print(w.line[:end]); err != nil {
			return 0, err
		}
		w.line = bytes.TrimPrefix(w.line[end:], []byte("\n"))
	}
}

// flush prints what came after the last end of a line.
func (w *prefixed) flush() {
	if len(w.line) > 0 {
		_ = w.print(w.line) // Nobody is left to be told.
	}
}

func (w *prefixed) print(line []byte) error {
	text := strings.TrimSuffix(string(line), "\r")
	if !w.printer.plain {
		text = plain.Visible(text)
	}
	_, err := io.WriteString(w.printer.to, w.prefix+text+"\n")
	return err
}
