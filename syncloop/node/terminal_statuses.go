package node

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
)

// terminalStatuses is Config.Pods.TerminalStatuses. A status that could not be saved, because the
// disk is full, is tried again with a backoff until it is saved, is dropped, or its pod is
// gone. No pod is synced for that. What the loop asks to be dropped is dropped likewise.
type terminalStatuses struct {
	TerminalStatuses
	*saver
	isKnown func(types.UID) bool
}

func newTerminalStatuses(e TerminalStatuses, guard *contain.Guard, known func(types.UID) bool, clk clock.Clock) *terminalStatuses {
	return &terminalStatuses{TerminalStatuses: e, saver: newSaver(guard, clk), isKnown: known}
}

// Save implements podsync.TerminalStatuses. After an error the ending is tried again later.
func (e *terminalStatuses) Save(pod *v1.Pod, status *v1.PodStatus) error {
	return e.applyNow(pod.UID, func() error { return e.save(pod, status) }, e.newSaveRetry(pod, status))
}

// save hands an ending over; a panic there is an error, after which it is tried again.
func (e *terminalStatuses) save(pod *v1.Pod, status *v1.PodStatus) (err error) {
	defer e.guard.Recover("TerminalStatuses.Save", &err)
	return e.TerminalStatuses.Save(pod, status)
}

// newSaveRetry returns what tries one ending again, unless it is of no use: a pod that is not
// known comes back as a new one.
func (e *terminalStatuses) newSaveRetry(pod *v1.Pod, status *v1.PodStatus) func() error {
	kept := status.DeepCopy()
	return func() error {
		if !e.isKnown(pod.UID) {
			return nil
		}
		if err := e.save(pod, kept); err != nil {
			e.log.Debug("how a pod has ended could still not be kept", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
			return err
		}
		e.log.Info("how a pod has ended is kept now", "pod", podmanager.FullName(pod), "uid", pod.UID)
		return nil
	}
}

// Drop implements podsync.TerminalStatuses. After an error it is tried again later.
func (e *terminalStatuses) Drop(uid types.UID) error {
	drop := func() error { return e.drop(uid) }
	return e.applyNow(uid, drop, drop)
}

// requestDrop asks Run to drop the stored ending of a former incarnation of a UID soon. A Save that
// begins later stands. It does not block.
func (e *terminalStatuses) requestDrop(uid types.UID) {
	told := false
	e.postpone(uid, e.executor.Now(), func() error {
		err := e.drop(uid)
		if err != nil && !told {
			told = true
			e.log.Error("how a former pod of this UID has ended could not be dropped: if the agent is started again the pod may not run", "uid", uid, "err", err)
		}
		return err
	})
}

// requestSave asks Run to save the terminal status of a rejected pod soon. A Drop that begins later
// stands. It does not block.
func (e *terminalStatuses) requestSave(pod *v1.Pod, status v1.PodStatus) {
	logged, kept := false, status.DeepCopy()
	e.postpone(pod.UID, e.executor.Now(), func() error {
		if !e.isKnown(pod.UID) {
			return nil
		}
		err := e.save(pod, kept)
		if err != nil && !logged {
			logged = true
			e.log.Error("the status of a rejected pod could not be kept, which is tried again: if the agent is started before, the pod may run", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
		}
		return err
	})
}

// drop drops an ending; a panic there is an error, after which it is tried again.
func (e *terminalStatuses) drop(uid types.UID) (err error) {
	defer e.guard.Recover("TerminalStatuses.Drop", &err)
	return e.TerminalStatuses.Drop(uid)
}

// Remove drops the ending of a pod that is gone, for the collector of directories.
func (e *terminalStatuses) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	leave, err := e.lockPod(ctx, uid)
	if err != nil {
		return err
	}
	defer leave()
	if !gone(uid) {
		return nil
	}
	e.cancel(uid)
	if store, ok := e.TerminalStatuses.(conditionalRemover); ok {
		return store.Remove(ctx, uid, gone)
	}
	return e.TerminalStatuses.Drop(uid)
}
