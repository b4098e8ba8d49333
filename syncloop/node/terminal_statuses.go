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

func newTerminalStatuses(store TerminalStatuses, guard *contain.Guard, isKnown func(types.UID) bool, clk clock.Clock) *terminalStatuses {
	return &terminalStatuses{TerminalStatuses: store, saver: newSaver(guard, clk), isKnown: isKnown}
}

// Save implements podsync.TerminalStatuses. If the store fails, Run tries to save the status again later.
func (e *terminalStatuses) Save(pod *v1.Pod, status *v1.PodStatus) error {
	return e.applyNowOrRetryLater(pod.UID, func() error { return e.saveRecoveringPanic(pod, status) }, e.newSaveRetry(pod, status))
}

// saveRecoveringPanic saves a terminal status in the store of the Config. It returns a panic of the store as an
// error.
func (e *terminalStatuses) saveRecoveringPanic(pod *v1.Pod, status *v1.PodStatus) (err error) {
	defer e.guard.Recover("TerminalStatuses.Save", &err)
	return e.TerminalStatuses.Save(pod, status)
}

// newSaveRetry returns a function that saves a copy of the status again and logs the result. The function does
// nothing if the pod is then neither desired nor has a worker, because a pod that is delivered again starts as
// a new pod.
func (e *terminalStatuses) newSaveRetry(pod *v1.Pod, status *v1.PodStatus) func() error {
	kept := status.DeepCopy()
	return func() error {
		if !e.isKnown(pod.UID) {
			return nil
		}
		if err := e.saveRecoveringPanic(pod, kept); err != nil {
			e.log.Debug("cannot save the terminal status of a pod; retrying", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
			return err
		}
		e.log.Info("saved the terminal status of a pod after a failure", "pod", podmanager.FullName(pod), "uid", pod.UID)
		return nil
	}
}

// Drop implements podsync.TerminalStatuses. If the store fails, Run tries to delete the status again later.
func (e *terminalStatuses) Drop(uid types.UID) error {
	drop := func() error { return e.dropRecoveringPanic(uid) }
	return e.applyNowOrRetryLater(uid, drop, drop)
}

// requestDrop makes Run delete the stored status of an earlier pod with the UID soon, and returns at once. A
// later save of the UID replaces the request. Run retries after an error, and logs the first one.
func (e *terminalStatuses) requestDrop(uid types.UID) {
	told := false
	e.setPendingChange(uid, e.executor.Now(), func() error {
		err := e.dropRecoveringPanic(uid)
		if err != nil && !told {
			told = true
			e.log.Error("cannot drop the terminal status of an earlier pod of this UID; retrying: if the agent restarts before, the pod may not run", "uid", uid, "err", err)
		}
		return err
	})
}

// requestSave makes Run save the terminal status of a rejected pod soon, and returns at once. Run does not save
// it if the pod is then neither desired nor has a worker. It retries after an error, and logs the first one. A
// later drop of the UID replaces the request.
func (e *terminalStatuses) requestSave(pod *v1.Pod, status v1.PodStatus) {
	logged, kept := false, status.DeepCopy()
	e.setPendingChange(pod.UID, e.executor.Now(), func() error {
		if !e.isKnown(pod.UID) {
			return nil
		}
		err := e.saveRecoveringPanic(pod, kept)
		if err != nil && !logged {
			logged = true
			e.log.Error("cannot save the status of a rejected pod; retrying: if the agent restarts before, the pod may run", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
		}
		return err
	})
}

// dropRecoveringPanic deletes a status from the store of the Config. It returns a panic of the store as an
// error.
func (e *terminalStatuses) dropRecoveringPanic(uid types.UID) (err error) {
	defer e.guard.Recover("TerminalStatuses.Drop", &err)
	return e.TerminalStatuses.Drop(uid)
}

// Remove deletes the stored status of a pod if gone returns true for it, and cancels its pending save. The collector of
// directories calls it.
func (e *terminalStatuses) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	return e.removeIfGone(ctx, uid, gone, e.TerminalStatuses, e.TerminalStatuses.Drop)
}
