package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/podkeel/podkeel/syncloop/debug"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/metrics"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/timeline"
	"github.com/podkeel/podkeel/syncloop/timeline/recorder"
)

// box is a node with its HTTP servers.
type box struct {
	out     io.Writer
	node    *node.Node
	records *recorder.Recorder
	metrics *metrics.Metrics
	events  *localapi.Events
	ctx     context.Context
	end     context.CancelFunc
	group   sync.WaitGroup
	mu      sync.Mutex
	err     error
}

// startPart runs a part of the box in a goroutine. If the part returns an error, all parts are stopped, and the
// error is stored.
func (b *box) startPart(part func() error) {
	b.group.Go(func() {
		err := part()
		if err != nil {
			b.end()
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.err = errors.Join(b.err, err)
	})
}

// stopAndWait stops all parts, waits for them, and returns their errors.
func (b *box) stopAndWait() error {
	b.end()
	b.group.Wait()
	return b.err
}

// startDebugServer listens on the address and starts to serve the debug handler, for a person at the box.
func (b *box) startDebugServer(address string) error {
	counted, err := metrics.Handler(b.metrics)
	if err != nil {
		return err
	}
	handler, err := debug.New(debug.Config{
		Pods:   b.node.Pods,
		Health: func() error { return b.node.Health().Err },
		Ready:  func() error { return b.node.Health().Waiting },
		Faults: b.node.Sources().Faults, Logs: b.node.Containers(), Metrics: counted,
		Explain: func(namespace, name string) (fmt.Stringer, bool) { return b.node.ExplainByName(namespace, name) },
		Timeline: func(namespace, name string) (timeline.Timeline, bool) {
			return b.records.TimelineByName(namespace, name, time.Now())
		},
	})
	if err != nil {
		return err
	}
	server, err := debug.NewServer(debug.ServerConfig{Handler: handler})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintln(b.out, "the debug handler on", listener.Addr())
	b.startPart(func() error { return server.Run(b.ctx, listener) })
	return nil
}

// startLocalAPIIfSet starts to serve the Kubernetes API to kubectl on a free port, and writes a kubeconfig to
// file. It does nothing if file is empty.
func (b *box) startLocalAPIIfSet(file string) error {
	if file == "" {
		return nil
	}
	secrets, err := localapi.NewCredentials()
	if err != nil {
		return err
	}
	api, err := localapi.New(localapi.Config{
		Node: b.node, NodeName: nodeName, Events: b.events, Authenticator: localapi.Token(secrets.Token),
		Finder: b.node.Containers(), Logs: b.node.Containers(), Exec: b.node.Containers(), Attach: b.node.Containers(), PortForward: b.node.Containers(),
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	service, err := localapi.NewService(localapi.ServiceConfig{API: api, Listener: listener, Credentials: secrets, Kubeconfig: file})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	b.startPart(func() error { return service.Run(b.ctx) })
	b.startPart(func() error {
		select {
		case <-b.ctx.Done():
		case <-api.Ready():
			fmt.Fprintln(b.out, "kubectl --kubeconfig", file, "get pods")
		}
		return nil
	})
	return nil
}
