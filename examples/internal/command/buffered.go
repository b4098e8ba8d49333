package command

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// MaxBuffered is how many bytes a Buffered holds at most.
const MaxBuffered = 1 << 20

// Buffered is a writer whose callers never wait, even if the reader of the output, such as a pipe, has stopped reading.
// It holds at most MaxBuffered bytes. If that is exceeded, it drops whole writes, counts their lines, and reports the
// count when the reader reads again. A write that fails is dropped too, and the next Write tries again, because a full
// disk may get room later. Its methods are safe for concurrent use.
type Buffered struct {
	out    io.Writer
	report func(to io.Writer, lines int)

	mu      sync.Mutex
	pending [][]byte
	size    int
	dropped int           // lines, since the last report
	done    chan struct{} // closed when everything is written; nil if no goroutine is writing
}

// NewBuffered returns a Buffered that writes to a writer. Its goroutine exists only while there is something to write.
// report writes a line with the number of dropped lines.
func NewBuffered(to io.Writer, report func(to io.Writer, lines int)) *Buffered {
	return &Buffered{out: to, report: report}
}

// Write implements io.Writer. It returns no error: the text is written later, or counted as dropped.
func (b *Buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size+len(p) > MaxBuffered {
		b.dropped += countLines(p)
		return len(p), nil
	}
	b.pending = append(b.pending, bytes.Clone(p))
	b.size += len(p)
	if b.done == nil {
		b.done = make(chan struct{})
		go b.writePending(b.done)
	}
	return len(p), nil
}

// countLines returns how many lines a write has, at least one.
func countLines(p []byte) int { return max(1, bytes.Count(p, []byte("\n"))) }

// writePending writes until no write is pending.
func (b *Buffered) writePending(done chan struct{}) {
	defer close(done)
	for {
		text, dropped, more := b.nextWrite()
		switch {
		case !more:
			return
		case dropped == 0:
			_, err := b.out.Write(text)
			b.finishWrite(text, err)
		default:
			to := failureRecorder{out: b.out}
			if b.report(&to, dropped); to.err != nil {
				b.stopUnreported(dropped)
				return
			}
		}
	}
}

// failureRecorder forwards writes and stores the last error.
type failureRecorder struct {
	out io.Writer
	err error
}

func (f *failureRecorder) Write(p []byte) (n int, err error) {
	n, err = f.out.Write(p)
	if err != nil {
		f.err = err
	}
	return n, err
}

// nextWrite returns the oldest pending write. Without one it returns how many lines were dropped. If there is neither,
// the goroutine must exit.
func (b *Buffered) nextWrite() (text []byte, dropped int, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(b.pending) > 0:
		text, b.pending = b.pending[0], b.pending[1:]
		return text, 0, true
	case b.dropped > 0:
		dropped, b.dropped = b.dropped, 0
		return nil, dropped, true
	}
	b.done, b.pending = nil, nil
	return nil, 0, false
}

// finishWrite releases the bytes of a write when the write has returned. A failed write counts as dropped.
func (b *Buffered) finishWrite(text []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.size -= len(text)
	if err != nil {
		b.dropped += countLines(text)
	}
}

// stopUnreported stops the goroutine after a failed report. The next Write starts it again, and the count is reported
// after the writes that are pending then.
func (b *Buffered) stopUnreported(dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropped += dropped
	b.done = nil
}

// Flush waits until everything is written, at most for limit.
func (b *Buffered) Flush(limit time.Duration) {
	b.mu.Lock()
	busy := b.done
	b.mu.Unlock()
	if busy == nil {
		return
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-busy:
	case <-late.C:
	}
}
