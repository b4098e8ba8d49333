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

// maxLogLine is the length in bytes at which a line without a line break is printed as a line of its own.
const maxLogLine = 16 << 10

// logDrainTimeout is how long the agent waits at exit until the logs of containers are printed. A CRI runtime needs
// more than a second to detect that a container writes no more.
const logDrainTimeout = 10 * time.Second

// logPrinter prints the logs of the containers of the command run, as kubectl logs --prefix does: each line begins with
// the names of its pod and its container. It reads each container once, to the end.
type logPrinter struct {
	reader    runtime.LogReader
	out       io.Writer // receives whole lines; other goroutines write to it too
	unescaped bool      // out is no terminal, so control characters need no escaping
	log       *slog.Logger
	readers   sync.WaitGroup

	mu      sync.Mutex
	started map[string]bool // IDs of the containers whose logs are being read or were read
	stopped bool            // stopAndWaitUntilPrinted was called: no more reader is started
}

// startLogReaders starts a log reader for each container of the pod that has started and has no reader yet. It
// starts none after stopAndWaitUntilPrinted, or if p is nil.
func (p *logPrinter) startLogReaders(ctx context.Context, pod *v1.Pod) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		for _, id := range startedContainerIDs(&c) {
			if !p.started[id] && !p.stopped {
				p.started[id] = true
				p.readers.Go(func() { p.followLog(ctx, id, fmt.Sprintf("[pod/%s/%s] ", nameWithoutDefaultNamespace(pod), c.Name)) })
			}
		}
	}
}

// startedContainerIDs returns the IDs of the containers in a status that have started: the last terminated one,
// and then the current one if it is running or terminated.
func startedContainerIDs(c *v1.ContainerStatus) (ids []string) {
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

// followLog prints the log of a container, each line with the prefix, until the log ends or ctx is done. It
// logs an error.
func (p *logPrinter) followLog(ctx context.Context, id, prefix string) {
	lines := &linePrefixer{printer: p, prefix: prefix}
	err := p.reader.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: id, Follow: true}, lines)
	lines.printPartialLine()
	if err != nil && ctx.Err() == nil {
		p.log.Warn("cannot print the log of a container", "container", strings.Trim(prefix, "[] "), "err", err)
	}
}

// stopAndWaitUntilPrinted lets no more log readers start, and waits until the running ones have printed
// everything, for at most logDrainTimeout. The caller has stopped the containers. It does nothing if p is nil.
func (p *logPrinter) stopAndWaitUntilPrinted() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	done := make(chan struct{})
	go func() { defer close(done); p.readers.Wait() }()
	select {
	case <-done:
	case <-time.After(logDrainTimeout):
		p.log.Warn("gave up printing the logs of containers", "within", logDrainTimeout)
	}
}

// linePrefixer is the writer for the log of one container.
type linePrefixer struct {
	printer     *logPrinter
	prefix      string
	partialLine []byte // the beginning of the next line
	lastLineCut bool   // the last line was printed before its end
}

// Write implements io.Writer. It prints the complete lines and keeps the rest for the next call. A line longer
// than maxLogLine is printed in pieces.
func (w *linePrefixer) Write(text []byte) (int, error) {
	w.partialLine = append(w.partialLine, text...)
	for {
		end := bytes.IndexByte(w.partialLine, '\n')
		switch {
		case end == 0 && w.lastLineCut: // The line break belongs to the line that was cut.
			w.partialLine, w.lastLineCut = w.partialLine[1:], false
			continue
		case end < 0 && len(w.partialLine) < maxLogLine:
			return len(text), nil
		}
		w.lastLineCut = end < 0 || end > maxLogLine
		if w.lastLineCut {
			end = maxLogLine
		}
		if err := w.printLine(w.partialLine[:end]); err != nil {
			return 0, err
		}
		w.partialLine = bytes.TrimPrefix(w.partialLine[end:], []byte("\n"))
	}
}

// printPartialLine prints the text after the last line break, if it is not empty.
func (w *linePrefixer) printPartialLine() {
	if len(w.partialLine) > 0 {
		_ = w.printLine(w.partialLine) // No reader is left to receive the error.
	}
}

// printLine prints one line with the prefix. It escapes control characters unless the output does so itself.
func (w *linePrefixer) printLine(line []byte) error {
	text := strings.TrimSuffix(string(line), "\r")
	if !w.printer.unescaped {
		text = plain.Visible(text)
	}
	_, err := io.WriteString(w.printer.out, w.prefix+text+"\n")
	return err
}
