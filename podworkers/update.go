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
	if err := w.describe(&options, &u); err != nil {
		return err
	}
	return w.accept(&options, &u, nil)
}

// Kill implements PodWorkers.
func (w *Workers) Kill(options UpdatePodOptions) *Completion {
	c := newCompletion(w.executor)
	options.UpdateType = SyncPodKill
	var u lifecycle.Update
	err := w.describe(&options, &u)
	if err == nil {
		err = w.accept(&options, &u, c)
	}
	if err != nil {
		c.Resolve(err)
	}
	return c
}

// accept puts an update before the table and does what the table says. With a
// completion the update is a kill.
func (w *Workers) accept(options *UpdatePodOptions, u *lifecycle.Update, kill *Completion) error {
	var act actions
	w.mu.Lock()
	accepted, err := w.decideLocked(u, kill != nil)
	if err == nil {
		if accepted.Disposition != lifecycle.Ignored {
			w.recordLocked(accepted.Ref).keep(options, accepted)
		}
		if kill != nil {
			w.mu.kills[accepted.Ticket] = kill
		}
	}
	w.applyLocked(&act, nil)
	w.mu.Unlock()
	w.do(&act)
	return err
}

func (w *Workers) decideLocked(u *lifecycle.Update, kill bool) (accepted lifecycle.Accepted, err error) {
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

// recordLocked is the shell's side of a record, prepared if it is new.
func (w *Workers) recordLocked(ref lifecycle.Ref) *record {
	r := w.mu.records.at(ref)
	if r.run == nil {
		r.run = func() { w.work(ref) }
		r.mark = w.mu.mark
	}
	return r
}

// SyncKnownPods implements PodWorkers.
func (w *Workers) SyncKnownPods(known KnownPods) map[types.UID]PodWorkerSync {
	snapshot := lifecycle.Known{
		Desired:         uids(known.Desired),
		Generation:      known.Generation,
		ExcludedSources: w.excludedSources(known.Authoritative),
		Removed:         known.Removed,
		AllSources:      known.AllSources,
	}
	var act actions
	w.mu.Lock()
	states := w.mu.table.SyncKnown(snapshot, nil, &w.mu.effects)
	w.applyLocked(&act, nil)
	w.mu.Unlock()
	w.do(&act)
	syncs := make(map[types.UID]PodWorkerSync, len(states))
	for _, s := range states {
		syncs[s.UID] = PodWorkerSync{State: s.Phase, Orphan: s.Orphan, HasConfig: s.HasConfig, Static: s.Static}
	}
	return syncs
}

// excludedSources lists the sources that can not be believed about what they lack.
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

func uids(pods []*v1.Pod) []types.UID {
	list := make([]types.UID, 0, len(pods))
	for _, pod := range pods {
		if pod != nil {
			list = append(list, pod.UID)
		}
	}
	return list
}
