package node_test

import (
	"context"
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

// leased is the reference PodSyncer, which starts a pod only while its license holds. It
// embeds the reference, so it has its method IsStable too; but no event tells that a license
// ends, so the pods of which IsStable is true have to be synced all the same.
type leased struct {
	*podsync.Syncer
	licensed *atomic.Bool
}

func (l leased) SyncPod(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *runtime.PodStatus) (bool, error) {
	if !l.licensed.Load() {
		return false, fmt.Errorf("pod %s has no license", pod.Name)
	}
	return l.Syncer.SyncPod(ctx, kind, pod, mirror, status)
}

// A PodSyncer that wraps the reference is synced in every Config.Sync.Resync. One that has nothing
// to do between events of its own says so with SetStability; this one must not.
func ExampleSyncerParts() {
	licensed := &atomic.Bool{}
	licensed.Store(true)
	n, err := node.New(node.Config{NewSyncer: func(parts node.SyncerParts) (podworkers.PodSyncer, error) {
		reference, err := podsync.New(parts.Reference)
		// parts.SetStability(reference) // if SyncPod did no more than the reference
		return leased{reference, licensed}, err
	}})
	if err != nil {
		panic(err)
	}
	ctx, end := context.WithCancel(context.Background())
	go n.Run(ctx)
	_ = n.Apply(job("job", "true"))
	for state := range n.Watch(ctx) {
		if state.Pod.Status.Phase == v1.PodSucceeded {
			fmt.Println(state.Pod.Name, state.Summary())
			break
		}
	}
	end()
	<-n.Done()
	// Output: job 0/1 Completed
}
