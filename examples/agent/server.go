package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/podkeel/podkeel/syncloop/debug"
)

// bind takes the port now, so that a taken one is told before anything runs.
func (a *agent) bind() (err error) {
	if a.listen == "" {
		return nil
	}
	config := debug.Config{
		Pods:    a.node.Pods,
		Healthy: a.node.Healthy,
		Ready:   a.node.Waiting,
		Explain: func(namespace, name string) (fmt.Stringer, bool) { return a.node.ExplainByName(namespace, name) },
		Logs:    a.node,
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
	a.server = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	return nil
}

// serve answers requests until the function it returns is called.
func (a *agent) serve() (hangUp func()) {
	if a.server == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("the debug handler has failed", "err", err)
		}
	}()
	return func() {
		_ = a.server.Close() // It only reads: nothing is lost.
		<-done
	}
}

func (a *agent) address() string {
	if a.listener == nil {
		return "none"
	}
	return a.listener.Addr().String()
}
