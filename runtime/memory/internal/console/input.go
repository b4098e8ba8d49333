package console

import (
	"context"
	"io"
	"sync"

	"github.com/podkeel/podkeel/internal/executor"
)

const (
	// chunk is how many bytes are read at once, and held.
	chunk = 32 << 10
	// mostTyped is how many bytes a terminal holds that were not read yet; more are lost.
	mostTyped = 4096

	keyInterrupt = 0x03
)

// input holds what clients have sent until the process reads it. Without a terminal a
// client is read from when all of it is taken, else always, so that Ctrl-C is seen.
type input struct {
	c           *Console
	tty         bool
	more, taken executor.Event

	mu struct {
		sync.Mutex
		held []byte
		err  error // comes after held
	}
}

func newInput(x executor.Executor, c *Console, tty bool) *input {
	return &input{c: c, tty: tty, more: x.NewEvent(), taken: x.NewEvent()}
}

// fill reads from a client until ctx or the input ends, which the process does not learn if
// its own stays open.
func (in *input) fill(ctx context.Context, from io.Reader, staysOpen bool) {
	buf := make([]byte, chunk)
	for ctx.Err() == nil {
		n, err := from.Read(buf)
		if err != nil && staysOpen {
			in.put(buf[:n], nil)
			return
		}
		in.put(buf[:n], err)
		if err != nil {
			return
		}
		for !in.tty && in.full() {
			if in.taken.Wait(ctx) != nil {
				return
			}
		}
		in.taken.Signal() // For another client.
	}
}

// put holds what has come.
func (in *input) put(p []byte, err error) {
	if in.tty {
		p = in.typed(p)
	}
	in.mu.Lock()
	in.mu.held = append(in.mu.held, p...)
	if in.tty && len(in.mu.held) > mostTyped {
		in.mu.held = in.mu.held[:mostTyped]
	}
	if err != nil {
		in.mu.err = err
	}
	in.mu.Unlock()
	in.more.Signal()
}

// typed is what is left after Ctrl-C, which drops all that was typed before it.
func (in *input) typed(p []byte) []byte {
	for i := 0; i < len(p); i++ {
		if p[i] != keyInterrupt {
			continue
		}
		in.mu.Lock()
		in.mu.held = nil
		in.mu.Unlock()
		if p, i = p[i:], 0; in.c.pressed() {
			p, i = p[1:], -1
		}
	}
	return p
}

func (in *input) full() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.mu.held) > 0
}

// take moves what is held to p. It reports false if that is nothing, and more may come.
func (in *input) take(p []byte) (n int, ok bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.mu.held) == 0 {
		return 0, in.mu.err != nil, in.mu.err
	}
	n = copy(p, in.mu.held)
	in.mu.held = in.mu.held[n:]
	return n, true, nil
}

// reader reads an input until a context ends.
type reader struct {
	ctx context.Context
	in  *input
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for {
		if err := r.ctx.Err(); err != nil || len(p) == 0 {
			return 0, err
		}
		if n, ok, err := r.in.take(p); ok {
			r.in.taken.Signal()
			return n, err
		}
		if err := r.in.more.Wait(r.ctx); err != nil {
			return 0, err
		}
	}
}
