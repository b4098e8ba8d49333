package podworkers_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
)

// fullMinutes is a work queue that syncs pods at full minutes only, many at once, so that a small
// machine seldom wakes up.
type fullMinutes struct {
	pods  map[types.UID]time.Time
	added chan types.UID
}

func (q *fullMinutes) EnqueueAt(uid types.UID, at time.Time) {
	full := at.Truncate(time.Minute)
	if full.Before(at) {
		full = full.Add(time.Minute)
	}
	q.pods[uid] = full
	q.added <- uid // The channel has room for all pods of this example.
}

func (q *fullMinutes) Remove(uid types.UID) { delete(q.pods, uid) }

func (q *fullMinutes) GetWork(now time.Time, due []types.UID) []types.UID {
	for uid, at := range q.pods {
		if !at.After(now) {
			due = append(due, uid)
			delete(q.pods, uid)
		}
	}
	return due
}

func (q *fullMinutes) Next() (next time.Time, ok bool) {
	for _, at := range q.pods {
		if !ok || at.Before(next) {
			next, ok = at, true
		}
	}
	return next, ok
}

func (q *fullMinutes) Due(uid types.UID) (time.Time, bool) {
	at, ok := q.pods[uid]
	return at, ok
}

// idle is a PodSyncer that does nothing.
type idle struct{ podworkers.NoRuntimePods }

func (idle) SyncPod(context.Context, podworkers.SyncPodType, *v1.Pod, *v1.Pod, *runtime.PodStatus) (bool, error) {
	return false, nil
}

func (idle) SyncTerminatingPod(context.Context, *v1.Pod, *runtime.PodStatus, *int64, podworkers.PodStatusFunc) error {
	return nil
}
func (idle) SyncTerminatedPod(context.Context, *v1.Pod, *runtime.PodStatus) error {
	return nil
}

// Workers with a work queue of your own. Package workqueuetest checks one.
func ExampleConfig_queue() {
	queue := &fullMinutes{make(map[types.UID]time.Time), make(chan types.UID, 8)}
	workers, err := podworkers.New(podworkers.Config{Syncer: idle{}, Cache: podworkers.NoCache{}, Queue: queue})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- workers.Run(ctx) }()

	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "0815"}}
	_ = workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: web})
	uid := <-queue.added
	fmt.Println(uid, "is synced again at second", workers.Outlook(uid).NextAt.Second())

	stop()
	fmt.Println("ended:", <-ended == nil)
	// Output:
	// 0815 is synced again at second 0
	// ended: true
}
