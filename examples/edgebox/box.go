package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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

// serve answers requests until the box ends.
func (b *box) serve(what, address string, config debug.ServerConfig) (net.Addr, error) {
	server, err := debug.NewServer(config)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(b.out, what, "on", listener.Addr())
	b.start(func() error { return server.Run(b.ctx, listener) })
	return listener.Addr(), nil
}

// serveDebug serves what a person at the box asks.
func (b *box) serveDebug(address string) error {
	counted, err := metrics.Handler(b.metrics)
	if err != nil {
		return err
	}
	handler, err := debug.New(debug.Config{
		Pods: b.node.Pods, Healthy: b.node.Healthy, Ready: b.node.Waiting, Logs: b.node, Metrics: counted,
		Explain: func(namespace, name string) (fmt.Stringer, bool) { return b.node.ExplainByName(namespace, name) },
		Timeline: func(namespace, name string) (timeline.Timeline, bool) {
			return b.records.Named(namespace, name, time.Now())
		},
	})
	if err == nil {
		_, err = b.serve("the debug handler", address, debug.ServerConfig{Handler: handler})
	}
	return err
}

// serveKubectl serves the Kubernetes API on a free port, if there is a file for it. The file is written
// when clients are answered.
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
		Finder: b.node, Logs: b.node, Exec: b.node, Attach: b.node, PortForward: b.node,
	})
	if err != nil {
		return err
	}
	tls, err := secrets.TLS("127.0.0.1")
	if err != nil {
		return err
	}
	address, err := b.serve("the Kubernetes API", "127.0.0.1:0", debug.ServerConfig{Handler: api, TLS: tls})
	if err != nil {
		return err
	}
	b.start(func() error { return api.Run(b.ctx) })
	b.start(func() error {
		select {
		case <-b.ctx.Done():
			return nil
		case <-api.Ready():
		}
		if err := os.WriteFile(file, secrets.Kubeconfig(address.String()), 0o600); err != nil {
			return err
		}
		fmt.Fprintln(b.out, "kubectl --kubeconfig", file, "get pods")
		return nil
	})
	return nil
}
