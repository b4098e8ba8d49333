package console

import (
	"context"
	"io"
	"sync"

	"github.com/podkeel/podkeel/internal/executor"
)

const (
	// readBufferSize is how many bytes of a client are read and buffered at once.
	readBufferSize = 32 << 10
	// maxTypedBytes limits the unread input of a terminal. Further bytes are lost.
	maxTypedBytes = 4096

	keyInterrupt = 0x03
)

// inputBuffer buffers the input of clients until the process reads it. Without a terminal, a client
// is read only while the buffer is empty. With a terminal, a client is always read, so that Ctrl-C
// takes effect while the process is busy.
type inputBuffer struct {
	c                    *Console
	tty                  bool
	dataAdded, dataTaken executor.Event

	mu struct {
		sync.Mutex
		held []byte
		err  error // returned after held
	}
}

func newInputBuffer(x executor.Executor, c *Console, tty bool) *inputBuffer {
	return &inputBuffer{c: c, tty: tty, dataAdded: x.NewEvent(), dataTaken: x.NewEvent()}
}

// readFrom copies the input of a client to the buffer until ctx or the input ends. Without a terminal it waits
// until the process has read the bytes before it reads more. With staysOpen the end of the input is hidden from
// the process.
func (in *inputBuffer) readFrom(ctx context.Context, from io.Reader, staysOpen bool) {
	buf := make([]byte, readBufferSize)
	for ctx.Err() == nil {
		n, err := from.Read(buf)
		if err != nil && staysOpen {
			in.appendAndSignal(buf[:n], nil)
			return
		}
		in.appendAndSignal(buf[:n], err)
		if err != nil {
			return
		}
		for !in.tty && in.hasData() {
			if in.dataTaken.Wait(ctx) != nil {
				return
			}
		}
		in.dataTaken.Signal() // Another client may wait for it too.
	}
}

// appendAndSignal adds bytes and an error to the buffer, and wakes the reader. On a terminal it first handles
// Ctrl-C, and discards bytes above maxTypedBytes.
func (in *inputBuffer) appendAndSignal(data []byte, err error) {
	if in.tty {
		data = in.handleAndStripInterrupts(data)
	}
	in.mu.Lock()
	in.mu.held = append(in.mu.held, data...)
	if in.tty && len(in.mu.held) > maxTypedBytes {
		in.mu.held = in.mu.held[:maxTypedBytes]
	}
	if err != nil {
		in.mu.err = err
	}
	in.mu.Unlock()
	in.dataAdded.Signal()
}

// handleAndStripInterrupts calls the interrupt handler for every Ctrl-C in keys, and discards all keys that
// were typed before it. It returns the keys after the last Ctrl-C, including that Ctrl-C if no handler is set.
func (in *inputBuffer) handleAndStripInterrupts(keys []byte) []byte {
	for i := 0; i < len(keys); i++ {
		if keys[i] != keyInterrupt {
			continue
		}
		in.mu.Lock()
		in.mu.held = nil
		in.mu.Unlock()
		if keys, i = keys[i:], 0; in.c.interruptForegroundIfSet() {
			keys, i = keys[1:], -1
		}
	}
	return keys
}

// hasData reports whether the buffer contains unread bytes.
func (in *inputBuffer) hasData() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.mu.held) > 0
}

// read moves buffered bytes to p. If the buffer is empty, it returns the stored error and true, or false if
// more bytes may follow.
func (in *inputBuffer) read(p []byte) (n int, ok bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.mu.held) == 0 {
		return 0, in.mu.err != nil, in.mu.err
	}
	n = copy(p, in.mu.held)
	in.mu.held = in.mu.held[n:]
	return n, true, nil
}

// reader reads an inputBuffer until a context ends.
type reader struct {
	ctx context.Context
	in  *inputBuffer
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for {
		if err := r.ctx.Err(); err != nil || len(p) == 0 {
			return 0, err
		}
		if n, ok, err := r.in.read(p); ok {
			r.in.dataTaken.Signal()
			return n, err
		}
		if err := r.in.dataAdded.Wait(r.ctx); err != nil {
			return 0, err
		}
	}
}
