package nodetest_test

import (
	"context"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
)

// recordedVolumes are volumes in memory that outlive an agent, as those on a disk do, and
// know whose they are.
type recordedVolumes struct {
	*inmemory.Volumes
	mu struct {
		sync.Mutex
		up map[types.UID]bool
	}
}

func newRecordedVolumes(volumes *inmemory.Volumes) *recordedVolumes {
	l := &recordedVolumes{Volumes: volumes}
	l.mu.up = make(map[types.UID]bool)
	return l
}

// SetUp implements podsync.Volumes. What fails may have begun.
func (l *recordedVolumes) SetUp(ctx context.Context, pod *v1.Pod) error {
	l.mu.Lock()
	l.mu.up[pod.UID] = true
	l.mu.Unlock()
	return l.Volumes.SetUp(ctx, pod)
}

// TearDown implements podsync.Volumes.
func (l *recordedVolumes) TearDown(ctx context.Context, uid types.UID) error {
	l.mu.Lock()
	delete(l.mu.up, uid)
	l.mu.Unlock()
	return l.Volumes.TearDown(ctx, uid)
}

// Pods lists the pods that have directories.
func (l *recordedVolumes) Pods(of func(types.UID) bool, limit int) ([]types.UID, error) {
	var uids []types.UID
	for _, uid := range l.remainingPods() {
		if of(uid) && len(uids) < limit {
			uids = append(uids, uid)
		}
	}
	return uids, nil
}

// remainingPods returns the UIDs of the pods that have volumes, sorted.
func (l *recordedVolumes) remainingPods() []types.UID {
	l.mu.Lock()
	defer l.mu.Unlock()
	var uids []types.UID
	for uid := range l.mu.up {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	return uids
}
