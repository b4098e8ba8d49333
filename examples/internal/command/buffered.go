package command

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// MaxBuffered is how many bytes wait in a Buffered for their reader.
const MaxBuffered = 1 << 20

// Buffered is a writer that never keeps its callers waiting for a reader, such as one of a pipe that
// has stopped reading. It holds at most MaxBuffered bytes. Beyond them it drops whole writes, counts
// their lines, and reports the count when the reader reads again. Its methods may be called
// concurrently.
type Buffered struct {
	to     io.Writer
	report func(to io.Writer, lines int)

	mu      sync.Mutex
	pending [][]byte
	size    int
	dropped int           // lines, since the last report
	busy    chan struct{} // closed when all is written; nil: nothing is being written
	err     error         // of the last write
}

// NewBuffered makes a Buffered. It writes to a writer with one goroutine, which exists only while
// there is something to write. report writes a line that says how many lines were dropped.
func NewBuffered(to io.Writer, report func(to io.Writer, lines int)) *Buffered {
	return &Buffered{to: to, report: report}
}

// Write implements io.Writer. The error is that of an earlier write to the writer below.
func (b *Buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil:
		return 0, b.err
	case b.size+len(p) > MaxBuffered:
		b.dropped += max(1, bytes.Count(p, []byte("\n")))
		return len(p), nil
	}
	b.pending = append(b.pending, bytes.Clone(p))
	b.size += len(p)
	if b.busy == nil {
		b.busy = make(chan struct{})
		go b.write(b.busy)
	}
	return len(p), nil
}

// write writes what is pending until nothing is.
func (b *Buffered) write(done chan struct{}) {
	defer close(done)
	for {
		next, dropped, more := b.next()
		switch {
		case !more:
			return
		case dropped > 0:
			b.report(b.to, dropped)
		default:
			_, err := b.to.Write(next)
			b.finish(len(next), err)
		}
	}
}

// next returns the oldest pending write, or else how many lines were dropped after it. It ends the
// writing if there is neither.
func (b *Buffered) next() (text []byte, dropped int, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil || len(b.pending) == 0 && b.dropped == 0:
		b.busy, b.pending, b.size, b.dropped = nil, nil, 0, 0
		return nil, 0, false
	case len(b.pending) == 0:
		dropped, b.dropped = b.dropped, 0
		return nil, dropped, true
	}
	text, b.pending = b.pending[0], b.pending[1:]
	return text, 0, true
}

// finish notes the result of a write. The bytes count until they are written.
func (b *Buffered) finish(size int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.size -= size
	b.err = err
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
