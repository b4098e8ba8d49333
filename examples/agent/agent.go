package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/syncloop/debug"
	"github.com/podkeel/podkeel/syncloop/node"
)

// examples are what runs when nobody says anything else.
//
//go:embed manifests
var examples embed.FS

// stopTimeout bounds --on-exit stop: longer than any sensible grace.
const stopTimeout = 90 * time.Second

// agent is a node with a face: lines for people, a debug handler for tools.
type agent struct {
	options
	node     *node.Node
	listener net.Listener // nil without --listen
	server   *http.Server
	table    *table
}

// newAgent prepares everything that can fail because of what was typed.
func newAgent(o options, stdout, stderr io.Writer) (*agent, error) {
	files, err := manifest.New(manifestConfig(o))
	if err != nil {
		return nil, err
	}
	a := &agent{options: o, table: newTable(stdout)}
	a.node, err = node.New(node.Config{
		Name:         o.nodeName,
		Sources:      map[string]source.Source{podmanager.FileSource: files},
		MaxSyncs:     o.maxSyncs,
		Resync:       o.resync,
		Relist:       o.relist,
		Housekeeping: o.housekeeping,
		Log:          o.log,
	})
	if err != nil {
		return nil, err
	}
	return a, a.bind()
}

func manifestConfig(o options) manifest.Config {
	c := manifest.Config{Path: o.manifests, NodeName: o.nodeName, Report: reporter(o.log)}
	if o.manifests == "" {
		c.FS, _ = fs.Sub(examples, "manifests") // The path is constant and valid.
		c.Path = "."
	}
	return c
}

// reporter tells people what is wrong with a manifest, a line for each fault.
func reporter(log *slog.Logger) func(manifest.Problem) {
	return func(p manifest.Problem) {
		now := "nothing of this file runs"
		if p.Kept {
			now = "its last good version stays in force"
		}
		for line := range strings.SplitSeq(p.String(), "\n") {
			log.Warn("a manifest can not be used", "fault", line, "now", now)
		}
	}
}

// bind takes the port now, so that a taken one is told before anything runs.
func (a *agent) bind() (err error) {
	if a.listen == "" {
		return nil
	}
	handler, err := debug.New(debug.Config{Pods: a.node.Pods, Healthy: a.node.Healthy, Ready: a.node.Waiting})
	if err != nil {
		return err
	}
	if a.listener, err = net.Listen("tcp", a.listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	a.server = &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	return nil
}

// run runs the node until a signal comes.
func (a *agent) run(ctx context.Context, signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { a.follow(ctx) })
	others.Go(a.serve)
	defer a.hangUp()
	others.Go(func() { a.obey(ctx, cancel, signals) })
	a.log.Info("the agent runs", "node", a.nodeName, "manifests", a.described(), "listen", a.address())
	err := a.node.Run(ctx)
	cancel() // If it failed by itself, the others do not know yet.
	return err
}

// follow prints every change.
func (a *agent) follow(ctx context.Context) {
	for state := range a.node.Watch(ctx) {
		a.table.show(state)
	}
}

// obey ends the node at the first signal, gently if asked to, and at the second
// in any case.
func (a *agent) obey(ctx context.Context, end context.CancelFunc, signals <-chan os.Signal) {
	defer end()
	select {
	case <-ctx.Done():
		return
	case s := <-signals:
		a.log.Info("the agent ends", "signal", s.String(), "pods", map[bool]string{true: "stopped", false: "left"}[a.stopOnExit])
	}
	if !a.stopOnExit {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := a.node.Drain(ctx); err != nil {
		a.log.Warn("not every pod has ended", "err", err)
	}
}

func (a *agent) serve() {
	if a.server == nil {
		return
	}
	if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
		a.log.Error("the debug handler has failed", "err", err)
	}
}

func (a *agent) hangUp() {
	if a.server != nil {
		_ = a.server.Close() // It only reads: nothing is lost.
	}
}

func (a *agent) described() string {
	if a.manifests == "" {
		return "embedded examples"
	}
	return a.manifests
}

func (a *agent) address() string {
	if a.listener == nil {
		return "none"
	}
	return a.listener.Addr().String()
}
