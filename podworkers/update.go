package podworkers

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// UpdatePod implements PodWorkers.
func (w *Workers) UpdatePod(options UpdatePodOptions) error {
	var u lifecycle.Update
	if err := w.fillTableUpdate(&options, &u); err != nil {
		return err
	}
	return w.applyUpdate(&options, &u, nil)
}

// Kill implements PodWorkers.
func (w *Workers) Kill(options UpdatePodOptions) *Completion {
	c := newCompletion(w.executor)
	options.UpdateType = SyncPodKill
	var u lifecycle.Update
	err := w.fillTableUpdate(&options, &u)
	if err == nil {
		err = w.applyUpdate(&options, &u, c)
	}
	if err != nil {
		c.Resolve(err)
	}
	return c
}

// applyUpdate passes an update to the lifecycle table, stores its pods unless the table rejects or ignores it,
// and performs the effects. With a completion the update is a kill, and the completion is stored until the kill
// is resolved.
func (w *Workers) applyUpdate(options *UpdatePodOptions, update *lifecycle.Update, completion *Completion) error {
	var act actions
	w.mu.Lock()
	accepted, err := w.updateTableLocked(update, completion != nil)
	if err == nil {
		if accepted.Disposition != lifecycle.Ignored {
			w.getOrInitRecordLocked(accepted.Ref).storeUpdateContent(options, accepted)
		}
		if completion != nil {
			w.mu.kills[accepted.Ticket] = completion
		}
	}
	w.applyEffectsLocked(&act, nil)
	w.mu.Unlock()
	w.performActions(&act)
	return err
}

// updateTableLocked passes the update to the lifecycle table. It calls the table's method Kill if kill is true,
// and Update if not. After shutdown it returns ErrStopped.
func (w *Workers) updateTableLocked(u *lifecycle.Update, kill bool) (accepted lifecycle.Accepted, err error) {
	if kill {
		accepted, err = w.mu.table.Kill(*u, &w.mu.effects)
	} else {
		accepted, err = w.mu.table.Update(*u, &w.mu.effects)
	}
	if errors.Is(err, lifecycle.ErrShutdown) {
		return accepted, ErrStopped
	}
	if err != nil {
		return accepted, fmt.Errorf("podworkers: %w", err)
	}
	return accepted, nil
}

// getOrInitRecordLocked returns the record of a Ref. A new record gets its worker function, and the highest
// observation number of the forgotten pods as its own.
func (w *Workers) getOrInitRecordLocked(ref lifecycle.Ref) *record {
	r := w.mu.records.recordAtOrAllocate(ref)
	if r.run == nil {
		r.run = func() { w.runWorker(ref) }
		r.observedMark = w.mu.mark
	}
	return r
}

// SyncKnownPods implements PodWorkers.
func (w *Workers) SyncKnownPods(known KnownPods) map[types.UID]PodWorkerSync {
	snapshot := lifecycle.DesiredSnapshot{
		Desired:         podUIDs(known.Desired),
		Generation:      known.Generation,
		ExcludedSources: w.excludedSources(known.Authoritative),
		Removed:         known.Removed,
		AllSources:      known.AllSources,
	}
	var act actions
	w.mu.Lock()
	states := w.mu.table.SyncKnown(snapshot, nil, &w.mu.effects)
	w.applyEffectsLocked(&act, nil)
	w.mu.Unlock()
	w.performActions(&act)
	syncs := make(map[types.UID]PodWorkerSync, len(states))
	for _, s := range states {
		syncs[s.UID] = PodWorkerSync{State: s.Phase, Orphan: s.Orphan, HasConfig: s.HasConfig, Static: s.Static}
	}
	return syncs
}

// excludedSources returns the pod sources for which authoritative returns false, because their snapshot of
// desired pods may be incomplete. If authoritative is nil, it returns none.
func (w *Workers) excludedSources(authoritative func(string) bool) []string {
	if authoritative == nil {
		return nil
	}
	w.mu.Lock()
	sources := w.mu.table.Sources()
	w.mu.Unlock()
	var excluded []string
	for _, source := range sources {
		if !authoritative(source) {
			excluded = append(excluded, source)
		}
	}
	return excluded
}

// podUIDs returns the UIDs of the pods. It skips nil pods.
func podUIDs(pods []*v1.Pod) []types.UID {
	list := make([]types.UID, 0, len(pods))
	for _, pod := range pods {
		if pod != nil {
			list = append(list, pod.UID)
		}
	}
	return list
}
