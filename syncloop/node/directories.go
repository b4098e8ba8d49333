package node

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
)

// volumeStore is what has directories of pods and tells of which; not all Volumes do.
type volumeStore interface {
	Pods(of func(types.UID) bool, limit int) ([]types.UID, error)
	TearDown(ctx context.Context, uid types.UID) error
}

// conditionalRemover asks whether a pod is gone at the moment at which it has what it removes out
// of the way of a pod that comes under the same UID.
type conditionalRemover interface {
	Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error
}

// directoryStore is a remover that tells of which pods it has something.
type directoryStore interface {
	Pods(of func(types.UID) bool, limit int) ([]types.UID, error)
	conditionalRemover
}

// tearDownStore are Volumes that cannot ask.
type tearDownStore struct{ volumeStore }

func (t tearDownStore) Remove(ctx context.Context, uid types.UID, isGone func(types.UID) bool) error {
	if !isGone(uid) {
		return nil
	}
	return t.TearDown(ctx, uid)
}

// syncerContainerStates returns the ContainerStates for the PodSyncer. Without states it returns a nil
// interface, and not an interface with a nil pointer in it.
func (b *builder) syncerContainerStates() podsync.ContainerStates {
	if b.node.states == nil {
		return nil
	}
	return b.node.states
}

// buildDirectories: who removes what pods have left on the disk.
func (b *builder) buildDirectories() (err error) {
	n := b.node
	var stores []directoryStore
	if n.config.Logs.Root != "" {
		if n.logs, err = logfiles.New(logfiles.Config{
			Root: n.config.Logs.Root, Records: n.config.Logs.Records, Ran: n.cleaner.hasRecords, OwnRoots: n.config.Logs.OldRoots,
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
		n.statuses = newTerminalStatuses(n.config.Pods.TerminalStatuses, n.guard, n.cleaner.isKnown, n.config.Clock)
		stores = append(stores, n.statuses)
	}
	if n.config.Pods.ContainerStates != nil {
		n.states = &containerStates{ContainerStates: n.config.Pods.ContainerStates, saver: newSaver(n.guard, n.config.Clock), isKnown: n.cleaner.isKnown}
		stores = append(stores, n.states)
	}
	for _, store := range stores {
		d, err := gc.NewDirectories(gc.DirectoriesConfig{
			Store: store, Runtime: n.config.Runtime, Gone: n.cleaner.canRemoveDirectories, Clock: n.config.Clock, Log: n.config.Log,
			Panicked: n.guard.RecordPanic, Removed: b.volumeRemovalLogger(store),
		})
		if err != nil {
			return err
		}
		n.cleaner.directories = append(n.cleaner.directories, d)
	}
	return nil
}

// volumeRemovalLogger tells the log of volumes that a collector has removed: a pod's own end leaves
// none, so they are those of a pod whose end no agent has seen.
func (b *builder) volumeRemovalLogger(store directoryStore) func(types.UID) {
	switch store.(type) {
	case *logfiles.Dir, *terminalStatuses, *containerStates:
		return nil
	}
	return func(uid types.UID) {
		b.node.config.Log.Info("removed the volumes of a pod that is gone", "uid", uid)
	}
}
