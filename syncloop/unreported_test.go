package syncloop_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop"
)

// slowCleanup is a PodSyncer without containers whose SyncTerminatedPod fails twice, so that the worker finishes
// twenty seconds after the last change that a loop can see.
type slowCleanup struct {
	podworkers.NoRuntimePods
	failures int
}

func (*slowCleanup) SyncPod(context.Context, podworkers.SyncPodType, *v1.Pod, *v1.Pod, *runtime.PodStatus) (bool, error) {
	return false, nil
}

func (*slowCleanup) SyncTerminatingPod(context.Context, *v1.Pod, *runtime.PodStatus, *int64, podworkers.PodStatusFunc) error {
	return nil
}

func (s *slowCleanup) SyncTerminatedPod(context.Context, *v1.Pod, *runtime.PodStatus) error {
	if s.failures++; s.failures < 3 {
		return errors.New("a volume is busy")
	}
	return nil
}

// TestRun_ForgetsAFinishedPod: the worker of a removed pod finishes long after the last change. Housekeeping still
// removes the worker, whether or not the program reports changes of workers. Afterwards no housekeeping runs.
func TestRun_ForgetsAFinishedPod(t *testing.T) {
	for name, reports := range map[string]bool{"reported": true, "not reported": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				var handlers *syncloop.Handlers
				var hooks podworkers.Hooks
				if reports {
					hooks.Phase = func(uid types.UID, _ uint64, _ lifecycle.Phase) { handlers.NotifyWorkerChange(uid) }
				}
				manager, host := podmanager.New(), source.NewHandle()
				observer, err := pleg.New(pleg.Config{Runtime: memory.New(memory.Config{})})
				require.NoError(t, err)
				workers, err := podworkers.New(podworkers.Config{
					Syncer: &slowCleanup{}, Cache: podworkers.NoCache{}, Hooks: hooks, Jitter: func() float64 { return 0 },
				})
				require.NoError(t, err)
				sources, err := source.New(source.Config{Sources: map[string]source.Source{"api": host}})
				require.NoError(t, err)
				handlers, err = syncloop.NewHandlers(syncloop.HandlersConfig{
					Manager: manager, Workers: workers, Status: status.New(status.Config{}), Runtime: observer, Sources: sources,
				})
				require.NoError(t, err)
				var cleanups atomic.Int32
				loop, err := syncloop.New(syncloop.Config{
					Handler: handlers, Updates: sources, Desired: manager, Changes: observer,
					Hooks: syncloop.Hooks{Cleanup: func(time.Duration, error) { cleanups.Add(1) }},
				})
				require.NoError(t, err)
				var parts sync.WaitGroup
				for _, run := range []func(context.Context) error{sources.Run, observer.Run, workers.Run, loop.Run} {
					parts.Go(func() { assert.NoError(t, run(ctx)) })
				}

				require.NoError(t, host.Apply(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1", Name: "web", Namespace: "default"}}))
				time.Sleep(time.Minute)
				host.Delete("u1")
				time.Sleep(19 * time.Second)
				assert.Equal(t, lifecycle.StageTerminated, workers.View("u1").Stage)
				time.Sleep(4 * time.Second)
				assert.False(t, workers.View("u1").Known, "housekeeping has removed the worker")
				synctest.Wait()
				cleanups.Store(0)
				time.Sleep(time.Hour)
				assert.Zero(t, cleanups.Load(), "an idle node needs no housekeeping")
				stop()
				parts.Wait()
			})
		})
	}
}
