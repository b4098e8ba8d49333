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

// readFrom reads from a client until ctx or its input ends. With staysOpen the process sees no end
// of input.
func (in *inputBuffer) readFrom(ctx context.Context, from io.Reader, staysOpen bool) {
	buf := make([]byte, readBufferSize)
	for ctx.Err() == nil {
		n, err := from.Read(buf)
		if err != nil && staysOpen {
			in.append(buf[:n], nil)
			return
		}
		in.append(buf[:n], err)
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

// append adds bytes and an error to the buffer.
func (in *inputBuffer) append(data []byte, err error) {
	if in.tty {
		data = in.handleInterrupts(data)
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

// handleInterrupts handles every Ctrl-C in keys and returns the keys that the process must still
// read. Ctrl-C discards everything that was typed before it.
func (in *inputBuffer) handleInterrupts(keys []byte) []byte {
	for i := 0; i < len(keys); i++ {
		if keys[i] != keyInterrupt {
			continue
		}
		in.mu.Lock()
		in.mu.held = nil
		in.mu.Unlock()
		if keys, i = keys[i:], 0; in.c.handleCtrlC() {
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

// read moves buffered bytes to p. It returns false if the buffer is empty and more may follow.
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
