package console

import (
	"context"
	"slices"
	"sync"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// clients are those of a process that come and go.
type clients struct {
	mu struct {
		sync.Mutex
		all  []*client
		over bool // the process has ended
	}
}

// client is one of them.
type client struct {
	streams runtime.Streams
	leave   context.CancelFunc
	err     error // of a Write that failed
}

// Join connects a further client until ctx ends, the process ends or a Write to the client fails, and
// returns the error of ctx or of the Write. What clients send is one input, and each gets all of the
// output from the call of then on, which may be nil. It is for a Console that was made for many.
func (c *Console) Join(ctx context.Context, streams runtime.Streams, then func()) error {
	joined, leave := executor.WithCancel(ctx)
	one := &client{streams: streams, leave: leave}
	defer leave()
	if !c.clients.add(one) {
		return nil
	}
	if then != nil {
		then()
	}
	group := executor.NewGroup(c.executor)
	if c.tty && streams.Resized != nil {
		c.sizes.begin()
		group.Go(func() { c.sizes.follow(joined, streams.Resized) })
	}
	if streams.Stdin != nil {
		c.executor.Go(func() { c.input.fill(joined, streams.Stdin, c.staysOpen) })
	}
	_ = c.executor.NewLatch().Wait(joined)
	err := c.clients.remove(one)
	group.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// add reports false if the process has ended.
func (cs *clients) add(one *client) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if !cs.mu.over {
		cs.mu.all = append(cs.mu.all, one)
	}
	return !cs.mu.over
}

// remove returns the error of a Write to the client.
func (cs *clients) remove(one *client) error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.mu.all = slices.DeleteFunc(slices.Clone(cs.mu.all), func(other *client) bool { return other == one })
	return one.err
}

// end has all clients leave.
func (cs *clients) end() {
	cs.mu.Lock()
	cs.mu.over = true
	all := cs.mu.all
	cs.mu.Unlock()
	for _, one := range all {
		one.leave()
	}
}

// toAll writes to each client, one after the other. One that takes nothing any more leaves; the
// process does not learn of it.
type toAll struct {
	clients *clients
	stderr  bool
}

// Write implements io.Writer.
func (w toAll) Write(p []byte) (int, error) {
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
			w.clients.failed(one, err)
		}
	}
	return len(p), nil
}

// failed has a client leave with an error.
func (cs *clients) failed(one *client, err error) {
	cs.mu.Lock()
	one.err = err
	cs.mu.Unlock()
	one.leave()
}
