package console

import (
	"context"
	"io"
	"sync"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// Console is the streams of one process. The process reads and writes each of them from one
// goroutine at a time.
type Console struct {
	// Stdin is never nil. It ends at once if the client sends nothing.
	Stdin io.Reader
	// Stdout and Stderr are never nil. They are one if there is a terminal.
	Stdout, Stderr io.Writer

	executor       executor.Executor
	others         *executor.Group
	cancel         context.CancelFunc
	sizes          *sizes
	input          *input
	clients        clients
	ended          executor.Latch // what Start has begun has
	tty, staysOpen bool

	mu struct {
		sync.Mutex
		err         error // of the first Write that failed
		interrupted bool
		foreground  func() // ends what Ctrl-C ends
	}
}

// Config is what a Console is made from. All of it but the client's streams is required.
type Config struct {
	Executor executor.Executor
	// TTY connects the process with a terminal.
	TTY bool
	// Client has the other ends of the streams.
	Client runtime.Streams
	// Many has clients come by Join, in place of Client.
	Many bool
	// StaysOpen has the process wait for more when the client's input ends.
	StaysOpen bool
	// Ended returns nil when the process has to end for reasons of its own, or the error of
	// ctx. It is called once.
	Ended func(ctx context.Context) error
}

// Open connects a process, and returns the context that it runs with, which ends with ctx,
// when Ended returns, with Ctrl-C on a terminal, and with Close.
func Open(ctx context.Context, config Config) (context.Context, *Console) {
	ctx, cancel := executor.WithCancel(ctx)
	c := &Console{
		executor: config.Executor, others: executor.NewGroup(config.Executor), cancel: cancel, sizes: newSizes(config.Executor),
		ended: config.Executor.NewLatch(), tty: config.TTY, staysOpen: config.StaysOpen,
	}
	c.mu.foreground = c.interrupt
	c.input = newInput(config.Executor, c, config.TTY)
	c.others.Go(func() {
		if config.Ended(ctx) == nil {
			cancel()
		}
	})
	if config.Many {
		config.Client = runtime.Streams{Stdout: toAll{&c.clients, false}, Stderr: toAll{&c.clients, true}}
	} else {
		c.serve(ctx, config.Client)
	}
	c.Stdin = &reader{ctx, c.input}
	c.Stdout, c.Stderr = &output{ctx, c, config.Client.Stdout}, &output{ctx, c, config.Client.Stderr}
	if config.TTY {
		t := &terminal{in: c.Stdin, out: c.Stdout}
		c.Stdin, c.Stdout, c.Stderr = t, t, t
	}
	return ctx, c
}

// serve connects the only client.
func (c *Console) serve(ctx context.Context, client runtime.Streams) {
	if c.tty && client.Resized != nil {
		c.sizes.begin()
		c.others.Go(func() { c.sizes.follow(ctx, client.Resized) })
	}
	if client.Stdin == nil {
		c.input.put(nil, io.EOF)
	} else {
		c.executor.Go(func() { c.input.fill(ctx, client.Stdin, c.staysOpen) })
	}
}

// Start runs a process beside its clients, and then does what Close does.
func (c *Console) Start(process func()) {
	c.executor.Go(func() {
		defer c.ended.Open()
		defer c.Close()
		process()
	})
}

// Stop ends the context, and waits until what Start has begun has ended, whether ctx ends or not.
func (c *Console) Stop(ctx context.Context) {
	c.cancel()
	_ = c.ended.Wait(executor.Detach(ctx))
}

// End ends the context.
func (c *Console) End() { c.cancel() }

// Close ends the context, has clients leave, and awaits what Open has started.
func (c *Console) Close() {
	c.cancel()
	c.clients.end()
	c.others.Wait()
}

// Foreground has Ctrl-C call end instead of ending the process; nil has the process read it,
// as an empty line.
func (c *Console) Foreground(end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.foreground = end
}

// Interrupted reports whether Ctrl-C has ended the process.
func (c *Console) Interrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.interrupted
}

// Err is the first error of a Write: the client takes nothing any more.
func (c *Console) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.err
}

// Size returns the newest size of the terminal, having waited for the first; false if there
// is none.
func (c *Console) Size(ctx context.Context) (runtime.TerminalSize, bool) {
	return c.sizes.wait(ctx, false)
}

// Resized is that of runtime.Streams.
func (c *Console) Resized(ctx context.Context) (runtime.TerminalSize, bool) {
	return c.sizes.wait(ctx, true)
}

// interrupt is Ctrl-C for the process as a whole.
func (c *Console) interrupt() {
	c.mu.Lock()
	c.mu.interrupted = true
	c.mu.Unlock()
	c.cancel()
}

// pressed is Ctrl-C. It reports false if the process is to read it.
func (c *Console) pressed() bool {
	c.mu.Lock()
	end := c.mu.foreground
	c.mu.Unlock()
	if end != nil {
		end()
	}
	return end != nil
}

// output is what a process writes to. A client that has it not gets nothing.
type output struct {
	ctx context.Context
	c   *Console
	to  io.Writer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	if o.to == nil {
		return len(p), nil
	}
	n, err := o.to.Write(p)
	if err != nil {
		o.c.mu.Lock()
		defer o.c.mu.Unlock()
		if o.c.mu.err == nil {
			o.c.mu.err = err
		}
	}
	return n, err
}
