package podsync

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/refresh"
)

// hanging are volumes whose refreshes end when all may, cancelled or not.
type hanging struct {
	Volumes
	began chan types.UID
	end   chan struct{}
}

func (h *hanging) Refresh(_ context.Context, pod *v1.Pod) error {
	h.began <- pod.UID
	<-h.end
	return nil
}

// TestRefreshVolumes_Bound: so many refreshes run at once. The place of one that hangs is another
// pod's as soon as its own pod is torn down.
func TestRefreshVolumes_Bound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pods = refresh.MaxRefreshes + 1
		volumes := &hanging{began: make(chan types.UID, pods), end: make(chan struct{})}
		cfg := &Config{Volumes: volumes, Log: slog.New(slog.DiscardHandler), Desired: func(types.UID) (*v1.Pod, bool) { return nil, false }}
		s := &Syncer{refresher: newFileRefresher(cfg, executor.Over(clock.RealClock{}))}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.RefreshVolumes(ctx) }()
		for i := range pods {
			pod := &v1.Pod{}
			pod.UID = types.UID(fmt.Sprint(i))
			require.NoError(t, s.refresher.cancelRefreshAndSetUp(pod, func() error { return nil }))
			s.VolumesChanged(pod.UID)
		}
		time.Sleep(refresh.Grace) // In the bubble's time.
		synctest.Wait()
		require.Len(t, volumes.began, refresh.MaxRefreshes)
		require.NoError(t, s.refresher.cancelRefreshAndTearDown(<-volumes.began, func() error { return nil }))
		synctest.Wait()
		assert.Len(t, volumes.began, refresh.MaxRefreshes)
		close(volumes.end)
		cancel()
		assert.NoError(t, <-ended)
	})
}

// TestRefreshVolumes_CancelledBeforeItBegins: a refresh that a SetUp has cancelled before its goroutine
// ran has ended all the same: the next change of the pod is brought to the files.
func TestRefreshVolumes_CancelledBeforeItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volumes := &hanging{began: make(chan types.UID, 1), end: make(chan struct{})}
		close(volumes.end)
		cfg := &Config{Volumes: volumes, Log: slog.New(slog.DiscardHandler), Desired: func(types.UID) (*v1.Pod, bool) { return nil, false }}
		s := &Syncer{refresher: newFileRefresher(cfg, executor.Over(clock.RealClock{}))}
		pod := &v1.Pod{}
		pod.UID = "a"
		for range 2 {
			require.NoError(t, s.refresher.cancelRefreshAndSetUp(pod, func() error { return nil }))
			s.VolumesChanged(pod.UID)
			time.Sleep(refresh.Grace) // In the bubble's time.
			due, _ := s.refresher.markDueRefreshesRunning()
			require.Len(t, due, 1)
			require.NoError(t, s.refresher.cancelRefreshAndSetUp(pod, func() error { return nil }))
			s.refresher.refreshVolumes(t.Context(), due[0])
			assert.Empty(t, volumes.began)
		}
	})
}
