package console

import (
	"context"
	"io"
	"sync"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// Console holds the streams of one process. The process reads and writes each of them from one
// goroutine at a time.
type Console struct {
	// Stdin is never nil. It returns io.EOF at once if the client sends nothing.
	Stdin io.Reader
	// Stdout and Stderr are never nil. With a terminal both are the same stream.
	Stdout, Stderr io.Writer

	executor       executor.Executor
	helpers        *executor.Group
	cancel         context.CancelFunc
	size           *terminalSize
	input          *inputBuffer
	clients        clientSet
	startedDone    executor.Latch // opened when the process of StartProcess has exited
	tty, staysOpen bool

	mu struct {
		sync.Mutex
		err         error // of the first Write that failed
		interrupted bool
		foreground  func() // called on Ctrl-C
	}
}

// Config configures a Console. All fields but Client are required.
type Config struct {
	Executor executor.Executor
	// TTY gives the process a terminal.
	TTY bool
	// Client has the streams of the only client.
	Client runtime.Streams
	// Many lets clients attach by Join. Client is ignored.
	Many bool
	// StaysOpen keeps the input of the process open when the client's input ends.
	StaysOpen bool
	// Ended blocks until the process has to stop because its container exits, and returns nil then.
	// It returns the error of ctx if ctx ends first. It is called once.
	Ended func(ctx context.Context) error
}

// Open creates a Console. It returns the context for the process. That context ends with ctx, when
// Ended returns, after Ctrl-C on a terminal, and with Close.
func Open(ctx context.Context, config Config) (context.Context, *Console) {
	ctx, cancel := executor.WithCancel(ctx)
	c := &Console{
		executor: config.Executor, helpers: executor.NewGroup(config.Executor), cancel: cancel, size: newTerminalSize(config.Executor),
		startedDone: config.Executor.NewLatch(), tty: config.TTY, staysOpen: config.StaysOpen,
	}
	c.mu.foreground = c.interruptProcess
	c.input = newInputBuffer(config.Executor, c, config.TTY)
	c.helpers.Go(func() {
		if config.Ended(ctx) == nil {
			cancel()
		}
	})
	if config.Many {
		config.Client = runtime.Streams{Stdout: broadcastWriter{&c.clients, false}, Stderr: broadcastWriter{&c.clients, true}}
	} else {
		c.connectClient(ctx, config.Client)
	}
	c.Stdin = &reader{ctx, c.input}
	c.Stdout, c.Stderr = &output{ctx, c, config.Client.Stdout}, &output{ctx, c, config.Client.Stderr}
	if config.TTY {
		t := &lineTerminal{in: c.Stdin, out: c.Stdout}
		c.Stdin, c.Stdout, c.Stderr = t, t, t
	}
	return ctx, c
}

// connectClient starts goroutines that read the input and the terminal sizes of the console's only client. A
// client without stdin gives an end of input at once.
func (c *Console) connectClient(ctx context.Context, client runtime.Streams) {
	if c.tty && client.Resized != nil {
		c.size.incrementSizeSources()
		c.helpers.Go(func() { c.size.followResizes(ctx, client.Resized) })
	}
	if client.Stdin == nil {
		c.input.appendAndSignal(nil, io.EOF)
	} else {
		c.executor.Go(func() { c.input.readFrom(ctx, client.Stdin, c.staysOpen) })
	}
}

// StartProcess runs a process on a goroutine of its own, and then closes the Console.
func (c *Console) StartProcess(runProcess func()) {
	c.executor.Go(func() {
		defer c.startedDone.Open()
		defer c.Close()
		runProcess()
	})
}

// StopProcess cancels the context and waits until the process of StartProcess has exited, also
// after ctx has ended.
func (c *Console) StopProcess(ctx context.Context) {
	c.cancel()
	_ = c.startedDone.Wait(executor.Detach(ctx))
}

// Cancel ends the context of the process.
func (c *Console) Cancel() { c.cancel() }

// Close ends the context of the process, disconnects the clients, and waits for the goroutines of
// Open.
func (c *Console) Close() {
	c.cancel()
	c.clients.disconnectAll()
	c.helpers.Wait()
}

// SetInterruptHandler makes Ctrl-C call onInterrupt instead of terminating the process. With nil
// the process reads Ctrl-C as an empty line.
func (c *Console) SetInterruptHandler(onInterrupt func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.foreground = onInterrupt
}

// Interrupted reports whether Ctrl-C has terminated the process.
func (c *Console) Interrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.interrupted
}

// Err returns the first error of a Write to the client.
func (c *Console) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.err
}

// Size returns the size of the terminal. It waits for the first size. It returns false if there is
// none.
func (c *Console) Size(ctx context.Context) (runtime.TerminalSize, bool) {
	return c.size.waitForSize(ctx, false)
}

// Resized implements runtime.Streams.Resized.
func (c *Console) Resized(ctx context.Context) (runtime.TerminalSize, bool) {
	return c.size.waitForSize(ctx, true)
}

// interruptProcess records that Ctrl-C interrupted the process and cancels the context of the process.
func (c *Console) interruptProcess() {
	c.mu.Lock()
	c.mu.interrupted = true
	c.mu.Unlock()
	c.cancel()
}

// interruptForegroundIfSet calls the interrupt handler and returns true. If none is set, it returns false, and
// the process must read the key.
func (c *Console) interruptForegroundIfSet() (handled bool) {
	c.mu.Lock()
	end := c.mu.foreground
	c.mu.Unlock()
	if end != nil {
		end()
	}
	return end != nil
}

// output is a Writer that stops when the context of the process ends, and that stores the first
// write error. It discards everything if the client has no such stream.
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
