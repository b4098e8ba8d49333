package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/node"
)

// fleet is many nodes in one process.
type fleet struct {
	*options
	out      io.Writer
	logs     *dedupHandler
	requests func() int64
	nodes    []*cluster.Node
}

// createAndRunNodes connects and creates the nodes, runs them, and prints counts until ctx is done. If one node
// fails, it stops all. It returns an error if the first node may not access the API server.
func (f *fleet) createAndRunNodes(ctx context.Context, connect func(name string) (apiserver.Server, error)) error {
	for i := range f.options.nodes {
		server, err := connect(f.nodeName(i))
		if err != nil {
			return err
		}
		if i == 0 {
			if err := checkAccessBeforeWrites(ctx, server, f.nodeName(i)); err != nil {
				return addAdvice(err, f.impersonate)
			}
		}
		n, err := f.newNode(f.nodeName(i), server)
		if err != nil {
			return err
		}
		f.nodes = append(f.nodes, n)
	}
	fmt.Fprintf(f.out, "joining %d nodes, %s to %s; remove them with: kubectl delete nodes -l %s=%s\n",
		len(f.nodes), f.nodeName(0), f.nodeName(len(f.nodes)-1), fleetLabel, f.prefix)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(f.nodes))
	var group sync.WaitGroup
	for i, n := range f.nodes {
		group.Go(func() {
			if errs[i] = n.Run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	f.printCountsUntilDone(ctx)
	group.Wait()
	f.logs.printAndResetRepeated()
	return errors.Join(errs...)
}

// newNode returns one node of the fleet, which does not run yet.
func (f *fleet) newNode(name string, server apiserver.Server) (*cluster.Node, error) {
	labels := map[string]string{fleetLabel: f.prefix}
	maps.Copy(labels, f.labels)
	return cluster.New(cluster.Config{Server: server, Node: node.Config{
		Name: name, Scheduling: node.SchedulingConfig{Labels: labels, Taints: f.taints, Capacity: f.capacity, MaxPods: podCapacity(f.capacity)},
		Log: slog.New(f.logs).With("node", name), Pods: node.PodsConfig{OrphanGrace: -1},
	}})
}

// podCapacity returns the number of pods in the capacity.
func podCapacity(capacity v1.ResourceList) int { return int(capacity.Pods().Value()) }

// checkAccessBeforeWrites requests the Node object, before anything is created on the server. It returns nil if
// the object does not exist, and any other error.
func checkAccessBeforeWrites(ctx context.Context, server apiserver.Server, name string) error {
	const limit = 15 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := server.Nodes().Get(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// addAdvice adds an advice to the user to the error of the first request. It returns an error for which it has
// no advice unchanged.
func addAdvice(err error, impersonate bool) error {
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server does not know the user of the kubeconfig: use newer credentials: %w", err)
	case apierrors.IsForbidden(err) && impersonate:
		return fmt.Errorf("the user of the kubeconfig may not act as a node: grant it the verb impersonate on users and groups, or use --impersonate=false with a user that may write nodes, leases and pods: %w", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the user of the kubeconfig may not read nodes: use one that may write nodes, leases and pods: %w", err)
	case apierrors.ReasonForError(err) == "":
		return fmt.Errorf("the API server does not answer: check its address and certificate in the kubeconfig: %w", err)
	}
	return err
}

// printCountsUntilDone prints the counts periodically until ctx is done. It prints nothing in a period without
// a change. It also prints how often log messages were repeated.
func (f *fleet) printCountsUntilDone(ctx context.Context) {
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	var last fleetCounts
	began, asked, at := time.Now(), f.requests(), time.Now()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintf(f.out, "ending after %s\n", time.Since(began).Round(time.Second))
			return
		case now := <-tick.C:
			have, sum := f.countAll(), f.requests()
			if have != last {
				perSecond := float64(sum-asked) / now.Sub(at).Seconds()
				fmt.Fprintf(f.out, "%5.0fs  %s  %.1f calls/s\n", now.Sub(began).Seconds(), have, perSecond)
			}
			last, asked, at = have, sum, now
			f.logs.printAndResetRepeated()
		}
	}
}

// countAll returns counts of all nodes and their pods.
func (f *fleet) countAll() fleetCounts {
	var c fleetCounts
	for _, n := range f.nodes {
		c.addNode(n.Object(), n.Node().Pods())
	}
	return c
}
