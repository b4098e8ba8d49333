package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/podkeel/podkeel/syncloop/debug"
	"github.com/podkeel/podkeel/syncloop/stats"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// endpoint is one address on which the agent serves HTTP.
type endpoint struct {
	listener net.Listener
	server   *debug.Server
}

// listenOnSocketAndPort opens the socket and the port, so that the agent reports an address in use at the
// start. The socket serves everything. The port serves health and metrics only if no flag sets it or its
// address, because every local user can connect to it.
func (a *agent) listenOnSocketAndPort() error {
	if a.listen == "" && a.socket == "" {
		return nil
	}
	config := a.debugConfig()
	full, err := debug.New(config)
	if err != nil {
		return err
	}
	if err := a.listenOnSocketIfSet(full); err != nil || a.listen == "" {
		return err
	}
	handler := full
	if !a.listenGiven {
		if config.PrivatePathsHint = "start the agent with --listen " + a.listen + " to serve everything here"; a.local != nil {
			config.PrivatePathsHint = "the agent's user can use the socket " + a.socket + ", or starts the agent with --listen " + a.listen
		}
		if handler, err = debug.NewHealth(config); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", a.listen)
	if err != nil {
		return fmt.Errorf("--listen %q: %w", a.listen, err)
	}
	a.port, err = a.newEndpoint(listener, handler)
	return err
}

// listenOnSocketIfSet opens the Unix socket, unless it is disabled. If the default socket cannot be opened, it
// only logs a warning. If a socket from a flag cannot be opened, it returns an error.
func (a *agent) listenOnSocketIfSet(handler http.Handler) error {
	if a.socket == "" {
		return nil
	}
	var err error
	if !a.socketGiven {
		err = createPrivateSocketDir(a.socket)
	}
	var l *socket
	if err == nil {
		l, err = listenSocket(a.socket)
	}
	switch {
	case err == nil:
		a.local, err = a.newEndpoint(l, handler)
		return err
	case a.socketGiven:
		return fmt.Errorf("--socket %q: %w", a.socket, err)
	}
	a.log.Warn("the agent has no socket: its commands need --server, and the agent --listen or --socket", "socket", a.socket, "err", err)
	return nil
}

// newEndpoint returns an endpoint that will serve the handler on a listener. After an error it closes the
// listener.
func (a *agent) newEndpoint(l net.Listener, handler http.Handler) (*endpoint, error) {
	server, err := debug.NewServer(debug.ServerConfig{Handler: handler, Log: a.log})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &endpoint{l, server}, nil
}

// debugConfig returns the configuration of the HTTP handlers for the socket and the port: functions that return
// pods, health, logs, metrics and so on. It permits exec only with --exec.
func (a *agent) debugConfig() debug.Config {
	config := debug.Config{
		Pods:    a.node.Pods,
		Health:  func() error { return a.node.Health().Err },
		Ready:   func() error { return a.node.Health().Waiting },
		Faults:  a.node.Sources().Faults,
		Explain: func(namespace, name string) (fmt.Stringer, bool) { return a.node.ExplainByName(namespace, name) },
		Timeline: func(namespace, name string) (timeline.Timeline, bool) {
			return a.records.TimelineByName(namespace, name, time.Now())
		},
		Logs:    a.node.Containers(),
		Metrics: a.metrics.All, ResourceMetrics: a.metrics.Resources, Stats: stats.Handler(a.node.Containers()),
		Hosts: []string{hostWithoutPort(a.listen), a.nodeName},
	}
	if a.exec {
		config.Exec = a.node.Containers()
	}
	return config
}

// hostWithoutPort returns the host of an address, or "" if the address has no port.
func hostWithoutPort(address string) string {
	host, _, _ := net.SplitHostPort(address) // The address is valid: the agent has listened on it.
	return host
}

// startServers starts the debug servers: one on the agent's Unix socket and one on its TCP port, if each is open.
// Before that, it logs a warning if a flag names the port, because then other users can read the pods. The
// returned function stops the servers and waits for them.
func (a *agent) startServers() (stop func()) {
	a.warnIfPodsAreReadable()
	ctx, end := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, e := range []*endpoint{a.local, a.port} {
		if e == nil {
			continue
		}
		all.Go(func() {
			if err := e.server.Run(ctx, e.listener); err != nil {
				a.log.Error("the debug handler has failed", "address", e.listener.Addr().String(), "err", err)
			}
		})
	}
	return func() {
		end()
		all.Wait()
	}
}

// warnIfPodsAreReadable logs a warning with the users who can read the pods without credentials. It does
// nothing unless a flag sets the port or its address.
func (a *agent) warnIfPodsAreReadable() {
	if a.port == nil || !a.listenGiven {
		return
	}
	readers := "every local user"
	if ip, err := netip.ParseAddr(hostWithoutPort(a.port.listener.Addr().String())); err != nil || !ip.IsLoopback() {
		readers = "everybody who can connect to the address"
	}
	a.log.Warn("the debug handler requires no credentials: pods, their environment and their logs are not secret", "listen", a.portAddress(), "readers", readers)
}

// portAddress returns the address of the TCP port, or "none" if it is not open.
func (a *agent) portAddress() string { return a.port.String() }

// String returns the address of an endpoint, or "none".
func (e *endpoint) String() string {
	if e == nil {
		return "none"
	}
	return e.listener.Addr().String()
}
