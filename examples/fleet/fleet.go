package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/podkeel/podkeel/runtime/memory"
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
	commands io.Reader // lines for executeCommand; nil: none
	members  []*member
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
		f.members = append(f.members, &member{name: f.nodeName(i), server: server, machine: memory.New(memory.Config{})})
	}
	fmt.Fprintf(f.out, "joining %d nodes, %s to %s; remove them with: kubectl delete nodes -l %s=%s\n",
		len(f.members), f.nodeName(0), f.nodeName(len(f.members)-1), fleetLabel, f.prefix)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var errs []error
	for _, m := range f.members {
		node, err := f.newNode(m)
		if err != nil {
			errs = append(errs, err)
			cancel()
			break
		}
		m.startAgent(ctx, node, cancel)
	}
	f.printCountsUntilDone(ctx, cancel)
	for _, m := range f.members {
		errs = append(errs, m.stopAgent())
	}
	f.logs.printAndResetRepeated()
	return errors.Join(errs...)
}

// newNode returns the agent of a node of the fleet, which does not run yet.
func (f *fleet) newNode(m *member) (*cluster.Node, error) {
	labels := map[string]string{fleetLabel: f.prefix}
	maps.Copy(labels, f.labels)
	return cluster.New(cluster.Config{Server: m.server, Node: node.Config{
		Name: m.name, Runtime: m.machine, Scheduling: node.SchedulingConfig{Labels: labels, Taints: f.taints, Capacity: f.capacity, MaxPods: podCapacity(f.capacity)},
		Log: slog.New(f.logs).With("node", m.name), Pods: node.PodsConfig{OrphanGrace: -1},
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
// a change. It also prints how often log messages were repeated, and executes commands. cancel ends ctx when a node
// fails.
func (f *fleet) printCountsUntilDone(ctx context.Context, cancel func()) {
	var commands <-chan string
	if f.commands != nil {
		commands = readLines(ctx, f.commands)
	}
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	var last fleetCounts
	began, asked, at := time.Now(), f.requests(), time.Now()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintf(f.out, "ending after %s\n", time.Since(began).Round(time.Second))
			return
		case line := <-commands:
			fmt.Fprintln(f.out, f.executeCommand(ctx, line, cancel))
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

// countAll returns counts of all nodes and of the pods on nodes whose agents run. A stopped node is not ready.
func (f *fleet) countAll() fleetCounts {
	var c fleetCounts
	for _, m := range f.members {
		if m.node == nil {
			c.nodes++
			continue
		}
		c.addNode(m.node.Object(), m.node.Node().Pods())
	}
	return c
}
