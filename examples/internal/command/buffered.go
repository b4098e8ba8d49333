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
		b.dropped += countLinesAtLeastOne(p)
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

// countLinesAtLeastOne returns the number of line breaks in p, but at least one.
func countLinesAtLeastOne(p []byte) int { return max(1, bytes.Count(p, []byte("\n"))) }

// writePending is the body of a goroutine. It writes the pending writes and then reports dropped lines, until
// neither is left or a report fails. At the end it closes done.
func (b *Buffered) writePending(done chan struct{}) {
	defer close(done)
	for {
		text, dropped, more := b.takeNextWrite()
		switch {
		case !more:
			return
		case dropped == 0:
			_, err := b.out.Write(text)
			b.releaseOrCountDropped(text, err)
		default:
			to := failureRecorder{out: b.out}
			if b.report(&to, dropped); to.err != nil {
				b.restoreDroppedAndStop(dropped)
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

// takeNextWrite removes and returns the oldest pending write. If none is pending, it returns the number of
// dropped lines and sets it to zero. If there are neither, it records that the goroutine ends and returns more
// false.
func (b *Buffered) takeNextWrite() (text []byte, dropped int, more bool) {
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

// releaseOrCountDropped releases the bytes of a write after it has returned. If the write failed, it counts its
// lines as dropped.
func (b *Buffered) releaseOrCountDropped(text []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.size -= len(text)
	if err != nil {
		b.dropped += countLinesAtLeastOne(text)
	}
}

// restoreDroppedAndStop adds the number of dropped lines again after a report of it failed, and records that
// the goroutine ends. The next Write starts a goroutine again.
func (b *Buffered) restoreDroppedAndStop(dropped int) {
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
