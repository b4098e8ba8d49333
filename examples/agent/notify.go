package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notifier tells a service manager how the agent is, in the words of sd_notify(3). A nil one
// tells nothing.
type notifier struct {
	send func(state string) error
	// every is how often a watchdog is told that the agent lives; 0: there is none.
	every time.Duration
}

// newNotifier makes the notifier of the environment: NOTIFY_SOCKET is a path or, with an @, an
// abstract name; WATCHDOG_USEC is the timeout of the watchdog and WATCHDOG_PID the process that
// it watches. The notifier is nil without a socket.
func newNotifier() (*notifier, error) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil, nil
	}
	if name[0] != '/' && name[0] != '@' {
		return nil, fmt.Errorf("NOTIFY_SOCKET %q: expected a path or an abstract name", name)
	}
	n := &notifier{send: func(state string) error {
		_, err := daemon.SdNotify(false, state) // It connects anew each time: the manager may have been started again.
		return err
	}}
	timeout, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return n, fmt.Errorf("the watchdog is not told: %w", err)
	}
	n.every = timeout / 2
	return n, nil
}

// vitals are what is told of a node.
type vitals struct {
	ready   <-chan struct{}
	stuck   func() error
	healthy func() error
}

// run says READY=1 when the node is ready, and then WATCHDOG=1 as long as its loop goes on, with
// what is wrong with the node, until ctx ends. failed is called with each error of sending.
func (n *notifier) run(ctx context.Context, v vitals, failed func(error)) {
	select {
	case <-v.ready:
	case <-ctx.Done():
		return
	}
	status := statusOf(v.healthy())
	n.tell("READY=1\n"+status, failed)
	if n.every == 0 {
		return
	}
	ticks := time.NewTicker(n.every)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		var state []string
		if v.stuck() == nil {
			state = append(state, "WATCHDOG=1")
		}
		if now := statusOf(v.healthy()); now != status {
			status = now
			state = append(state, status)
		}
		if len(state) > 0 {
			n.tell(strings.Join(state, "\n"), failed)
		}
	}
}

// stopping says that the agent ends.
func (n *notifier) stopping(failed func(error)) { n.tell("STOPPING=1\nSTATUS=ending", failed) }

func (n *notifier) tell(state string, failed func(error)) {
	if err := n.send(state); err != nil {
		failed(err)
	}
}

// statusOf is a line for people: systemctl status shows it.
func statusOf(err error) string {
	if err == nil {
		return "STATUS=healthy"
	}
	return "STATUS=" + inOneLine(err.Error())
}

// notify tells the service manager, if there is one, how the node is, until the function that
// it returns is called: the agent ends then.
func (a *agent) notify(ctx context.Context) (stopping func()) {
	n, err := newNotifier()
	if err != nil {
		a.log.Warn("the service manager cannot be told everything", "err", err)
	}
	if n == nil {
		return func() {}
	}
	failed := func(err error) { a.log.Warn("the service manager cannot be told", "err", err) }
	ctx, end := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		n.run(ctx, vitals{a.node.Ready(), func() error { return a.node.Health().Stuck }, func() error { return a.node.Health().Err }}, failed)
	}()
	return func() {
		end()
		<-over
		n.stopping(failed)
	}
}
