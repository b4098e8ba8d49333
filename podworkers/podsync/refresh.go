package podsync

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/refresh"
	"github.com/podkeel/podkeel/runtime"
)

// refreshTimeout bounds one refresh of the files of a pod.
const refreshTimeout = 30 * time.Second

// fileRefresher refreshes the files of volumes beside the syncs of their pods. The lock guards only the
// table, and is not held during calls of Volumes. The Volumes themselves make a refresh and a
// concurrent SetUp or TearDown safe.
type fileRefresher struct {
	volumes      Volumes
	desired      func(types.UID) (*v1.Pod, bool)
	executor     executor.Executor
	tableChanged executor.Event
	log          *slog.Logger
	started      atomic.Bool

	mu struct {
		sync.Mutex
		table    refresh.Table
		pods     map[types.UID]*v1.Pod // the pod of the last SetUp
		runs     map[types.UID]*refreshRun
		nextWake time.Time // when RefreshVolumes checks the table again; zero: only after tableChanged
	}
}

// refreshRun is one refresh that is in progress.
type refreshRun struct {
	uid       types.UID
	pod       *v1.Pod            // the pod of the last SetUp; nil: this agent has not set it up
	cancel    context.CancelFunc // nil: the call of Refresh has not begun
	cancelled bool
}

// newFileRefresher returns a fileRefresher, which refreshes volume files outside of syncs. It starts nothing.
func newFileRefresher(cfg *Config, exec executor.Executor) *fileRefresher {
	r := &fileRefresher{volumes: cfg.Volumes, desired: cfg.Desired, executor: exec, tableChanged: exec.NewEvent(), log: cfg.Log}
	r.mu.pods, r.mu.runs = map[types.UID]*v1.Pod{}, map[types.UID]*refreshRun{}
	return r
}

// VolumesChanged reports to the Syncer that the content of a pod's volume files may have changed: an object,
// a token, or the metadata of the pod. Call it also for a pod that is desired from now on, because it
// may have files of an earlier process. RefreshVolumes then updates the files, unless a sync does so
// within a second. VolumesChanged never blocks and may be called by any goroutine.
func (s *Syncer) VolumesChanged(uid types.UID) {
	r := s.refresher
	if !r.canRefresh() {
		return
	}
	if pod, ok := r.desired(uid); ok && len(pod.Spec.Volumes) == 0 {
		return
	}
	now := r.executor.Now()
	r.mu.Lock()
	isSooner := r.mu.table.VolumesChanged(uid, now) && (r.mu.nextWake.IsZero() || r.mu.nextWake.After(now.Add(refresh.Grace)))
	r.mu.Unlock()
	if isSooner {
		r.tableChanged.Signal()
	}
}

// RefreshVolumes updates the volume files of the pods that VolumesChanged was called for, also while
// another call for the pod hangs. It blocks until ctx ends. Then it waits for the refreshes that it has
// started, and returns nil. It does nothing if the Volumes are no VolumeRefresher. A second call
// returns runtime.ErrSecondRun.
func (s *Syncer) RefreshVolumes(ctx context.Context) error {
	r := s.refresher
	if r.started.Swap(true) {
		return fmt.Errorf("podsync: %w", runtime.ErrSecondRun)
	}
	group := executor.NewGroup(r.executor)
	defer group.Wait()
	for {
		due, next := r.markDueRefreshesRunning()
		for _, one := range due {
			group.Go(func() { r.refreshVolumes(ctx, one) })
		}
		var err error
		if next.IsZero() {
			err = r.tableChanged.Wait(ctx)
		} else {
			_, err = r.tableChanged.WaitUntil(ctx, next)
		}
		if err != nil {
			return nil
		}
	}
}

// markDueRefreshesRunning returns the refreshes that are due now and marks them as running; the caller must run
// them. nextAt is the time of the next refresh after these, or zero if none is planned.
func (r *fileRefresher) markDueRefreshesRunning() (due []*refreshRun, nextAt time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, uid := range r.mu.table.StartDue(r.executor.Now()) {
		one := &refreshRun{uid: uid, pod: r.mu.pods[uid]}
		r.mu.runs[uid] = one
		due = append(due, one)
	}
	r.mu.nextWake = r.mu.table.NextDue()
	return due, r.mu.nextWake
}

// refreshVolumes refreshes the volume files of one pod within refreshTimeout, and logs a failure. It does not
// refresh if the run was cancelled or the pod is gone. At the end it reports the result to the schedule, unless
// the pod was forgotten meanwhile, and wakes the refresh loop.
func (r *fileRefresher) refreshVolumes(ctx context.Context, run *refreshRun) {
	ctx, cancel := r.executor.WithDeadline(ctx, r.executor.Now().Add(refreshTimeout))
	defer cancel()
	var err error
	if pod := r.lastSetUpPodWithDesiredMetadata(run); !r.storeCancelFunc(run, cancel) {
		err = context.Canceled
	} else if pod != nil {
		err = r.volumes.(VolumeRefresher).Refresh(ctx, pod)
		if err != nil && !isCancelled(ctx, err) {
			r.log.Warn("cannot refresh the volume files of a pod", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.runs[run.uid] == run {
		delete(r.mu.runs, run.uid)
		r.mu.table.RefreshEnded(run.uid, err == nil, r.executor.Now())
		r.tableChanged.Signal()
	}
}

// lastSetUpPodWithDesiredMetadata returns the pod for which the volume files are written: the pod of the last
// SetUp with the metadata of the desired pod. Without a desired pod of the same name it returns the pod of the
// last SetUp unchanged; without a SetUp it returns the desired pod. It returns nil if there is neither.
func (r *fileRefresher) lastSetUpPodWithDesiredMetadata(run *refreshRun) *v1.Pod {
	now, ok := r.desired(run.uid)
	switch {
	case run.pod == nil && !ok:
		return nil
	case run.pod == nil:
		return now
	case !ok || now.Name != run.pod.Name || now.Namespace != run.pod.Namespace:
		return run.pod
	}
	pod := *run.pod
	pod.ObjectMeta = now.ObjectMeta
	return &pod
}

// storeCancelFunc stores the function that cancels a refresh. mayStart is false if the refresh was already
// cancelled.
func (r *fileRefresher) storeCancelFunc(run *refreshRun, cancel context.CancelFunc) (mayStart bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run.cancel = cancel
	return !run.cancelled
}

// cancelRefreshAndSetUp cancels a running refresh of the pod's volume files without waiting for it, sets up the
// volumes by call, and plans the next refresh. If Config.Volumes cannot refresh, it only runs call.
func (r *fileRefresher) cancelRefreshAndSetUp(pod *v1.Pod, call func() error) error {
	if !r.canRefresh() {
		return call()
	}
	r.mu.Lock()
	r.mu.pods[pod.UID] = pod
	r.cancelRefreshAndUnlock(pod.UID, r.mu.table.SetUpBegan(pod.UID, r.executor.Now()))
	err := call()
	r.mu.Lock()
	isSooner := r.mu.table.SetUpEnded(pod.UID, err == nil)
	r.mu.Unlock()
	if isSooner {
		r.tableChanged.Signal()
	}
	return err
}

// cancelRefreshAndTearDown cancels a running refresh of the pod's volume files without waiting for it, and
// tears down the volumes by call. After a success it deletes the refresh state of the pod. If Config.Volumes
// cannot refresh, it only runs call.
func (r *fileRefresher) cancelRefreshAndTearDown(uid types.UID, call func() error) error {
	if !r.canRefresh() {
		return call()
	}
	r.mu.Lock()
	r.cancelRefreshAndUnlock(uid, r.mu.table.TearDownBegan(uid))
	err := call()
	if err == nil {
		r.forgetPod(uid)
	}
	return err
}

// canRefresh reports whether the Volumes implement VolumeRefresher.
func (r *fileRefresher) canRefresh() bool {
	_, is := r.volumes.(VolumeRefresher)
	return is
}

// cancelRefreshAndUnlock cancels the running refresh of a pod, if running is true, and unlocks r.mu. The caller
// must hold the lock.
func (r *fileRefresher) cancelRefreshAndUnlock(uid types.UID, running bool) {
	var cancel context.CancelFunc
	if one := r.mu.runs[uid]; running && one != nil {
		one.cancelled, cancel = true, one.cancel
	}
	r.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// forgetPod deletes the refresh state of a pod and wakes the refresh loop, because the deleted refresh may have
// delayed another one.
func (r *fileRefresher) forgetPod(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.table.Remove(uid)
	delete(r.mu.pods, uid)
	delete(r.mu.runs, uid)
	r.tableChanged.Signal() // The deleted refresh may have blocked another one.
}
