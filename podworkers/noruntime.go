package podworkers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// NoCache is a Config.Cache for a PodSyncer without a container runtime. The workers never wait for
// it. Each status is empty except for the UID.
type NoCache struct{}

// Get implements runtime.StatusCache.
func (NoCache) Get(uid types.UID) (*runtime.PodStatus, error) {
	return &runtime.PodStatus{UID: uid}, nil
}

// Mark implements runtime.StatusCache.
func (NoCache) Mark() uint64 { return 0 }

// NewerThan implements runtime.StatusCache. It returns at once.
func (c NoCache) NewerThan(_ context.Context, uid types.UID, _ uint64) (*runtime.PodStatus, error) {
	return c.Get(uid)
}

// NoRuntimePods is embedded in a PodSyncer without a container runtime. No pod is known from a
// runtime alone: there is nothing to terminate, and the list of such pods is empty. It also
// implements syncloop.HandlersConfig.Runtime.
type NoRuntimePods struct{}

// SyncTerminatingRuntimePod implements PodSyncer. The workers call it only for the RunningPod of an
// update.
func (NoRuntimePods) SyncTerminatingRuntimePod(context.Context, *runtime.Pod) error { return nil }

// Pods returns no pods.
func (NoRuntimePods) Pods() []runtime.Pod { return nil }

// Healthy returns true: the empty list of pods is correct.
func (NoRuntimePods) Healthy() (bool, error) { return true, nil }
