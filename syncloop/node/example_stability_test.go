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

// leased is the reference PodSyncer, which starts a pod only while its license is valid. It embeds the
// reference and so has its method IsStable. But no event reports the end of a license, so stable pods
// have to be synced too.
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

// A PodSyncer that wraps the reference syncs each pod in every Config.Sync.Resync. A wrapper that does
// nothing of its own between events can call SetStability; this one must not.
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
	_ = n.Apply(jobPod("job", "true"))
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
