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

// box is a node with all that is served of it.
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

// start runs a part of the box. If it fails the others end too.
func (b *box) start(part func() error) {
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

// wait ends all parts and returns what was wrong with them.
func (b *box) wait() error {
	b.end()
	b.group.Wait()
	return b.err
}

// serveDebug serves what a person at the box asks.
func (b *box) serveDebug(address string) error {
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
	b.start(func() error { return server.Run(b.ctx, listener) })
	return nil
}

// serveKubectl serves the Kubernetes API on a free port, if there is a file for its kubeconfig.
func (b *box) serveKubectl(file string) error {
	if file == "" {
		return nil
	}
	secrets, err := localapi.NewCredentials()
	if err != nil {
		return err
	}
	api, err := localapi.New(localapi.Config{
		Node: b.node, NodeName: name, Events: b.events, Authenticator: localapi.Token(secrets.Token),
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
	b.start(func() error { return service.Run(b.ctx) })
	b.start(func() error {
		select {
		case <-b.ctx.Done():
		case <-api.Ready():
			fmt.Fprintln(b.out, "kubectl --kubeconfig", file, "get pods")
		}
		return nil
	})
	return nil
}
