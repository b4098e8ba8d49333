package node_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node"
)

// silent is a source that never says anything.
type silent struct{}

func (silent) Run(ctx context.Context, _ source.Sink) error {
	<-ctx.Done()
	return nil
}

// TestNode_NotReady: a node is not ready, and says why, until every source has delivered and the
// runtime was listed.
func TestNode_NotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": silent{}}}})
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.EqualError(t, n.Health().Waiting, "node: not every source has delivered its pods")
		require.NoError(t, n.stopNode())
	})
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		machine.SetStatus(runtime.RuntimeStatus{RuntimeMessage: "it is down"})
		n := runConfig(t, node.Config{Runtime: machine})
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.ErrorContains(t, n.Health().Waiting, "node: the runtime cannot be listed")
		assert.Contains(t, n.Health().String(), "not ready: node: the runtime cannot be listed")
		assert.ErrorIs(t, n.Health().Err, runtime.ErrNotReady)
		machine.SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true})
		<-n.Ready()
		assert.NoError(t, n.Health().Waiting)
		assert.Equal(t, "ready", n.Health().String())
		require.NoError(t, n.stopNode())
	})
}

// TestNode_HooksAndConfigReachTheirParts: what a Config says has its effect.
func TestNode_HooksAndConfigReachTheirParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var phases []string
		var forgotten []types.UID
		var syncs, jittered atomic.Int32
		n := runConfig(t, node.Config{
			Sync: node.SyncConfig{Resync: 7 * time.Second},
			Scheduling: node.SchedulingConfig{MaxPods: 2, Admit: []syncloop.PodAdmitHandler{syncloop.PodAdmitFunc(func(a syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
				return syncloop.PodAdmitResult{Admit: a.Pod.Name != "unloved", Reason: "Unloved"}
			})}},
			Containers: node.ContainersConfig{HostIPs: []string{"192.0.2.7"}},
			Jitter:     func() float64 { jittered.Add(1); return 0 },
			Hooks: node.Hooks{Workers: podworkers.Hooks{
				Phase: func(uid types.UID, incarnation uint64, phase lifecycle.Phase) {
					mu.Lock()
					defer mu.Unlock()
					phases = append(phases, fmt.Sprint(uid, " ", incarnation, " ", phase))
				},
				Forgotten: func(uid types.UID) {
					mu.Lock()
					defer mu.Unlock()
					forgotten = append(forgotten, uid)
				},
				Synced: func(podworkers.Synced) { syncs.Add(1) },
			}},
		})
		web := newPod("web", "serve")
		web.Spec.ActiveDeadlineSeconds = new(int64(3600)) // It is never stable, because its age is checked.
		require.NoError(t, n.Apply(web))
		require.NoError(t, n.Apply(newPod("unloved", "serve")))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, "Unloved", n.Pods()[1].Status.Reason)
		assert.Equal(t, "192.0.2.7", n.Pods()[0].Status.HostIP)

		before := syncs.Load()
		n.RequestSync("web")
		synctest.Wait()
		assert.Equal(t, before+1, syncs.Load(), "requested")
		time.Sleep(22 * time.Second)
		synctest.Wait()
		assert.Equal(t, before+4, syncs.Load(), "synced every seven seconds")
		assert.Positive(t, jittered.Load())

		n.Delete("unloved")
		n.Delete("web")
		time.Sleep(time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, []string{"web 1 terminating", "web 1 terminated", "web 1 finished"}, phases)
		assert.Equal(t, []types.UID{"web"}, forgotten)
		assert.Empty(t, n.Pods())
		require.NoError(t, n.stopNode())
	})
}

// TestNode_BoundsAndPeriods: one start at a time, and one listing in five
// seconds of a runtime that tells nothing by itself.
func TestNode_BoundsAndPeriods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int32
		machine := memory.New(memory.Config{Hooks: memory.Hooks{Call: func(c memory.Call) {
			if c.Verb == "ListPods" {
				lists.Add(1)
			}
		}}})
		silentRuntime := struct{ runtime.Runtime }{machine} // It has no power to tell of events.
		n := runConfig(t, node.Config{Runtime: silentRuntime, Sync: node.SyncConfig{MaxSyncs: 1, Relist: 5 * time.Second}})
		for _, name := range []string{"a", "b"} {
			p := newPod(name, "serve")
			p.Annotations = map[string]string{memory.AnnotationPrefix + "c": "start-delay=10s"}
			require.NoError(t, n.Apply(p))
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		assert.Len(t, runningContainers(machine), 1, "the other waits for its turn")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Len(t, runningContainers(machine), 2)
		before := lists.Load()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.InDelta(t, 12, lists.Load()-before, 1)
		require.NoError(t, n.stopNode())
	})
}

// TestNode_SetADeletedPod: a deletion timestamp is no fault, it ends the pod.
func TestNode_SetADeletedPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		n := runConfig(t, node.Config{Runtime: machine})
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, runningContainers(machine), 1)
		deleted := newPod("web", "serve")
		deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		require.NoError(t, n.Apply(deleted))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Empty(t, runningContainers(machine))
		assert.Len(t, n.Pods(), 1, "it is shown until it is dropped")
		require.NoError(t, n.stopNode())
	})
}

// TestNode_I11_OneNameOnePod: the same full name from another source is refused.
func TestNode_I11_OneNameOnePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, files := memory.New(memory.Config{}), source.NewHandle()
		n := runConfig(t, node.Config{Runtime: machine, Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}})
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(time.Second)
		synctest.Wait()
		twin := newPod("web", "serve")
		twin.UID = "twin"
		require.NoError(t, files.Apply(twin))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"web/c"}, runningContainers(machine))
		require.NoError(t, n.stopNode())
	})
}

// TestNode_ConfigOfImagesAndNames: the Config limits concurrent pulls, and sets the resolver
// configuration of pods.
func TestNode_ConfigOfImagesAndNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var servers, searches atomic.Value
		var pulling, most atomic.Int32
		machine := memory.New(memory.Config{Hooks: memory.Hooks{Call: func(c memory.Call) {
			if req, ok := c.Request.(runtime.RunSandboxRequest); ok {
				servers.Store(req.DNS.Servers)
				searches.Store(req.DNS.Searches)
			}
		}}})
		n := runConfig(t, node.Config{
			Runtime:    pulls{machine, &pulling, &most},
			Containers: node.ContainersConfig{DNS: podsync.Resolver{ClusterDNS: []string{"192.0.2.53"}, ClusterDomain: "cluster.local"}},
			Images:     node.ImagesConfig{MaxPulls: 3, MaxPullsPerRegistry: 2},
		})
		for i := range 10 {
			p := newPod(fmt.Sprint("p", i), "serve")
			p.Spec.Containers[0].Image = fmt.Sprintf("example.com/%d:1", i)
			require.NoError(t, n.Apply(p))
		}
		time.Sleep(time.Minute)
		assert.Equal(t, int32(2), most.Load())
		assert.Equal(t, []string{"192.0.2.53"}, servers.Load())
		assert.Equal(t, []string{"default.svc.cluster.local", "svc.cluster.local", "cluster.local"}, searches.Load())
		require.NoError(t, n.stopNode())
	})
}

// pulls is a runtime whose pulls take a second, and are counted.
type pulls struct {
	*memory.Runtime
	now, most *atomic.Int32
}

// PullImage implements runtime.Images. It is called in a bubble.
func (p pulls) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	if n := p.now.Add(1); n > p.most.Load() {
		p.most.Store(n)
	}
	time.Sleep(time.Second)
	defer p.now.Add(-1)
	return p.Runtime.PullImage(ctx, req)
}
