package node

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
)

// volumeStore is an implementation of podsync.Volumes that can list the pods that have directories.
type volumeStore interface {
	Pods(match func(types.UID) bool, limit int) ([]types.UID, error)
	TearDown(ctx context.Context, uid types.UID) error
}

// conditionalRemover removes the files of a pod if isGone returns true. It calls isGone when no new pod
// of the same UID can use the files.
type conditionalRemover interface {
	Remove(ctx context.Context, uid types.UID, isGone func(types.UID) bool) error
}

// directoryStore is a conditionalRemover that can list the pods whose files it has.
type directoryStore interface {
	Pods(match func(types.UID) bool, limit int) ([]types.UID, error)
	conditionalRemover
}

// tearDownStore makes a directoryStore of a volumeStore that has no Remove method.
type tearDownStore struct{ volumeStore }

func (t tearDownStore) Remove(ctx context.Context, uid types.UID, isGone func(types.UID) bool) error {
	if !isGone(uid) {
		return nil
	}
	return t.TearDown(ctx, uid)
}

// syncerContainerStates returns the store of container states for the PodSyncer. If the Config has no store, it
// returns a nil interface, because an interface with a nil pointer would not be nil.
func (b *builder) syncerContainerStates() podsync.ContainerStates {
	if b.node.states == nil {
		return nil
	}
	return b.node.states
}

// buildFileStoresAndCollectors builds the stores for logs, terminal statuses, container states and allocated
// resources that the Config asks for. For each of them, and for a volume manager that can list its pods, it
// adds a collector that deletes the files of removed pods.
func (b *builder) buildFileStoresAndCollectors() (err error) {
	n := b.node
	n.cgroups = newPodCgroups(n.config.Cgroups, n.config.Clock, n.config.Log)
	n.enforcer = newTotalLimits(n)
	var stores []directoryStore
	if n.config.Logs.Root != "" {
		if n.logs, err = logfiles.New(logfiles.Config{
			Root: n.config.Logs.Root, Records: n.config.Logs.Records, Ran: n.cleaner.hasRuntimeRecords, OwnRoots: n.config.Logs.OldRoots,
			Links: n.config.Logs.Links, OldLinks: n.config.Logs.OldLinks,
		}); err != nil {
			return err
		}
		stores = append(stores, n.logs)
	}
	switch volumes := n.config.Volumes.Manager.(type) {
	case directoryStore:
		stores = append(stores, volumes)
	case volumeStore:
		stores = append(stores, tearDownStore{volumes})
	}
	if n.config.Pods.TerminalStatuses != nil {
		n.statuses = newTerminalStatuses(n.config.Pods.TerminalStatuses, n.guard, n.cleaner.isDesiredOrHasWorker, n.config.Clock)
		stores = append(stores, n.statuses)
	}
	if n.config.Pods.ContainerStates != nil {
		n.states = &containerStates{ContainerStates: n.config.Pods.ContainerStates, saver: newSaver(n.guard, n.config.Clock), isKnown: n.cleaner.isDesiredOrHasWorker}
		stores = append(stores, n.states)
	}
	if n.config.Pods.AllocatedResources != nil {
		n.allocated = newAllocatedResources(n.config.Pods.AllocatedResources, n.guard, n.cleaner.isDesiredOrHasWorker, n.config.Clock)
		stores = append(stores, n.allocated)
	}
	if n.cgroups != nil {
		stores = append(stores, n.cgroups)
	}
	for _, store := range stores {
		d, err := gc.NewDirectories(gc.DirectoriesConfig{
			Store: store, Runtime: n.config.Runtime, Gone: n.cleaner.canRemovePodDirectories, Clock: n.config.Clock, Log: n.config.Log,
			Panicked: n.guard.RecordPanic, Removed: b.volumeRemovalLogger(store),
		})
		if err != nil {
			return err
		}
		n.cleaner.directories = append(n.cleaner.directories, d)
	}
	return nil
}

// volumeRemovalLogger returns a function that logs the removal of a pod's volumes, or nil if the store does not
// hold volumes. A pod that terminates normally leaves no volumes, so such volumes belong to a pod that
// terminated while no agent ran.
func (b *builder) volumeRemovalLogger(store directoryStore) func(types.UID) {
	switch store.(type) {
	case *logfiles.Dir, *terminalStatuses, *containerStates, *allocatedResources:
		return nil
	case *podCgroups:
		return func(uid types.UID) { b.node.config.Log.Info("removed the cgroup of a pod that is gone", "uid", uid) }
	}
	return func(uid types.UID) {
		b.node.config.Log.Info("removed the volumes of a pod that is gone", "uid", uid)
	}
}
