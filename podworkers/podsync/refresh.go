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

// refresher has the files of pods brought up to date beside their syncs. The lock guards the
// table alone and is held during none of its calls; what a refresh and a SetUp or a TearDown
// do at once is kept apart by the Volumes.
type refresher struct {
	volumes  Volumes
	desired  func(types.UID) (*v1.Pod, bool)
	executor executor.Executor
	wake     executor.Event
	log      *slog.Logger
	ran      atomic.Bool

	mu struct {
		sync.Mutex
		table refresh.Table
		pods  map[types.UID]*v1.Pod // as they were set up last
		runs  map[types.UID]*refreshing
		until time.Time // when RefreshVolumes looks again by itself; zero: never
	}
}

// refreshing is one refresh that is under way.
type refreshing struct {
	uid       types.UID
	pod       *v1.Pod            // as it was set up; nil: it was not, by this agent
	cancel    context.CancelFunc // nil: it has not begun
	cancelled bool
}

func newRefresher(cfg *Config, t executor.Executor) *refresher {
	r := &refresher{volumes: cfg.Volumes, desired: cfg.Desired, executor: t, wake: t.NewEvent(), log: cfg.Log}
	r.mu.pods, r.mu.runs = map[types.UID]*v1.Pod{}, map[types.UID]*refreshing{}
	return r
}

// VolumesChanged says that something may have changed of which the files of a pod's volumes
// are made: an object, a token, or the pod's own metadata; or that the pod is desired from now on,
// and may have files of an earlier agent. RefreshVolumes brings them up to date, unless a sync does
// so within a second. It never blocks and may be called from anywhere.
func (s *Syncer) VolumesChanged(uid types.UID) {
	r := s.refresher
	if !r.does() {
		return
	}
	if pod, ok := r.desired(uid); ok && len(pod.Spec.Volumes) == 0 {
		return
	}
	now := r.executor.Now()
	r.mu.Lock()
	news := r.mu.table.Changed(uid, now) && (r.mu.until.IsZero() || r.mu.until.After(now.Add(refresh.Grace)))
	r.mu.Unlock()
	if news {
		r.wake.Signal()
	}
}

// RefreshVolumes brings the files of pods up to date that VolumesChanged was called for, also
// while a call for the pod hangs, until ctx ends. Then it waits for what it has begun, and
// returns nil. It does nothing without Volumes that are a VolumeRefresher. Another call returns
// runtime.ErrSecondRun.
func (s *Syncer) RefreshVolumes(ctx context.Context) error {
	r := s.refresher
	if r.ran.Swap(true) {
		return fmt.Errorf("podsync: %w", runtime.ErrSecondRun)
	}
	group := executor.NewGroup(r.executor)
	defer group.Wait()
	for {
		due, next := r.due()
		for _, one := range due {
			group.Go(func() { r.refresh(ctx, one) })
		}
		var err error
		if next.IsZero() {
			err = r.wake.Wait(ctx)
		} else {
			_, err = r.wake.WaitUntil(ctx, next)
		}
		if err != nil {
			return nil
		}
	}
}

// due claims what is to be refreshed now, and returns when the next is.
func (r *refresher) due() (due []*refreshing, next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, uid := range r.mu.table.Begin(r.executor.Now()) {
		one := &refreshing{uid: uid, pod: r.mu.pods[uid]}
		r.mu.runs[uid] = one
		due = append(due, one)
	}
	r.mu.until = r.mu.table.Next()
	return due, r.mu.until
}

// refresh refreshes the files of one pod. What they tell of the pod itself is as it is
// desired now.
func (r *refresher) refresh(ctx context.Context, one *refreshing) {
	ctx, cancel := r.executor.WithDeadline(ctx, r.executor.Now().Add(refreshTimeout))
	defer cancel()
	var err error
	if pod := r.podForFiles(one); !r.start(one, cancel) {
		err = context.Canceled
	} else if pod != nil {
		err = r.volumes.(VolumeRefresher).Refresh(ctx, pod)
		if err != nil && !isCancelled(ctx, err) {
			r.log.Warn("the files of a pod's volumes were not brought up to date beside its sync", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.runs[one.uid] == one {
		delete(r.mu.runs, one.uid)
		r.mu.table.End(one.uid, err == nil, r.executor.Now())
		r.wake.Signal()
	}
}

// podForFiles returns the pod whose values the files get. It is nil if this agent has not set the pod up and the
// pod is no longer desired.
func (r *refresher) podForFiles(one *refreshing) *v1.Pod {
	now, ok := r.desired(one.uid)
	switch {
	case one.pod == nil && !ok:
		return nil
	case one.pod == nil:
		return now
	case !ok || now.Name != one.pod.Name || now.Namespace != one.pod.Namespace:
		return one.pod
	}
	pod := *one.pod
	pod.ObjectMeta = now.ObjectMeta
	return &pod
}

// start notes how a refresh is cancelled, unless it was before it began.
func (r *refresher) start(one *refreshing, cancel context.CancelFunc) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one.cancel = cancel
	return !one.cancelled
}

// setUp is called around a SetUp, and tearDown around a TearDown, which cancel a refresh that
// is under way and do not wait for it.
func (r *refresher) setUp(pod *v1.Pod, call func() error) error {
	if !r.does() {
		return call()
	}
	r.mu.Lock()
	r.mu.pods[pod.UID] = pod
	r.stop(pod.UID, r.mu.table.SetUp(pod.UID, r.executor.Now()))
	err := call()
	r.mu.Lock()
	news := r.mu.table.IsUp(pod.UID, err == nil)
	r.mu.Unlock()
	if news {
		r.wake.Signal()
	}
	return err
}

func (r *refresher) tearDown(uid types.UID, call func() error) error {
	if !r.does() {
		return call()
	}
	r.mu.Lock()
	r.stop(uid, r.mu.table.TearDown(uid))
	err := call()
	if err == nil {
		r.forget(uid)
	}
	return err
}

// does reports whether there is anything that can be refreshed.
func (r *refresher) does() bool {
	_, is := r.volumes.(VolumeRefresher)
	return is
}

// stop cancels a refresh that is under way, and gives the lock back.
func (r *refresher) stop(uid types.UID, running bool) {
	var cancel context.CancelFunc
	if one := r.mu.runs[uid]; running && one != nil {
		one.cancelled, cancel = true, one.cancel
	}
	r.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// forget drops what is known of a pod.
func (r *refresher) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.table.TornDown(uid)
	delete(r.mu.pods, uid)
	delete(r.mu.runs, uid)
	r.wake.Signal() // Its refresh may have kept another one from beginning.
}
