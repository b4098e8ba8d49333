package syncloop

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/dirty"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/workqueue"
)

// ReasonDeadlineExceeded is the reason in the status of a pod that Failed because it was active for longer
// than its activeDeadlineSeconds.
const ReasonDeadlineExceeded = "DeadlineExceeded"

const messageDeadlineExceeded = "Pod was active on the node longer than the specified deadline"

// DeadlinesConfig configures Deadlines. Desired, Workers and Status are required.
type DeadlinesConfig struct {
	// Desired finds the pod of a UID. It is called in a step of the loop and by RequestUpdate, so
	// concurrently.
	Desired podmanager.Manager
	// Workers terminate the pods past their deadlines, by one UpdatePod with SyncPodKill for each pod. An
	// error other than podworkers.ErrStopped is logged, and the pod is not terminated until RequestUpdate is
	// called for it.
	Workers podworkers.PodWorkers
	// Status has the start time of each pod: a status.Store.
	Status Statuses
	// Recorder receives events; nil drops them.
	Recorder runtime.EventRecorder
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each contained panic, with the name of the call that panicked; nil discards it.
	Panicked func(call string, err error)
}

// Deadlines terminates pods when their activeDeadlineSeconds are over, each within its own grace period. It
// has one entry for each pod that has a deadline, has started and is not terminating. It does nothing until
// the next entry is due. The Loop calls its methods. The receiver of statuses also calls RequestUpdate.
type Deadlines struct {
	config  DeadlinesConfig
	guard   *contain.Guard
	changed *dirty.Set[struct{}]
	queue   *workqueue.Queue
	epoch   time.Time // a clock reading from which elapsed time is measured
	wake    func()    // wakes the loop; set before Run

	// Buffers of updateQueueAndTerminateDuePods.
	changedBuffer []dirty.Entry[struct{}]
	dueBuffer     []types.UID
}

// NewDeadlines returns Deadlines without entries.
func NewDeadlines(config DeadlinesConfig) (*Deadlines, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	guard := contain.New(contain.Config{Package: "syncloop", Clock: config.Clock, Log: config.Log, OnPanic: config.Panicked})
	config.Log, config.Recorder = guard.Log(), contain.NewRecorder(guard, config.Recorder)
	d := &Deadlines{config: config, guard: guard, wake: func() {}}
	d.changed = dirty.New[struct{}](nil, func() { d.wake() })
	d.queue = workqueue.New(workqueue.Config{Clock: config.Clock})
	d.epoch = config.Clock.Now()
	return d, nil
}

func (c *DeadlinesConfig) complete() error {
	done := contain.CheckConfig("syncloop: DeadlinesConfig")
	done.MissingIf(c.Desired == nil, "Desired")
	done.MissingIf(c.Workers == nil, "Workers")
	done.MissingIf(c.Status == nil, "Status")
	c.Clock = cmp.Or[clock.PassiveClock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}

// RequestUpdate requests an update of the entry of a pod, because its deadline or start time may have changed.
// It never blocks, and any goroutine may call it. For a pod without a deadline it only reads the spec. The
// entry of a pod that no longer has a deadline is dropped when the entry is due.
func (d *Deadlines) RequestUpdate(uid types.UID) {
	if pod, ok := d.config.Desired.GetPodByUID(uid); ok && pod.Spec.ActiveDeadlineSeconds == nil {
		return
	}
	d.changed.Add(uid, struct{}{})
}

// repeatExpiry is the delay before a termination that panicked is repeated.
const repeatExpiry = 10 * time.Second

// updateQueueAndTerminateDuePods updates the queue for the pods that have changed, terminates the pods whose
// active deadline has passed, and returns the time of the next queued deadline. hasNext is false if the queue
// is empty. A pod whose handling panicked is queued again after repeatExpiry.
func (d *Deadlines) updateQueueAndTerminateDuePods() (next time.Time, hasNext bool) {
	d.changedBuffer = d.changed.TakeAll(d.changedBuffer[:0])
	for _, n := range d.changedBuffer {
		d.queueAtDeadlineOrRemove(n.UID)
	}
	d.dueBuffer = d.queue.GetWork(d.config.Clock.Now(), d.dueBuffer[:0])
	for _, uid := range d.dueBuffer {
		if err := d.guard.Call("Deadlines", func() { d.terminateIfDue(uid) }); err != nil {
			d.queue.Enqueue(uid, repeatExpiry)
		}
	}
	return d.queue.Next()
}

// queueAtDeadlineOrRemove queues a pod at the time of its active deadline. It removes the pod from the queue if
// it has no deadline to wait for, for example because it has not started or terminates.
func (d *Deadlines) queueAtDeadlineOrRemove(uid types.UID) {
	if _, at, ok := d.findDeadlineOfActivePod(uid); ok {
		d.queue.EnqueueAt(uid, at)
		return
	}
	d.queue.Remove(uid)
}

// findDeadlineOfActivePod returns a desired pod and the time of its active deadline. ok is false if the pod is
// not desired, or has no activeDeadlineSeconds, no worker or no start time in its status. ok is also false if
// the pod's termination was requested, if its phase is Failed or Succeeded, or if its worker has terminated it.
func (d *Deadlines) findDeadlineOfActivePod(uid types.UID) (pod *v1.Pod, at time.Time, ok bool) {
	pod, ok = d.config.Desired.GetPodByUID(uid)
	if !ok || pod.Spec.ActiveDeadlineSeconds == nil {
		return nil, time.Time{}, false
	}
	if view := d.config.Workers.View(uid); !view.Known || view.IsPodTerminationRequested() {
		return nil, time.Time{}, false
	}
	status, ok := d.config.Status.GetPodStatus(uid)
	if !ok || podstatus.IsTerminal(status.Phase) || d.config.Status.PodIsFinished(uid) {
		return nil, time.Time{}, false
	}
	at, ok = podspec.ActiveDeadline(pod, &status)
	return pod, at, ok
}

// terminateIfDue records an event and kills the pod if its active deadline has passed. If the deadline is
// later, it queues the pod again. Without a deadline it does nothing.
func (d *Deadlines) terminateIfDue(uid types.UID) {
	pod, at, ok := d.findDeadlineOfActivePod(uid)
	if !ok {
		return
	}
	// The monotonic clock decides: a change of the wall clock terminates no pod and causes no busy loop.
	if d.epoch.Add(d.config.Clock.Since(d.epoch)).Before(at) {
		d.queue.EnqueueAt(uid, at)
		return
	}
	d.config.Recorder.Event(pod, v1.EventTypeNormal, ReasonDeadlineExceeded, messageDeadlineExceeded)
	d.killPastDeadline(pod, at)
}

// killPastDeadline makes the workers kill a pod with the status Failed and the reason DeadlineExceeded. It logs
// the success or the error, unless the workers have stopped.
func (d *Deadlines) killPastDeadline(pod *v1.Pod, at time.Time) {
	err := d.config.Workers.UpdatePod(podworkers.UpdatePodOptions{
		UpdateType: podworkers.SyncPodKill,
		StartTime:  at,
		Pod:        pod,
		KillPodOptions: &podworkers.KillPodOptions{
			PodStatusFunc: podworkers.Fail(ReasonDeadlineExceeded, messageDeadlineExceeded),
		},
	})
	switch {
	case errors.Is(err, podworkers.ErrStopped):
	case err != nil:
		d.config.Log.Error("cannot terminate a pod past its deadline", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
	default:
		d.config.Log.Info("terminating a pod past its deadline", "pod", podmanager.FullName(pod), "uid", pod.UID, "since", at)
	}
}
