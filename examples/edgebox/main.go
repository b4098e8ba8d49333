// Command edgebox shows a node agent for a box at the edge as one small program: static pods from a
// directory, no cluster, and a box that can be looked at.
//
//	go run ./examples/edgebox [--manifests DIR] [--listen 127.0.0.1:0] [--write-kubeconfig FILE]
//
// Pods come and go with the files of the directory. /healthz, /pods, /explain, /logs, /timeline and
// /metrics are served on the address of --listen. With --write-kubeconfig kubectl sees the pods too. Without a
// directory the program runs two pods of its own. It runs until it is interrupted, and stops its pods
// then. Containers run in memory: a real box sets node.Config.Runtime to package runtime/cri, as
// examples/agent does, which has many more flags.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"time"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/metrics"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/timeline/recorder"
)

//go:embed manifests
var own embed.FS

// name is the node's.
const name = "edge-1"

func main() {
	var o options
	flag.StringVar(&o.manifests, "manifests", "", "the directory of static pods; empty: two pods of the program")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "where the box can be looked at")
	flag.StringVar(&o.kubeconfig, "write-kubeconfig", "", "the file for kubectl; empty: no Kubernetes API")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "edgebox:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct{ manifests, listen, kubeconfig string }

// run runs the box until ctx ends, and stops its pods then.
func run(ctx context.Context, out io.Writer, o options) error {
	files, err := manifest.New(o.source())
	if err != nil {
		return err
	}
	b := &box{out: out, metrics: metrics.New(metrics.Config{})}
	if b.records, err = recorder.New(recorder.Config{}); err != nil {
		return err
	}
	config := node.Config{Name: name, Sources: map[string]source.Source{podmanager.FileSource: files}, Timeline: b.records.Record}
	if o.kubeconfig != "" {
		if err := b.recordEvents(&config); err != nil {
			return err
		}
	}
	b.metrics.Instrument(&config)
	if b.node, err = node.New(config); err != nil {
		return err
	}
	b.metrics.Observe(b.node)
	b.ctx, b.end = context.WithCancel(context.Background())
	defer b.end()
	if err := errors.Join(b.serveDebug(o.listen), b.serveKubectl(o.kubeconfig)); err != nil {
		return errors.Join(err, b.wait())
	}
	b.start(func() error { return b.node.Run(b.ctx) })
	b.start(b.show)
	select {
	case <-ctx.Done():
	case <-b.ctx.Done(): // A part has failed.
		return b.wait()
	}
	drain, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	return errors.Join(b.node.Drain(drain), b.wait())
}

// source says where the static pods are.
func (o options) source() manifest.Config {
	c := manifest.Config{Path: o.manifests, NodeName: name}
	if c.Path == "" {
		c.FS, _ = fs.Sub(own, "manifests") // The path is constant and valid.
		c.Path = "."
	}
	return c
}

// show prints a line for each change of a pod.
func (b *box) show() error {
	for state := range b.node.Watch(b.ctx) {
		fmt.Fprintln(b.out, state.Pod.Name, state.Summary())
	}
	return nil
}

// recordEvents has kubectl see the events of the node.
func (b *box) recordEvents(config *node.Config) (err error) {
	b.events, err = localapi.NewEvents(name, nil)
	config.Recorder = b.events
	return err
}
