package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/podkeel/podkeel/syncloop/debug"
	"github.com/podkeel/podkeel/syncloop/stats"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// bind takes the port now, so that a taken one is reported before anything runs.
func (a *agent) bind() (err error) {
	if a.listen == "" {
		return nil
	}
	config := debug.Config{
		Pods:    a.node.Pods,
		Healthy: a.node.Healthy,
		Ready:   a.node.Waiting,
		Faults:  a.node.SourceFaults,
		Explain: func(namespace, name string) (fmt.Stringer, bool) { return a.node.ExplainByName(namespace, name) },
		Timeline: func(namespace, name string) (timeline.Timeline, bool) {
			return a.records.Named(namespace, name, time.Now())
		},
		Logs:    a.node,
		Metrics: a.metrics.All, ResourceMetrics: a.metrics.Resources, Stats: stats.Handler(a.node),
		Hosts: []string{hostOf(a.listen), a.nodeName},
	}
	if a.exec {
		config.Exec = a.node
	}
	handler, err := debug.New(config)
	if err != nil {
		return err
	}
	if a.listener, err = net.Listen("tcp", a.listen); err != nil {
		return fmt.Errorf("--listen %q: %w", a.listen, err)
	}
	a.server, err = debug.NewServer(debug.ServerConfig{Handler: handler, Log: a.log})
	return err
}

// hostOf leaves the port out.
func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address) // It has been listened at.
	return host
}

// serve answers requests until the function it returns is called.
func (a *agent) serve() (hangUp func()) {
	if a.server == nil {
		return func() {}
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.server.Run(ctx, a.listener); err != nil {
			a.log.Error("the debug handler has failed", "err", err)
		}
	}()
	return func() {
		end()
		<-done
	}
}

func (a *agent) address() string {
	if a.listener == nil {
		return "none"
	}
	return a.listener.Addr().String()
}
