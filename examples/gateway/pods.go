package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/node/statedir"
)

// restore applies the pods that an earlier process has saved. The node terminates other running pods only if all saved
// pods could be read.
func (g *gateway) restore(dir *statedir.Dir) (err error) {
	if g.saved, err = dir.Pods(); err != nil {
		return err
	}
	pods := g.saved.Load()
	for _, pod := range pods {
		if err := g.handle.Apply(pod); err != nil {
			return err
		}
	}
	if g.saved.ReadError() == nil {
		g.handle.SetComplete()
	}
	g.config.Log.Info("the saved pods are desired", "pods", len(pods), "err", g.saved.ReadError())
	return nil
}

// receiveUntilDone handles the messages of the bus until ctx is done. If the bus closes, the pods keep running.
func (g *gateway) receiveUntilDone(ctx context.Context) {
	for {
		m, err := g.bus.receive(ctx)
		if err != nil {
			g.config.Log.Info("the bus delivers no more messages", "err", err)
			return
		}
		if err := g.handleMessage(m); err != nil {
			g.config.Log.Error("cannot handle a message completely", "delete", m.Delete, "err", err)
		}
	}
}

// handleMessage saves a pod and then applies it, or deletes its file and then the pod. A pod that is invalid or cannot be
// saved is not applied, and an earlier version of the pod keeps running.
func (g *gateway) handleMessage(m message) error {
	if m.Delete != "" {
		namespace, name, found := strings.Cut(m.Delete, "/")
		if !found {
			return fmt.Errorf("cannot delete %q: expected NAMESPACE/NAME", m.Delete)
		}
		uid := node.UIDFromName(namespace, name)
		defer g.handle.Delete(uid) // Also if the file stays; then the next process runs the pod again.
		return g.saved.Drop(uid)
	}
	pod, err := m.pod()
	if err == nil {
		err = g.saved.Save(pod)
	}
	if err == nil {
		err = g.handle.Apply(pod)
	}
	return err
}

// reportUntilDone reports each change of a pod to the bus until ctx is done. It reports all changes from before that.
func (g *gateway) reportUntilDone(ctx context.Context) {
	for state := range g.node.Watch(ctx) {
		if err := g.bus.report(state); err != nil {
			g.config.Log.Warn("cannot report a pod", "err", err)
		}
	}
}
