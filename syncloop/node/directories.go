package node

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
)

// pods is what has directories of pods and tells of which; not all Volumes do.
type pods interface {
	Pods(of func(types.UID) bool, limit int) ([]types.UID, error)
	TearDown(ctx context.Context, uid types.UID) error
}

// remover asks whether a pod is gone at the moment at which it has what it removes out
// of the way of a pod that comes under the same UID.
type remover interface {
	Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error
}

// directories is a remover that tells of which pods it has something.
type directories interface {
	Pods(of func(types.UID) bool, limit int) ([]types.UID, error)
	remover
}

// tornDown are Volumes that cannot ask.
type tornDown struct{ pods }

func (t tornDown) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	if !gone(uid) {
		return nil
	}
	return t.TearDown(ctx, uid)
}

// podsyncStates returns the ContainerStates for the PodSyncer. Without states it returns a nil
// interface, and not an interface with a nil pointer in it.
func (b *builder) podsyncStates() podsync.ContainerStates {
	if b.states == nil {
		return nil
	}
	return b.states
}

// buildDirectories: who removes what pods have left on the disk.
func (b *builder) buildDirectories() (err error) {
	var stores []directories
	if b.config.Logs.Root != "" {
		if b.logs, err = logfiles.New(logfiles.Config{
			Root: b.config.Logs.Root, Records: b.config.Logs.Records, Ran: b.hasRecords, OwnRoots: b.config.Logs.OldRoots,
			Links: b.config.Logs.Links, OldLinks: b.config.Logs.OldLinks,
		}); err != nil {
			return err
		}
		stores = append(stores, b.logs)
	}
	switch volumes := b.config.Volumes.Manager.(type) {
	case directories:
		stores = append(stores, volumes)
	case pods:
		stores = append(stores, tornDown{volumes})
	}
	if b.config.Pods.TerminalStatuses != nil {
		b.statuses = newTerminalStatuses(b.config.Pods.TerminalStatuses, b.guard, b.known, b.config.Clock)
		stores = append(stores, b.statuses)
	}
	if b.config.Pods.ContainerStates != nil {
		b.states = &containerStates{ContainerStates: b.config.Pods.ContainerStates, saver: newSaver(b.guard, b.config.Clock), known: b.known}
		stores = append(stores, b.states)
	}
	for _, store := range stores {
		d, err := gc.NewDirectories(gc.DirectoriesConfig{
			Store: store, Runtime: b.config.Runtime, Gone: b.gone, Clock: b.config.Clock, Log: b.config.Log,
			Panicked: b.guard.RecordPanic, Removed: b.removedBy(store),
		})
		if err != nil {
			return err
		}
		b.directories = append(b.directories, d)
	}
	return nil
}

// hasRecords reports whether the runtime has records of a pod, by its last observation.
func (n *Node) hasRecords(uid types.UID) bool {
	status, err := n.pleg.Get(uid)
	return err == nil && status != nil && len(status.Sandboxes)+len(status.Containers) > 0
}

// removedBy tells the log of volumes that a collector has removed: a pod's own end leaves
// none, so they are those of a pod whose end no agent has seen.
func (b *builder) removedBy(store directories) func(types.UID) {
	switch store.(type) {
	case *logfiles.Dir, *terminalStatuses, *containerStates:
		return nil
	}
	return func(uid types.UID) {
		b.config.Log.Info("removed the volumes of a pod that is gone", "uid", uid)
	}
}

// gone: the pod is neither desired nor worked on, and all sources have
// said everything. Whose a directory is it does not tell. A pod that this node has
// never had may only be late, until that is out of the question.
func (n *Node) gone(uid types.UID) bool {
	return n.allComplete() && !n.known(uid) && (n.handlers.OrphanGraceOver() || n.mine(uid))
}

// own notes that this node has had a pod, as long as it matters.
func (n *Node) own(uid types.UID) {
	over := n.handlers.OrphanGraceOver()
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case over:
		n.mu.own = nil
	case n.mu.own == nil:
		n.mu.own = map[types.UID]bool{uid: true}
	default:
		n.mu.own[uid] = true
	}
}

// mine reports whether this node has had a pod.
func (n *Node) mine(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.own[uid]
}

func (n *Node) allComplete() bool {
	if !n.sources.AllSeen() {
		return false
	}
	return !slices.ContainsFunc(n.sources.Names(), func(name string) bool { return !n.sources.Complete(name) })
}

// requestTidy has the next housekeeping look for directories that are left of a pod.
func (n *Node) requestTidy() {
	if len(n.directories) == 0 {
		return
	}
	n.mu.Lock()
	n.mu.tidy = false
	n.mu.Unlock()
	n.loop.RequestHousekeeping()
}

// tidyUp requests a collection of directories after a housekeeping, if some may be left: after the first
// housekeeping those of earlier agents, later those of removed pods (HC-2, SP-24).
func (n *Node) tidyUp() {
	if !n.allComplete() {
		return
	}
	n.mu.Lock()
	tidy := n.mu.tidy
	n.mu.tidy = n.handlers.OrphanGraceOver() // Until then what there is may not be removed yet.
	n.mu.Unlock()
	if tidy {
		return
	}
	for _, d := range n.directories {
		d.Changed()
	}
}
