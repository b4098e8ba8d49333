package podworkers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podworkerstest"
	"github.com/podkeel/podkeel/runtime"
)

// stumbler fails as long as the runtime is unavailable, and records when it was called.
type stumbler struct {
	podworkers.PodSyncer
	failures int
	calls    []time.Duration
	begun    time.Time
}

func (s *stumbler) SyncPod(context.Context, podworkers.SyncPodType, *v1.Pod, *v1.Pod, *runtime.PodStatus) (bool, error) {
	s.calls = append(s.calls, time.Since(s.begun))
	if len(s.calls) <= s.failures {
		return false, runtime.ErrNotReady
	}
	return false, nil
}

// prompt is a cache whose observations complete within the call that requests them.
type prompt struct {
	workers *podworkers.Workers
	asked   []types.UID
}

func (*prompt) Get(types.UID) (*runtime.PodStatus, error) { return nil, nil }
func (*prompt) Mark() uint64                              { return 0 }
func (*prompt) NewerThan(context.Context, types.UID, uint64) (*runtime.PodStatus, error) {
	return nil, nil
}
func (q *prompt) RequestRelist(uid types.UID) {
	q.asked = append(q.asked, uid)
	q.workers.Observed(uid, nil)
}

// B-102: a runtime that did not answer for a moment may answer again before the pod waits for it.
// So the workers request an observation when the pod already waits; otherwise the answer would wake
// no pod. A second failure waits for its backoff.
func TestObserved_B102_NoAnswerIsTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache, syncer := &prompt{}, &stumbler{failures: 2, begun: time.Now()}
		workers, err := podworkers.New(podworkers.Config{Syncer: syncer, Cache: cache, Jitter: func() float64 { return 0 }})
		require.NoError(t, err)
		cache.workers = workers
		ctx, end := context.WithCancel(t.Context())
		require.NoError(t, workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: podworkerstest.Pod("a")}))
		ended := make(chan error)
		go func() { ended <- workers.Run(ctx) }()
		time.Sleep(time.Minute)
		end()
		require.NoError(t, <-ended)
		assert.Equal(t, []time.Duration{0, 0, 10 * time.Second}, syncer.calls)
		assert.Equal(t, []types.UID{"a", "a", "a", "a"}, cache.asked, "after each failure, and before each try after one")
	})
}
