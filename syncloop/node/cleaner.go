package node

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/gc"
)

// cleaner decides which runtime records and which directories of pods may be removed, and requests their
// removal. The garbage collectors remove them.
type cleaner struct {
	sources        *source.Mux
	manager        *podmanager.Store
	workers        *podworkers.Workers
	handlers       *syncloop.Handlers
	pleg           *pleg.PLEG
	loop           *syncloop.Loop
	imageCollector *gc.Images
	// directories remove the files of pods from the disk.
	directories []*gc.Directories

	mu struct {
		sync.Mutex
		ownPods map[types.UID]bool // pods that had a worker on this node, until OrphanGrace is over
		clean   bool               // no directory of a removed pod is left, as far as the node knows
	}
}

// isKnown reports whether the pod is desired or has a worker.
func (c *cleaner) isKnown(uid types.UID) bool {
	_, desired := c.manager.GetPodByUID(uid)
	return desired || c.workers.View(uid).Known
}

// isKnownOrObserved reports whether a worker or the runtime knows the pod. Then a new pod of its UID is another
// incarnation.
func (c *cleaner) isKnownOrObserved(uid types.UID) bool {
	if c.workers.View(uid).Known {
		return true
	}
	observed, err := c.pleg.Get(uid)
	return err != nil || len(observed.Sandboxes)+len(observed.Containers) > 0
}

// hasRecords reports whether the newest observation of the runtime has a sandbox or a container of the pod.
func (c *cleaner) hasRecords(uid types.UID) bool {
	observed, err := c.pleg.Get(uid)
	return err == nil && observed != nil && len(observed.Sandboxes)+len(observed.Containers) > 0
}

// canRemoveRecords reports whether all runtime records of the pod may be removed. The collector of pods calls it
// before each removal.
func (c *cleaner) canRemoveRecords(uid types.UID) bool {
	_, desired := c.manager.GetPodByUID(uid)
	return !desired && c.workers.View(uid).ShouldPodContentBeRemoved()
}

// needsRecords reports whether the node knows the pod and must keep its newest runtime records.
func (c *cleaner) needsRecords(uid types.UID) bool { return c.isKnown(uid) && !c.canRemoveRecords(uid) }

// canRemoveDirectories reports whether the directories of the pod may be removed. The pod is neither desired nor
// has it a worker, and every source has delivered all its pods. A pod that never had a worker on this node
// may still come from a slow source, so its directories stay until OrphanGrace is over.
func (c *cleaner) canRemoveDirectories(uid types.UID) bool {
	return c.areSourcesComplete() && !c.isKnown(uid) && (c.handlers.OrphanGraceOver() || c.isOwnPod(uid))
}

// areSourcesComplete reports whether every source has delivered all its pods.
func (c *cleaner) areSourcesComplete() bool {
	if !c.sources.AllSeen() {
		return false
	}
	return !slices.ContainsFunc(c.sources.Names(), func(name string) bool { return !c.sources.Complete(name) })
}

// recordOwnPod records that the pod had a worker on this node. The record is kept until OrphanGrace is over.
func (c *cleaner) recordOwnPod(uid types.UID) {
	graceOver := c.handlers.OrphanGraceOver()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case graceOver:
		c.mu.ownPods = nil
	case c.mu.ownPods == nil:
		c.mu.ownPods = map[types.UID]bool{uid: true}
	default:
		c.mu.ownPods[uid] = true
	}
}

// isOwnPod reports whether recordOwnPod has recorded the pod.
func (c *cleaner) isOwnPod(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.ownPods[uid]
}

// handleContainersRemoved requests an inspection of the pod and a collection of images. The collectors call it
// after each removal of containers.
func (c *cleaner) handleContainersRemoved(uid types.UID) {
	c.pleg.RequestRelist(uid)
	c.imageCollector.Changed()
}

// handlePodRemoved is called after the removal of the last runtime record of a pod.
func (c *cleaner) handlePodRemoved(uid types.UID) {
	c.handleContainersRemoved(uid)
	c.requestDirectoryCleanup()
}

// requestDirectoryCleanup makes the next housekeeping start the collectors of directories.
func (c *cleaner) requestDirectoryCleanup() {
	if len(c.directories) == 0 {
		return
	}
	c.mu.Lock()
	c.mu.clean = false
	c.mu.Unlock()
	c.loop.RequestHousekeeping()
}

// startDirectoryCleanup starts the collectors of directories if directories of pods may be left. The first
// housekeeping starts them for the pods of earlier agents, later ones for removed pods (HC-2, SP-24).
func (c *cleaner) startDirectoryCleanup() {
	if !c.areSourcesComplete() {
		return
	}
	c.mu.Lock()
	clean := c.mu.clean
	c.mu.clean = c.handlers.OrphanGraceOver() // Before that some directories may not be removed yet.
	c.mu.Unlock()
	if clean {
		return
	}
	for _, d := range c.directories {
		d.Changed()
	}
}
