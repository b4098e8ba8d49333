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

// ReasonDeadlineExceeded is why a pod has Failed that was active for longer
// than its spec allows.
const ReasonDeadlineExceeded = "DeadlineExceeded"

const messageDeadlineExceeded = "Pod was active on the node longer than the specified deadline"

// DeadlinesConfig is what Deadlines are made of. Desired, Workers and Status are
// required.
type DeadlinesConfig struct {
	// Desired finds the pod of a UID. It is asked in a step of the loop, and by callers of
	// Note, so concurrently.
	Desired podmanager.Manager
	// Workers terminate a pod that is beyond its deadline: UpdatePod is called with
	// SyncPodKill, once for each such pod. After an error other than podworkers.ErrStopped,
	// which is logged, the pod is not asked about again before it is noted.
	Workers podworkers.PodWorkers
	// Status knows since when a pod has been active: a status.Store.
	Status Statuses
	// Recorder receives events; nil drops them.
	Recorder runtime.EventRecorder
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each contained panic, with the name of the call that
	// panicked; nil discards it.
	Panicked func(call string, err error)
}

// Deadlines terminate pods at the end of their activeDeadlineSeconds, within their own grace periods. There is
// one entry for each pod that has a deadline, has started and does not have to end yet. Between two due
// entries Deadlines does nothing. A Loop with Deadlines calls every method. The consumer of statuses calls
// Note too.
type Deadlines struct {
	config  DeadlinesConfig
	guard   *contain.Guard
	changed *dirty.Set[struct{}]
	queue   *workqueue.Queue
	epoch   time.Time // a reading with which due times are compared
	wake    func()    // of the loop, written before anything runs

	// Kept for the next step.
	changedBuffer []dirty.Entry[struct{}]
	dueBuffer     []types.UID
}

// NewDeadlines makes Deadlines of no pod.
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

// RequestUpdate says that a pod's deadline or its start may be another than before. It
// never blocks and may be called from anywhere. A pod without a deadline costs a
// look; the entry of one that had a deadline is dropped when it is due.
func (d *Deadlines) RequestUpdate(uid types.UID) {
	if pod, ok := d.config.Desired.GetPodByUID(uid); ok && pod.Spec.ActiveDeadlineSeconds == nil {
		return
	}
	d.changed.Add(uid, struct{}{})
}

// repeatExpiry is how long after a panic the termination of a due pod is tried again.
const repeatExpiry = 10 * time.Second

// terminateDuePods updates the entries of the pods that were noted, terminates the pods that are due, and returns when the
// next pod is due. The loop calls it.
func (d *Deadlines) terminateDuePods() (next time.Time, timed bool) {
	d.changedBuffer = d.changed.TakeAll(d.changedBuffer[:0])
	for _, n := range d.changedBuffer {
		d.updateEntry(n.UID)
	}
	d.dueBuffer = d.queue.GetWork(d.config.Clock.Now(), d.dueBuffer[:0])
	for _, uid := range d.dueBuffer {
		if err := d.guard.Call("Deadlines", func() { d.terminateIfDue(uid) }); err != nil {
			d.queue.Enqueue(uid, repeatExpiry)
		}
	}
	return d.queue.Next()
}

// updateEntry gives a pod the entry that it should have.
func (d *Deadlines) updateEntry(uid types.UID) {
	if _, at, ok := d.findDeadline(uid); ok {
		d.queue.EnqueueAt(uid, at)
		return
	}
	d.queue.Remove(uid)
}

// findDeadline returns when a pod has to end. It returns false if the pod has to end already, or has not started
// (AD-1). When a UID is used again the stored status belongs to the previous incarnation, which is finished,
// until the new one publishes a status.
func (d *Deadlines) findDeadline(uid types.UID) (pod *v1.Pod, at time.Time, ok bool) {
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

// terminateIfDue terminates a pod whose entry is due, unless its deadline has moved. From then on the pod has no
// deadline, so its event is recorded once (the kubelet records it every second), before the events of the
// termination.
func (d *Deadlines) terminateIfDue(uid types.UID) {
	pod, at, ok := d.findDeadline(uid)
	if !ok {
		return
	}
	// The monotonic clock decides: a change of the wall clock terminates no pod and causes no busy loop.
	if d.epoch.Add(d.config.Clock.Since(d.epoch)).Before(at) {
		d.queue.EnqueueAt(uid, at)
		return
	}
	d.config.Recorder.Event(pod, v1.EventTypeNormal, ReasonDeadlineExceeded, messageDeadlineExceeded)
	d.terminatePod(pod, at)
}

// terminatePod has the workers end a pod.
func (d *Deadlines) terminatePod(pod *v1.Pod, at time.Time) {
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
		d.config.Log.Error("a pod beyond its deadline could not be ended", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
	default:
		d.config.Log.Info("a pod is beyond its deadline", "pod", podmanager.FullName(pod), "uid", pod.UID, "since", at)
	}
}
