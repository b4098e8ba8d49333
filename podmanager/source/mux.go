package source

import (
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source/internal/merge"
)

// Mux merges sources. New makes one, Run runs its sources, and one consumer
// takes what is new. Its methods are safe for concurrent use.
type Mux struct {
	cfg      Config
	guard    *contain.Guard
	executor executor.Executor
	inboxes  []*inbox // by name

	mu struct {
		sync.Mutex
		wake func()
		ran  bool
	}
	// taking lets one TakeAll finish before the next begins, so that changes
	// reach the consumer in order even if there are two by mistake.
	taking sync.Mutex
	// claims say which source has a UID. TakeAll changes them; Faults reads them.
	claims struct {
		sync.Mutex
		of merge.Claims
	}
}

// New makes a Mux over the sources of a Config. It starts nothing.
func New(cfg Config) (*Mux, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	m := &Mux{guard: cfg.contain(), executor: executor.Over(cfg.Clock)}
	m.cfg = cfg
	m.mu.wake = cfg.Wake
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		m.inboxes = append(m.inboxes, &inbox{mux: m, name: name, src: cfg.Sources[name]})
	}
	return m, nil
}

// SetWake replaces Config.Wake. The consumer, which is often made after the Mux, calls it before
// Run. SetWake does not call wake for changes that were delivered before it, so the consumer calls
// TakeAll once before it waits.
func (m *Mux) SetWake(wake func()) {
	if wake == nil {
		wake = func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.wake = wake
}

func (m *Mux) wake() {
	m.mu.Lock()
	wake := m.mu.wake
	m.mu.Unlock()
	wake()
}

// TakeAll appends to buf all changes that it has not returned before, source by
// source in order of name, and within a source in the order REMOVE, ADD, UPDATE,
// DELETE, RECONCILE, and returns it. A pod that waited until another source removed its UID is an
// ADD after all of these. It never blocks. The one
// consumer calls it, after a wake or at any other time. Every source that has delivered counts as
// seen after it.
func (m *Mux) TakeAll(buf []podmanager.PodUpdate) []podmanager.PodUpdate {
	updates, rejected := m.take(buf)
	for _, r := range rejected {
		m.reject(r)
	}
	return updates
}

// rejection is a pod that one source had and that is not delivered.
type rejection struct {
	source string
	merge.Rejected
}

func (m *Mux) take(updates []podmanager.PodUpdate) (_ []podmanager.PodUpdate, rejected []rejection) {
	m.taking.Lock()
	defer m.taking.Unlock()
	changes := make([]merge.SourceChanges, 0, len(m.inboxes))
	for _, in := range m.inboxes {
		changes = append(changes, merge.SourceChanges{Source: in.name, Changes: in.take()})
	}
	late, fresh := m.refuseForeignUIDs(changes)
	for _, c := range append(changes, late...) {
		updates = appendUpdates(updates, c.Source, c.Changes)
		for _, r := range c.Rejected {
			rejected = append(rejected, rejection{c.Source, r})
		}
	}
	for _, r := range fresh {
		rejected = append(rejected, rejection{r.Source, merge.Rejected{Pod: r.Pod, Err: r.Err}})
	}
	return updates, rejected
}

// appendUpdates puts changes in the order of delivery (CF-3).
func appendUpdates(to []podmanager.PodUpdate, source string, c merge.Changes) []podmanager.PodUpdate {
	for _, u := range [...]podmanager.PodUpdate{
		{Pods: c.Remove, Op: podmanager.REMOVE, Source: source},
		{Pods: c.Add, Op: podmanager.ADD, Source: source},
		{Pods: c.Update, Op: podmanager.UPDATE, Source: source},
		{Pods: c.Delete, Op: podmanager.DELETE, Source: source},
		{Pods: c.Reconcile, Op: podmanager.RECONCILE, Source: source},
	} {
		if len(u.Pods) > 0 || u.Op == podmanager.ADD && c.First {
			to = append(to, u)
		}
	}
	return to
}

// reject tells people of a pod that is not delivered (CF-6).
func (m *Mux) reject(r rejection) {
	name := ""
	if r.Pod != nil {
		name = r.Pod.Namespace + "/" + r.Pod.Name
	}
	m.cfg.Log.Warn("Ignoring a pod of a source", "source", r.source, "pod", name, "err", r.Err)
	m.cfg.Hooks.Rejected(r.source, r.Pod, r.Err)
	if m.cfg.Recorder != nil && r.Pod != nil {
		m.cfg.Recorder.Eventf(r.Pod, v1.EventTypeWarning, "FailedValidation",
			"Error validating pod %s from %s, ignoring: %v", name, r.source, r.Err)
	}
}

// Complete reports whether the pods that the consumer has taken are all desired pods of the named
// source: the source has delivered, the consumer has taken that, and neither the snapshot that was
// taken nor the newest one is incomplete. It is false for an unknown name.
func (m *Mux) Complete(source string) bool {
	for _, in := range m.inboxes {
		if in.name == source {
			return in.complete()
		}
	}
	return false
}

// AllDelivered reports whether every source has delivered something, taken or
// not. Without sources it is true.
func (m *Mux) AllDelivered() bool {
	return !slices.ContainsFunc(m.inboxes, func(in *inbox) bool { return !in.delivered() })
}

// Names are the names of all sources, sorted. The slice is the caller's.
func (m *Mux) Names() []string {
	names := make([]string, 0, len(m.inboxes))
	for _, in := range m.inboxes {
		names = append(names, in.name)
	}
	return names
}

// AllSeen reports whether every source has delivered and the consumer has taken
// something of each. Without sources it is true.
func (m *Mux) AllSeen() bool {
	return !slices.ContainsFunc(m.inboxes, func(in *inbox) bool { return !in.seen() })
}
