package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/node/statedir"
)

// defaultState is the default state directory.
const defaultState = "/var/lib/gateway"

// drainTimeout is less than the time after which systemd kills a service.
const drainTimeout = 80 * time.Second

func main() {
	g := gateway{config: node.Config{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}}
	state := flag.String("state-dir", defaultState, "directory with the state of the node; with --memory a temporary one")
	endpoint := flag.String("cri-endpoint", "unix:///run/containerd/containerd.sock", "socket of containerd")
	flag.BoolVar(&g.evicts, "eviction", true, "evict pods under the pressure of memory, disk and processes")
	memory := flag.Bool("memory", false, "simulate the containers")
	flag.StringVar(&g.config.Name, "node-name", "gateway", "name of the node")
	ip := flag.String("node-ip", "127.0.0.1", "address of the node")
	flag.Parse()
	g.config.Containers.HostIPs = []string{*ip}
	g.bus = newLines(os.Stdin, os.Stdout, func(err error) { g.config.Log.Error("a line of the bus is skipped", "err", err) })
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "gateway: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	if *memory {
		*endpoint = ""
		if *state == defaultState { // It needs root.
			*state = filepath.Join(os.TempDir(), fmt.Sprint("podkeel-gateway-", os.Getuid()))
		}
	}
	if err := g.run(*state, *endpoint, dropDuplicateSignals(signals)); err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

// duplicateSignalGap is the time within which two signals count as one. timeout(1) sends a signal to its command and
// then to the whole process group.
const duplicateSignalGap = 100 * time.Millisecond

// dropDuplicateSignals passes signals on, except one that is the same as the last passed one, within duplicateSignalGap
// after it. It ends when signals is closed.
func dropDuplicateSignals(signals <-chan os.Signal) <-chan os.Signal {
	passed := make(chan os.Signal, cap(signals))
	go func() {
		defer close(passed)
		var last os.Signal
		var lastTime time.Time
		for s := range signals {
			if now := time.Now(); s != last || now.Sub(lastTime) >= duplicateSignalGap {
				last, lastTime = s, now
				passed <- s
			}
		}
	}()
	return passed
}

// gateway passes the pods of a bus to a node.
type gateway struct {
	bus    bus
	config node.Config
	evicts bool
	node   *node.Node
	handle *source.Handle
	saved  *checkpoint.Pods
}

// run runs the node until a signal arrives. An empty endpoint is the runtime of g.config, or else the one in memory.
func (g *gateway) run(state, endpoint string, signals <-chan os.Signal) (err error) {
	dir, err := statedir.Open(statedir.Config{Root: state, SecretsInMemory: endpoint != "" && goruntime.GOOS == "linux", Log: g.config.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	g.handle = source.NewHandleWith(source.HandleConfig{Incomplete: true, NodeName: g.config.Name})
	g.config.Pods.Sources = map[string]source.Source{"bus": g.handle}
	g.config.Scheduling.WhenFull = syncloop.Wait
	g.config.Scheduling.Evictable = func(pod *v1.Pod) bool {
		return pod.Spec.Priority == nil || *pod.Spec.Priority < node.SystemCriticalPriority
	}
	if endpoint != "" {
		err = g.configureContainerd(dir, endpoint)
	}
	if err = errors.Join(err, dir.Configure(&g.config), g.applySavedPods(dir)); err != nil {
		return err
	}
	if g.node, err = node.New(g.config); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	reporting, stopReporting := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	defer parts.Wait()
	defer stopReporting() // When the node has stopped: the bus gets the last states.
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- g.node.Run(ctx) }()
	parts.Go(func() { g.receiveUntilDone(ctx) })
	parts.Go(func() { g.reportUntilDone(reporting) })
	select {
	case err := <-ended:
		return err
	case s := <-signals:
		var left error
		if s == syscall.SIGTERM {
			left = g.drainUntilSignal(ctx, signals)
		}
		stop()
		select {
		case err := <-ended:
			return errors.Join(left, err)
		case <-signals:
			return errors.Join(left, errRuntimeNotAwaited)
		}
	}
}

var (
	// errSignalDuringDrain means that a second signal has ended the termination of the pods.
	errSignalDuringDrain = errors.New("a second signal has ended the wait for the pods")
	// errRuntimeNotAwaited means that a signal has ended the wait for the node.
	errRuntimeNotAwaited = errors.New("a signal has ended the wait for the runtime: calls to it may still take effect")
)

// drainUntilSignal terminates all pods within their grace periods. It returns an error if pods still run after
// drainTimeout, or at once after a signal.
func (g *gateway) drainUntilSignal(ctx context.Context, signals <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- g.node.Drain(ctx, node.DrainOptions{}) }()
	select {
	case err := <-drained:
		return err
	case <-signals:
		cancel()
		return errors.Join(errSignalDuringDrain, <-drained)
	}
}
