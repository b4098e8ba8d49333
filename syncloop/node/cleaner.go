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
		hadWorker map[types.UID]bool // pods that had a worker on this node, until OrphanGrace is over
		clean     bool               // no directory of a removed pod is left, as far as the node knows
	}
}

// isDesiredOrHasWorker reports whether the pod is desired or has a worker.
func (c *cleaner) isDesiredOrHasWorker(uid types.UID) bool {
	_, desired := c.manager.GetPodByUID(uid)
	return desired || c.workers.View(uid).Known
}

// hasWorkerOrRuntimeRecords reports whether the pod has a worker, or the runtime has a sandbox or a container
// of it. It also returns true if the last observation of the pod failed.
func (c *cleaner) hasWorkerOrRuntimeRecords(uid types.UID) bool {
	if c.workers.View(uid).Known {
		return true
	}
	observed, err := c.pleg.Get(uid)
	return err != nil || len(observed.Sandboxes)+len(observed.Containers) > 0
}

// hasRuntimeRecords reports whether the newest observation of the runtime succeeded and has a sandbox or a
// container of the pod.
func (c *cleaner) hasRuntimeRecords(uid types.UID) bool {
	observed, err := c.pleg.Get(uid)
	return err == nil && observed != nil && len(observed.Sandboxes)+len(observed.Containers) > 0
}

// canRemoveRuntimeRecords reports whether all sandboxes and containers of the pod may be removed from the
// runtime. The pod must not be desired, and its worker must allow the removal; for a pod without a worker, all
// sources must have delivered their pods. The garbage collector of pods calls it before each removal.
func (c *cleaner) canRemoveRuntimeRecords(uid types.UID) bool {
	_, desired := c.manager.GetPodByUID(uid)
	return !desired && c.workers.View(uid).ShouldPodContentBeRemoved()
}

// needsRuntimeRecords reports whether the newest containers of the pod must stay in the runtime: the pod is
// desired, or it has a worker that does not allow their removal yet.
func (c *cleaner) needsRuntimeRecords(uid types.UID) bool {
	return c.isDesiredOrHasWorker(uid) && !c.canRemoveRuntimeRecords(uid)
}

// canRemovePodDirectories reports whether the directories of the pod may be removed. Every source must have
// delivered all its pods, and the pod must neither be desired nor have a worker. If the pod had no worker in
// this process, OrphanGrace must also be over, because a slow source may still deliver the pod.
func (c *cleaner) canRemovePodDirectories(uid types.UID) bool {
	return c.areSourcesComplete() && !c.isDesiredOrHasWorker(uid) && (c.handlers.OrphanGraceOver() || c.hasHadWorker(uid))
}

// areSourcesComplete reports whether every source has delivered all its pods and the loop has handled the first
// delivery of each.
func (c *cleaner) areSourcesComplete() bool {
	if !c.sources.AllSeen() {
		return false
	}
	return !slices.ContainsFunc(c.sources.Names(), func(name string) bool { return !c.sources.Complete(name) })
}

// recordHadWorkerOrForgetAllIfGraceOver records that the pod had a worker in this process. When the OrphanGrace
// of all sources is over, it records nothing and deletes all these records, because canRemovePodDirectories
// then needs none.
func (c *cleaner) recordHadWorkerOrForgetAllIfGraceOver(uid types.UID) {
	graceOver := c.handlers.OrphanGraceOver()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case graceOver:
		c.mu.hadWorker = nil
	case c.mu.hadWorker == nil:
		c.mu.hadWorker = map[types.UID]bool{uid: true}
	default:
		c.mu.hadWorker[uid] = true
	}
}

// hasHadWorker reports whether the pod is recorded as having had a worker in this process. The records are
// deleted after OrphanGrace.
func (c *cleaner) hasHadWorker(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.hadWorker[uid]
}

// relistAndRequestImageGC requests a PLEG relist of the pod and a collection of unused images. The garbage
// collector of containers calls it after each removal.
func (c *cleaner) relistAndRequestImageGC(uid types.UID) {
	c.pleg.RequestRelist(uid)
	c.imageCollector.Changed()
}

// relistAndRequestCleanup requests a PLEG relist of the pod, a collection of unused images, and a cleanup of
// pod directories. The garbage collector of pods calls it after it has removed a pod's last sandbox or
// container.
func (c *cleaner) relistAndRequestCleanup(uid types.UID) {
	c.relistAndRequestImageGC(uid)
	c.requestDirectoryCleanup()
}

// requestDirectoryCleanup requests housekeeping, and makes that housekeeping start the collectors of pod
// directories. It does nothing if the node has no such collectors.
func (c *cleaner) requestDirectoryCleanup() {
	if len(c.directories) == 0 {
		return
	}
	c.mu.Lock()
	c.mu.clean = false
	c.mu.Unlock()
	c.loop.RequestHousekeeping()
}

// startDirectoryCleanupIfNeeded starts the collectors of pod directories. It does nothing until every source
// has delivered all its pods. Until OrphanGrace is over it starts them at each call; after that, once for each
// requestDirectoryCleanup. (HC-2, SP-24)
func (c *cleaner) startDirectoryCleanupIfNeeded() {
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
