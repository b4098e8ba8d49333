package podworkers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
	"github.com/podkeel/podkeel/runtime"
)

// broken is a cache with a method that panics at every call.
type broken struct {
	*Cache
	method string
	calls  int
}

func (b *broken) panicIn(method string) {
	if b.method == method {
		b.calls++
		panic("boom")
	}
}

func (b *broken) Get(uid types.UID) (*runtime.PodStatus, error) {
	b.panicIn("Get")
	return b.Cache.Get(uid)
}

func (b *broken) Mark() uint64 {
	b.panicIn("Mark")
	return b.Cache.Mark()
}

func (b *broken) NewerThan(ctx context.Context, uid types.UID, mark uint64) (*runtime.PodStatus, error) {
	b.panicIn("NewerThan")
	return b.Cache.NewerThan(ctx, uid, mark)
}

func (b *broken) RequestRelist(types.UID) { b.panicIn("RequestRelist") }

// Each method of the cache may panic wherever it is called: when a pod is created, when its call
// begins, fails or is retried, and when the runtime shows a change of it.
func TestPanic_I50_OfTheCacheIsTheErrorOfThatCall(t *testing.T) {
	for _, method := range []string{"Get", "Mark", "NewerThan", "RequestRelist"} {
		t.Run(method, func(t *testing.T) {
			node := newSimulation(t, Config{}) // Used for its clock and its scheduler.
			cache, syncer := &broken{Cache: NewCache(node.Clock()), method: method}, NewSyncer(node.Clock())
			syncer.Script("a", syncPod, Reply{Err: errors.New("boom")}, Reply{Err: runtime.ErrNotReady})
			told := map[string]int{}
			w, err := podworkers.New(podworkers.Config{
				Syncer: syncer, Cache: cache, Clock: node.Clock(),
				Hooks: podworkers.Hooks{Panicked: func(call string, _ error) { told[call]++ }},
			})
			require.NoError(t, err)
			node.Go(func(ctx context.Context) { _ = w.Run(ctx) })
			update := func(o podworkers.UpdatePodOptions) {
				require.NoError(t, w.UpdatePod(o))
				node.RunUntilIdle()
			}
			update(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: Pod("over", Phase(v1.PodFailed))})
			update(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: Pod("a")})
			update(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodSync, Observation: true, Pod: Pod("a")})
			node.Advance(time.Minute)
			assert.Equal(t, map[string]int{"Cache." + method: cache.calls}, told)
			assert.NotZero(t, cache.calls)
		})
	}
}
