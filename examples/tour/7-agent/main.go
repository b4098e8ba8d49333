package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/syncloop/node"
)

//go:embed manifests
var manifests embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run(ctx, clock.RealClock{}, os.Stdout)
}

// run runs the static pods of the directory for eight seconds, or until ctx ends. Then it stops them.
func run(ctx context.Context, clk clock.Clock, out io.Writer) {
	start := clk.Now()
	files := must(manifest.New(manifest.Config{FS: manifests, Path: "manifests", NodeName: "edge-1", Clock: clk}))
	agent := must(node.New(node.Config{
		Name:  "edge-1",
		Pods:  node.PodsConfig{Sources: map[string]source.Source{podmanager.FileSource: files}},
		Clock: clk, // Runtime is nil: the node makes a runtime in memory.
	}))
	nodeContext, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- agent.Run(nodeContext) }()

	printPods := func() {
		for _, pod := range agent.Pods() {
			fmt.Fprintln(out, clk.Since(start).Round(time.Second), pod.Name, node.Summarize(pod, false))
		}
	}
	for ctx.Err() == nil && clk.Since(start) < 8*time.Second {
		select {
		case <-ctx.Done():
		case <-clk.After(4 * time.Second):
			printPods()
		}
	}
	fmt.Fprintln(out, "drain")
	check(agent.Drain(nodeContext, node.DrainOptions{}))
	printPods()
	stop()
	check(<-ended)
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
