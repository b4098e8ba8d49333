package console

import (
	"context"
	"slices"
	"sync"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// clientSet is the set of attached clients of a process.
type clientSet struct {
	mu struct {
		sync.Mutex
		all  []*client
		over bool // the process has exited
	}
}

// client is one attached client.
type client struct {
	streams    runtime.Streams
	disconnect context.CancelFunc
	writeErr   error // of a Write to the client
}

// Join attaches a client until ctx ends, the process exits or a Write to the client fails. It
// returns the error of ctx or of the Write. It calls onJoined, unless nil, when the client is
// attached. The inputs of all clients form one input, and each client receives all output from then
// on. The Console must have Config.Many.
func (c *Console) Join(ctx context.Context, streams runtime.Streams, onJoined func()) error {
	joined, leave := executor.WithCancel(ctx)
	one := &client{streams: streams, disconnect: leave}
	defer leave()
	if !c.clients.add(one) {
		return nil
	}
	if onJoined != nil {
		onJoined()
	}
	group := executor.NewGroup(c.executor)
	if c.tty && streams.Resized != nil {
		c.size.incrementSizeSources()
		group.Go(func() { c.size.followResizes(joined, streams.Resized) })
	}
	if streams.Stdin != nil {
		c.executor.Go(func() { c.input.readFrom(joined, streams.Stdin, c.staysOpen) })
	}
	_ = c.executor.NewLatch().Wait(joined)
	err := c.clients.removeAndGetWriteError(one)
	group.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// add adds a client to the set. It returns false, and adds nothing, if the process has exited.
func (cs *clientSet) add(one *client) (added bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if !cs.mu.over {
		cs.mu.all = append(cs.mu.all, one)
	}
	return !cs.mu.over
}

// removeAndGetWriteError removes a client from the set and returns the error of a failed Write to that client,
// or nil. It does not disconnect the client.
func (cs *clientSet) removeAndGetWriteError(one *client) error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.mu.all = slices.DeleteFunc(slices.Clone(cs.mu.all), func(other *client) bool { return other == one })
	return one.writeErr
}

// disconnectAll disconnects all clients, and makes add return false from now on.
func (cs *clientSet) disconnectAll() {
	cs.mu.Lock()
	cs.mu.over = true
	all := cs.mu.all
	cs.mu.Unlock()
	for _, one := range all {
		one.disconnect()
	}
}

// broadcastWriter writes to each client, one after the other. It disconnects a client whose Write
// fails. The process sees no error.
type broadcastWriter struct {
	clients *clientSet
	stderr  bool
}

// Write implements io.Writer.
func (w broadcastWriter) Write(p []byte) (int, error) {
	w.clients.mu.Lock()
	all := w.clients.mu.all
	w.clients.mu.Unlock()
	for _, one := range all {
		to := one.streams.Stdout
		if w.stderr {
			to = one.streams.Stderr
		}
		if to == nil {
			continue
		}
		if _, err := to.Write(p); err != nil {
			w.clients.disconnectWithError(one, err)
		}
	}
	return len(p), nil
}

// disconnectWithError stores the error of a failed Write to a client, and disconnects the client.
func (cs *clientSet) disconnectWithError(one *client, writeErr error) {
	cs.mu.Lock()
	one.writeErr = writeErr
	cs.mu.Unlock()
	one.disconnect()
}
