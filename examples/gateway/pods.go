package main

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/syncloop/node/statedir"
)

// applySavedPods applies the pods that an earlier process has saved. It reports and skips a pod whose name another pod has,
// and a pod that no node can run, for example after a person has edited its file. The node terminates running pods that
// were not applied only if all saved pods could be read and applied. So the containers of a skipped pod keep running.
func (g *gateway) applySavedPods(dir *statedir.Dir) (err error) {
	if g.saved, err = dir.Pods(); err != nil {
		return err
	}
	applied, complete := 0, g.saved.ReadError() == nil
	for _, pod := range g.saved.Load() {
		if err := g.applySavedPod(pod); err != nil {
			g.config.Log.Error("cannot apply a saved pod; it is skipped, and this process terminates no unknown pod",
				"pod", pod.Namespace+"/"+pod.Name, "uid", pod.UID, "err", err)
			complete = false
			continue
		}
		applied++
	}
	if complete {
		g.handle.SetComplete()
	}
	g.config.Log.Info("the saved pods are desired", "pods", applied, "complete", complete, "err", g.saved.ReadError())
	return nil
}

// applySavedPod applies a pod, or returns an error that names every fault. It does not apply the rules that only an API
// server has, because a newer version of this program may have more of them.
func (g *gateway) applySavedPod(pod *v1.Pod) error {
	if faults := slices.Concat(validation.ValidateAccepted(pod), validation.ValidateNotMirror(pod)); len(faults) > 0 {
		return faults.ToAggregate()
	}
	return g.handle.Apply(pod)
}

// receiveUntilDone handles the messages of the bus until ctx is done. If the bus closes, the pods keep running.
func (g *gateway) receiveUntilDone(ctx context.Context) {
	for {
		m, err := g.bus.receiveMessage(ctx)
		if err != nil {
			g.config.Log.Info("the bus delivers no more messages", "err", err)
			return
		}
		if err := g.handleMessage(m); err != nil {
			g.config.Log.Error("cannot handle a message completely", "delete", cutAddress(m.Delete), "err", err)
		}
	}
}

// maxAddress is the longest valid NAMESPACE/NAME in bytes.
const maxAddress = utilvalidation.DNS1123LabelMaxLength + len("/") + utilvalidation.DNS1123SubdomainMaxLength

// cutAddress returns the address of a pod for the log. It cuts an address that is too long to be valid.
func cutAddress(address string) string {
	if len(address) <= maxAddress {
		return address
	}
	return address[:maxAddress] + "..."
}

// handleMessage applies or deletes a pod. It returns an error for a message that does neither.
func (g *gateway) handleMessage(m message) error {
	if err := m.checkFields(); err != nil {
		return err
	}
	if m.Delete != "" {
		return g.deletePod(m)
	}
	return g.applyPod(m)
}

// applyPod saves a pod and then applies it. A pod that is invalid or cannot be saved is not applied, and an earlier
// version of the pod keeps running. The pod has the UID of the saved pod with its name, so that each message about the
// name is about the same pod. After a deletion the name gets a new UID.
func (g *gateway) applyPod(m message) error {
	pod, err := m.parsePod()
	if err != nil {
		return fmt.Errorf("the pod is not applied: %w", err)
	}
	if pod.UID, err = g.saved.UIDForName(pod.Namespace, pod.Name); err == nil {
		err = g.saved.Save(pod)
	}
	if err != nil {
		return fmt.Errorf("pod %s/%s is not applied: %w", pod.Namespace, pod.Name, err)
	}
	return g.handle.Apply(pod)
}

// deletePod deletes the file of a pod and then the pod. A pod that does not exist is no error.
func (g *gateway) deletePod(m message) error {
	namespace, name, err := m.parseAddress()
	if err != nil {
		return err
	}
	uid, err := g.saved.UIDForName(namespace, name)
	if err != nil {
		return err
	}
	defer g.handle.Delete(uid) // Also if the file stays; then the next process runs the pod again.
	return g.saved.Drop(uid)
}

// reportUntilDone reports each change of a pod to the bus until ctx is done. It reports all changes from before that.
func (g *gateway) reportUntilDone(ctx context.Context) {
	for state := range g.node.Watch(ctx) {
		if err := g.bus.reportPod(state); err != nil {
			g.config.Log.Warn("cannot report a pod", "err", err)
		}
	}
}
