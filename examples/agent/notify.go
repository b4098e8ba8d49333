package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notifier reports the state of the agent to a service manager, as sd_notify(3) describes.
type notifier struct {
	send func(state string) error
	// watchdogPeriod is how often the watchdog is notified; 0 means that there is no watchdog.
	watchdogPeriod time.Duration
}

// newNotifier returns a notifier for the service manager that NOTIFY_SOCKET names, or nil if that is not set.
// If the watchdog variables are invalid, it returns a notifier without a watchdog and an error.
func newNotifier() (*notifier, error) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil, nil
	}
	if name[0] != '/' && name[0] != '@' {
		return nil, fmt.Errorf("NOTIFY_SOCKET %q: expected a path or an abstract name", name)
	}
	n := &notifier{send: func(state string) error {
		_, err := daemon.SdNotify(false, state) // It opens a new connection each time, because the service manager may have restarted.
		return err
	}}
	timeout, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return n, fmt.Errorf("cannot notify the watchdog: %w", err)
	}
	n.watchdogPeriod = timeout / 2
	return n, nil
}

// nodeHealth has the functions that describe the health of a node.
type nodeHealth struct {
	ready   <-chan struct{}
	stuck   func() error
	healthy func() error
}

// notifyUntilDone sends READY=1 to systemd when the node is ready. Without a watchdog it then returns. With a
// watchdog it continues until ctx is done. It periodically sends WATCHDOG=1 as long as the node makes progress,
// and sends the node's health when that changes. It passes errors of sending to reportError.
func (n *notifier) notifyUntilDone(ctx context.Context, health nodeHealth, reportError func(error)) {
	select {
	case <-health.ready:
	case <-ctx.Done():
		return
	}
	status := systemdStatus(health.healthy())
	n.sendState("READY=1\n"+status, reportError)
	if n.watchdogPeriod == 0 {
		return
	}
	ticks := time.NewTicker(n.watchdogPeriod)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		var state []string
		if health.stuck() == nil {
			state = append(state, "WATCHDOG=1")
		}
		if now := systemdStatus(health.healthy()); now != status {
			status = now
			state = append(state, status)
		}
		if len(state) > 0 {
			n.sendState(strings.Join(state, "\n"), reportError)
		}
	}
}

// sendStopping sends STOPPING=1 to the service manager. It passes an error to reportError.
func (n *notifier) sendStopping(reportError func(error)) {
	n.sendState("STOPPING=1\nSTATUS=ending", reportError)
}

// sendState sends a state to the service manager. It passes an error to reportError.
func (n *notifier) sendState(state string, reportError func(error)) {
	if err := n.send(state); err != nil {
		reportError(err)
	}
}

// systemdStatus returns the STATUS line that "systemctl status" shows: healthy, or the error on one line.
func systemdStatus(err error) string {
	if err == nil {
		return "STATUS=healthy"
	}
	return "STATUS=" + visibleOneLine(err.Error())
}

// startNotifying starts to send the state of the node to the service manager, if the environment names one. The
// returned function stops this and sends STOPPING=1.
func (a *agent) startNotifying(ctx context.Context) (stop func()) {
	n, err := newNotifier()
	if err != nil {
		a.log.Warn("cannot notify the service manager completely", "err", err)
	}
	if n == nil {
		return func() {}
	}
	failed := func(err error) { a.log.Warn("cannot notify the service manager", "err", err) }
	ctx, end := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		n.notifyUntilDone(ctx, nodeHealth{a.node.Ready(), func() error { return a.node.Health().Stuck }, func() error { return a.node.Health().Err }}, failed)
	}()
	return func() {
		end()
		<-over
		n.sendStopping(failed)
	}
}
