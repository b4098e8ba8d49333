package podworkers_test

import (
	"context"
	"fmt"
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

// reporter records when it is called and returns stable.
type reporter struct {
	podworkers.PodSyncer
	begun  time.Time
	stable func() bool
	err    error
	calls  []string
}

func (r *reporter) recordCall(call string) {
	r.calls = append(r.calls, fmt.Sprint(time.Since(r.begun), " ", call))
}

func (r *reporter) SyncPod(_ context.Context, kind podworkers.SyncPodType, _, _ *v1.Pod, _ *runtime.PodStatus) (bool, error) {
	r.recordCall("SyncPod " + kind.String())
	return false, r.err
}

func (r *reporter) IsStable(_ context.Context, pod *v1.Pod, status *runtime.PodStatus) bool {
	r.recordCall(fmt.Sprint("IsStable ", pod.UID, " ", status.UID))
	return r.stable()
}

// runReporter runs workers with a syncer that is a StabilityReporter for some time. After a minute
// and 35 seconds the pod is updated.
func runReporter(t *testing.T, r *reporter, d time.Duration) { runReporterOn(t, r, &prompt{}, d) }

// runReporterOn is runReporter with a cache.
func runReporterOn(t *testing.T, r *reporter, cache runtime.StatusCache, d time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		r.begun = time.Now()
		workers, err := podworkers.New(podworkers.Config{Syncer: r, Stability: r, Cache: cache, Jitter: func() float64 { return 0 }})
		require.NoError(t, err)
		ctx, end := context.WithCancel(t.Context())
		update := podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: podworkerstest.Pod("a")}
		require.NoError(t, workers.UpdatePod(update))
		ended := make(chan error)
		go func() { ended <- workers.Run(ctx) }()
		time.Sleep(95 * time.Second)
		update.UpdateType = podworkers.SyncPodSync
		require.NoError(t, workers.UpdatePod(update))
		time.Sleep(d - 95*time.Second)
		end()
		require.NoError(t, <-ended)
	})
}

// B-099: a stable pod is checked after ten times the resync interval, and not synced then. An
// update of any type is not delayed. When the pod is no longer stable it is synced.
func TestStable_B099_IsNotSynced(t *testing.T) {
	r := &reporter{}
	r.stable = func() bool { return len(r.calls) < 6 || len(r.calls) > 8 }
	runReporter(t, r, 40*time.Minute)
	assert.Equal(t, []string{
		"0s SyncPod create", "0s IsStable a a",
		"1m35s SyncPod sync", "1m35s IsStable a a",
		"11m35s IsStable a a",
		"21m35s IsStable a a", "21m35s SyncPod sync", "21m35s IsStable a a",
		"22m35s SyncPod sync", "22m35s IsStable a a",
		"32m35s IsStable a a",
	}, r.calls)
}

// B-099: only Config.Stability counts. A PodSyncer that only has a method IsStable, for example
// because it embeds a podsync.Syncer, is synced in every resync interval.
func TestStable_B099_IsNotTakenFromTheSyncer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reporter{begun: time.Now(), stable: func() bool { return true }}
		workers, err := podworkers.New(podworkers.Config{Syncer: r, Cache: &prompt{}, Jitter: func() float64 { return 0 }})
		require.NoError(t, err)
		ctx, end := context.WithCancel(t.Context())
		require.NoError(t, workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: podworkerstest.Pod("a")}))
		ended := make(chan error)
		go func() { ended <- workers.Run(ctx) }()
		time.Sleep(150 * time.Second)
		end()
		require.NoError(t, <-ended)
		assert.Equal(t, []string{"0s SyncPod create", "1m0s SyncPod sync", "2m0s SyncPod sync"}, r.calls)
	})
}

// counted is a cache in which each read makes an observation. It records the mark of each read.
type counted struct {
	prompt
	number uint64
	marks  []uint64
}

func (c *counted) Mark() uint64 { return c.number }

func (c *counted) NewerThan(_ context.Context, _ types.UID, mark uint64) (*runtime.PodStatus, error) {
	c.number, c.marks = c.number+1, append(c.marks, mark)
	return nil, nil
}

// B-083, B-099: each check of a stable pod has an observation that is newer than the observation of its last check,
// even if the pod was not synced then.
func TestStable_B083_B099_EachCheckHasANewObservation(t *testing.T) {
	r, cache := &reporter{stable: func() bool { return true }}, &counted{}
	runReporterOn(t, r, cache, 35*time.Minute)
	assert.Equal(t, []uint64{0, 1, 2, 3, 4}, cache.marks)
}

// A pod that is not stable is synced once a minute, and a pod whose check panics too. A pod whose sync failed is
// retried without a check.
func TestStable_B099_Otherwise(t *testing.T) {
	minutely := []string{
		"0s SyncPod create", "0s IsStable a a",
		"1m0s SyncPod sync", "1m0s IsStable a a",
		"1m35s SyncPod sync", "1m35s IsStable a a",
		"2m35s SyncPod sync", "2m35s IsStable a a",
	}
	stable := func() bool { return true }
	for name, c := range map[string]struct {
		r    *reporter
		d    time.Duration
		want []string
	}{
		"unstable": {&reporter{stable: func() bool { return false }}, 3 * time.Minute, minutely},
		"panics":   {&reporter{stable: func() bool { panic("no") }}, 3 * time.Minute, minutely},
		"fails": {&reporter{stable: stable, err: assert.AnError}, 96 * time.Second, []string{
			"0s SyncPod create", "10s SyncPod sync", "20s SyncPod sync", "30s SyncPod sync", "40s SyncPod sync", "50s SyncPod sync",
			"1m0s SyncPod sync", "1m10s SyncPod sync", "1m20s SyncPod sync", "1m30s SyncPod sync", "1m35s SyncPod sync",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			runReporter(t, c.r, c.d)
			assert.Equal(t, c.want, c.r.calls)
		})
	}
}
