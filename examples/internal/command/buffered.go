package command

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// MaxBuffered is how many bytes wait in a Buffered for their reader.
const MaxBuffered = 1 << 20

// Buffered is a writer that never keeps its callers waiting for a reader, such as the reader of a
// pipe that has stopped reading. It holds at most MaxBuffered bytes. Beyond them it drops whole
// writes, counts their lines, and reports the count when the reader reads again. A write that the
// writer below fails to make is dropped too, and the next Write tries again: a disk may be full for
// a while. Its methods may be called concurrently.
type Buffered struct {
	to     io.Writer
	report func(to io.Writer, lines int)

	mu      sync.Mutex
	pending [][]byte
	size    int
	dropped int           // lines, since the last report
	busy    chan struct{} // closed when all is written; nil: nothing is being written
}

// NewBuffered makes a Buffered. It writes to a writer with one goroutine, which exists only while
// there is something to write. report writes a line that says how many lines were dropped.
func NewBuffered(to io.Writer, report func(to io.Writer, lines int)) *Buffered {
	return &Buffered{to: to, report: report}
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
	if b.busy == nil {
		b.busy = make(chan struct{})
		go b.writePending(b.busy)
	}
	return len(p), nil
}

// countLines returns how many lines a write has: one at least.
func countLines(p []byte) int { return max(1, bytes.Count(p, []byte("\n"))) }

// writePending writes until nothing is pending.
func (b *Buffered) writePending(done chan struct{}) {
	defer close(done)
	for {
		text, dropped, more := b.takeNext()
		switch {
		case !more:
			return
		case dropped == 0:
			_, err := b.to.Write(text)
			b.finishWrite(text, err)
		default:
			to := failureRecorder{to: b.to}
			if b.report(&to, dropped); to.err != nil {
				b.endUnreported(dropped)
				return
			}
		}
	}
}

// failureRecorder passes writes on, and keeps their last error.
type failureRecorder struct {
	to  io.Writer
	err error
}

func (f *failureRecorder) Write(p []byte) (n int, err error) {
	n, err = f.to.Write(p)
	if err != nil {
		f.err = err
	}
	return n, err
}

// takeNext returns the oldest pending write, or else how many lines were dropped after it. It ends
// the writing if there is neither.
func (b *Buffered) takeNext() (text []byte, dropped int, more bool) {
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
	b.busy, b.pending = nil, nil
	return nil, 0, false
}

// finishWrite releases the bytes of a write, which count until it has returned. A write that has
// failed is dropped.
func (b *Buffered) finishWrite(text []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.size -= len(text)
	if err != nil {
		b.dropped += countLines(text)
	}
}

// endUnreported ends the writing after a report that has failed. The next Write starts it again, and
// the count is reported after the writes that are pending then.
func (b *Buffered) endUnreported(dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropped += dropped
	b.busy = nil
}

// Flush waits until everything is written, but no longer than a limit.
func (b *Buffered) Flush(limit time.Duration) {
	b.mu.Lock()
	busy := b.busy
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
