package node

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/gc"
)

// inMemory gives a runtime without a file system volumes without one.
func (c *Config) inMemory() {
	volumes := inmemory.New(inmemory.Config{Objects: c.Objects, Allocatable: c.allocatable()})
	if c.Volumes == nil {
		c.Volumes = volumes
	}
	if c.Files == nil {
		c.Files = volumes
	}
}

// buildDesired: what the node has been told, and what it tells back.
func (n *Node) buildDesired() (err error) {
	n.held = hold(n.host, !n.config.AwaitHost)
	sources := maps.Clone(n.config.Sources)
	if sources == nil {
		sources = make(map[string]source.Source, 1)
	}
	sources[hostSource] = n.held
	n.sources, err = source.New(source.Config{Sources: sources, Clock: n.config.Clock, Log: n.config.Log, Recorder: n.config.Recorder,
		Hooks: source.Hooks{Panicked: n.guard.Note},
	})
	if err != nil {
		return err
	}
	n.manager = podmanager.New()
	n.status = status.New(status.Config{Clock: n.config.Clock, Translator: n.manager, Log: n.config.Log,
		Hooks: status.Hooks{Accepted: n.accepted, Unchanged: n.historyStore.agrees, Refused: n.refused, Panicked: n.guard.Note},
	})
	return n.buildSender()
}

// buildObserved: what the runtime shows.
func (n *Node) buildObserved() (err error) {
	n.pleg, err = pleg.New(pleg.Config{
		Runtime:      n.config.Runtime,
		Clock:        n.config.Clock,
		RelistPeriod: n.config.Relist,
		Log:          n.config.Log,
		Hooks:        pleg.Hooks{Relisted: n.relisted, Inspected: n.inspected, Panicked: n.guard.Note},
	})
	return err
}

// buildWork: what happens to each pod.
func (n *Node) buildWork() (err error) {
	if err := n.buildProbes(); err != nil {
		return err
	}
	n.images, err = images.New(images.Config{
		Images:   n.config.Runtime,
		MaxPulls: n.config.MaxPulls, MaxPullsPerRegistry: n.config.MaxPullsPerRegistry,
		Clock: n.config.Clock, Log: n.config.Log,
		Hooks: images.Hooks{Pulled: func(images.Pull) { n.unused.Changed() }, Panicked: n.guard.Note},
	})
	if err != nil {
		return err
	}
	if err := n.buildSyncer(); err != nil {
		return err
	}
	n.workers, err = podworkers.New(podworkers.Config{
		Syncer:       n.syncer,
		Cache:        n.pleg,
		Retry:        backoff.Retry{Resync: n.config.Resync},
		MaxSyncs:     n.config.MaxSyncs,
		DrainTimeout: n.config.DrainTimeout,
		Clock:        n.config.Clock,
		Jitter:       n.config.Jitter,
		Log:          n.config.Log,
		Recorder:     n.config.Recorder,
		Hooks:        podworkers.Hooks{Phase: n.phase, Forgotten: n.forgotten, Synced: n.synced, Panicked: n.guard.Note},
	})
	return err
}

// buildCollectors: what removes what is of no use any more.
func (n *Node) buildCollectors() (err error) {
	n.leftover, err = gc.NewPods(gc.PodsConfig{
		Runtime:   n.config.Runtime,
		Removable: n.removable,
		Removed:   n.emptied,
		Clock:     n.config.Clock,
		Log:       n.config.Log,
		Panicked:  n.guard.Note,
	})
	if err != nil {
		return err
	}
	containers := gc.ContainersConfig{
		Runtime:  n.config.Runtime,
		Seen:     n.pleg,
		Living:   n.living,
		Removed:  n.cleared,
		Policy:   n.config.GC,
		Clock:    n.config.Clock,
		Log:      n.config.Log,
		Panicked: n.guard.Note,
	}
	if n.logs != nil {
		containers.Logs = n.logs
	}
	n.dead, err = gc.NewContainers(containers)
	if err != nil {
		return err
	}
	n.unused, err = gc.NewImages(gc.ImagesConfig{
		Runtime:  n.config.Runtime,
		Images:   n.images,
		Seen:     n.pleg,
		Policy:   n.config.ImageGC,
		Recorder: n.config.Recorder,
		Node:     &v1.ObjectReference{Kind: "Node", Name: n.config.Name, UID: types.UID(n.config.Name)},
		Clock:    n.config.Clock,
		Log:      n.config.Log,
		Panicked: n.guard.Note,
	})
	return err
}

// buildLoop: who is called when.
func (n *Node) buildLoop() (err error) {
	handlers := syncloop.HandlersConfig{
		Manager:     n.manager,
		Workers:     n.workers,
		Status:      n.status,
		Runtime:     n.pleg,
		Sources:     n.sources,
		Admit:       n.admission(),
		Closed:      n.draining.hasBegun,
		OrphanGrace: n.config.OrphanGrace,
		Discard:     n.leftover.Discard,
		Recorder:    n.config.Recorder,
		Clock:       n.config.Clock,
		Log:         n.config.Log,
		Panicked:    n.guard.Note,
	}
	if n.config.FromAPIServer {
		handlers.FromAPIServer = func(pod *v1.Pod) bool { return !podmanager.IsStaticPod(pod) }
	}
	if n.config.TerminalStatuses != nil {
		handlers.Ended = n.config.TerminalStatuses.Consume
	}
	if n.handlers, err = syncloop.NewHandlers(handlers); err != nil {
		return err
	}
	n.limits, err = syncloop.NewDeadlines(syncloop.DeadlinesConfig{
		Desired: n.manager, Workers: n.workers, Status: n.status,
		Recorder: n.config.Recorder, Clock: n.config.Clock, Log: n.config.Log, Panicked: n.guard.Note,
	})
	if err != nil {
		return err
	}
	n.loop, err = syncloop.New(syncloop.Config{
		Handler:            n.handlers,
		Updates:            n.sources,
		Desired:            n.manager,
		Changes:            n.pleg,
		Readiness:          n.status,
		Deadlines:          n.limits,
		ReadyToStart:       n.settled,
		HousekeepingPeriod: n.config.Housekeeping,
		Clock:              n.config.Clock,
		Log:                n.config.Log,
		Hooks:              syncloop.Hooks{Cleanup: n.cleaned},
	})
	return err
}
