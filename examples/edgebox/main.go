// Command edgebox shows a node agent for an edge device as one small program: static pods from a directory and from a
// server, no cluster, and a debug handler.
//
//	go run ./examples/edgebox [--manifests DIR] [--manifest-url URL [--state-dir DIR]] \
//	    [--listen 127.0.0.1:0] [--write-kubeconfig FILE]
//
// The pods follow the files of the directory and the answers of the server. The address of --listen serves /healthz,
// /pods, /explain, /logs, /timeline and /metrics. With --write-kubeconfig kubectl shows the pods too. Without a
// directory the program runs two embedded pods. It runs until it is interrupted, and then stops its pods. Containers
// are simulated in memory: a real device sets node.Config.Runtime to package runtime/cri, as examples/agent does, which
// has many more flags.
//
// main.go creates the box, sources.go defines the sources of its pods, and box.go serves HTTP.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/metrics"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/timeline/recorder"
)

// nodeName is the name of the node.
const nodeName = "edge-1"

func main() {
	var o options
	flag.StringVar(&o.manifests, "manifests", "", "the directory of static pods; empty: two pods of the program")
	flag.StringVar(&o.manifestURL, "manifest-url", "", "the address of further static pods; empty: there are none")
	flag.StringVar(&o.state, "state-dir", "", "where the last answer of that server, and the last good version of each manifest, are kept; empty: nowhere")
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

// options holds the values of the flags.
type options struct{ manifests, manifestURL, state, listen, kubeconfig string }

// run runs the box until ctx is done, and then drains the node. If a part of the box fails, it stops all parts
// and returns the error.
func run(ctx context.Context, out io.Writer, o options) error {
	b, err := newBox(out, o)
	if err != nil {
		return err
	}
	b.ctx, b.end = context.WithCancel(context.Background())
	defer b.end()
	if err := errors.Join(b.startDebugServer(o.listen), b.startLocalAPIIfSet(o.kubeconfig)); err != nil {
		return errors.Join(err, b.stopAndWait())
	}
	b.startPart(func() error { return b.node.Run(b.ctx) })
	b.startPart(b.printChanges)
	select {
	case <-ctx.Done():
	case <-b.ctx.Done(): // A part has failed.
		return b.stopAndWait()
	}
	drain, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	return errors.Join(b.node.Drain(drain, node.DrainOptions{}), b.stopAndWait())
}

// newBox creates the box and its node, with metrics and event recorders. The node does not run yet.
func newBox(out io.Writer, o options) (b *box, err error) {
	b = &box{out: out, metrics: metrics.New(metrics.Config{})}
	if b.records, err = recorder.New(recorder.Config{}); err != nil {
		return nil, err
	}
	if b.events, err = localapi.NewEvents(nodeName, nil); err != nil {
		return nil, err
	}
	config := node.Config{Name: nodeName, Hooks: node.Hooks{Timeline: b.records.Record}, Recorder: b.events}
	if config.Pods.Sources, err = o.podSources(); err != nil {
		return nil, err
	}
	b.metrics.Instrument(&config)
	if b.node, err = node.New(config); err != nil {
		return nil, err
	}
	b.metrics.Observe(b.node)
	return b, nil
}

// printChanges prints a line for each change of a pod, until the box stops.
func (b *box) printChanges() error {
	for state := range b.node.Watch(b.ctx) {
		fmt.Fprintln(b.out, state.Pod.Name, state.Summary())
	}
	return nil
}
