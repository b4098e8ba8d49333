package node

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
)

// terminalStatuses is Config.Pods.TerminalStatuses with retries. A status that could not be saved, for
// example because the disk is full, is saved later with a backoff, until it is saved or dropped or the
// pod is unknown. Failed drops are retried in the same way. The retries do not sync the pod.
type terminalStatuses struct {
	TerminalStatuses
	*saver
	isKnown func(types.UID) bool
}

func newTerminalStatuses(e TerminalStatuses, guard *contain.Guard, known func(types.UID) bool, clk clock.Clock) *terminalStatuses {
	return &terminalStatuses{TerminalStatuses: e, saver: newSaver(guard, clk), isKnown: known}
}

// Save implements podsync.TerminalStatuses. A failed save is retried later.
func (e *terminalStatuses) Save(pod *v1.Pod, status *v1.PodStatus) error {
	return e.applyNow(pod.UID, func() error { return e.save(pod, status) }, e.newSaveRetry(pod, status))
}

// save saves a terminal status. A panic of the store is returned as an error.
func (e *terminalStatuses) save(pod *v1.Pod, status *v1.PodStatus) (err error) {
	defer e.guard.Recover("TerminalStatuses.Save", &err)
	return e.TerminalStatuses.Save(pod, status)
}

// newSaveRetry returns a function that saves the status again, unless the pod is unknown by then: a pod
// that comes back starts as a new pod.
func (e *terminalStatuses) newSaveRetry(pod *v1.Pod, status *v1.PodStatus) func() error {
	kept := status.DeepCopy()
	return func() error {
		if !e.isKnown(pod.UID) {
			return nil
		}
		if err := e.save(pod, kept); err != nil {
			e.log.Debug("cannot save the terminal status of a pod; retrying", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
			return err
		}
		e.log.Info("saved the terminal status of a pod after a failure", "pod", podmanager.FullName(pod), "uid", pod.UID)
		return nil
	}
}

// Drop implements podsync.TerminalStatuses. A failed drop is retried later.
func (e *terminalStatuses) Drop(uid types.UID) error {
	drop := func() error { return e.drop(uid) }
	return e.applyNow(uid, drop, drop)
}

// requestDrop makes Run drop the stored status of an earlier incarnation of a UID soon. A Save that
// begins later stays valid. It does not block.
func (e *terminalStatuses) requestDrop(uid types.UID) {
	told := false
	e.postpone(uid, e.executor.Now(), func() error {
		err := e.drop(uid)
		if err != nil && !told {
			told = true
			e.log.Error("cannot drop the terminal status of an earlier pod of this UID; retrying: if the agent restarts before, the pod may not run", "uid", uid, "err", err)
		}
		return err
	})
}

// requestSave makes Run save the terminal status of a rejected pod soon. A Drop that begins later stays
// valid. It does not block.
func (e *terminalStatuses) requestSave(pod *v1.Pod, status v1.PodStatus) {
	logged, kept := false, status.DeepCopy()
	e.postpone(pod.UID, e.executor.Now(), func() error {
		if !e.isKnown(pod.UID) {
			return nil
		}
		err := e.save(pod, kept)
		if err != nil && !logged {
			logged = true
			e.log.Error("cannot save the status of a rejected pod; retrying: if the agent restarts before, the pod may run", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
		}
		return err
	})
}

// drop drops a stored status. A panic of the store is returned as an error.
func (e *terminalStatuses) drop(uid types.UID) (err error) {
	defer e.guard.Recover("TerminalStatuses.Drop", &err)
	return e.TerminalStatuses.Drop(uid)
}

// Remove drops the stored status of a removed pod. The collector of directories calls it.
func (e *terminalStatuses) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	leave, err := e.lockPod(ctx, uid)
	if err != nil {
		return err
	}
	defer leave()
	if !gone(uid) {
		return nil
	}
	e.cancelPending(uid)
	if store, ok := e.TerminalStatuses.(conditionalRemover); ok {
		return store.Remove(ctx, uid, gone)
	}
	return e.TerminalStatuses.Drop(uid)
}
