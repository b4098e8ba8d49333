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

// Mux merges sources. New makes one, Run runs its sources, and one consumer calls TakeAll. Its
// methods are safe for concurrent use.
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
	// taking serialises the calls of TakeAll, so that changes reach the consumer in order even if
	// there are two consumers by mistake.
	taking sync.Mutex
	// claims records which source has a UID. TakeAll changes it; Faults reads it.
	claims struct {
		sync.Mutex
		of merge.Claims
	}
}

// New returns a Mux over the sources of a Config. It starts nothing.
func New(cfg Config) (*Mux, error) {
	if err := cfg.setDefaultsAndValidate(); err != nil {
		return nil, err
	}
	m := &Mux{guard: cfg.wrapLogRecorderAndHooks(), executor: executor.Over(cfg.Clock)}
	m.cfg = cfg
	m.mu.wake = cfg.Wake
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		m.inboxes = append(m.inboxes, &inbox{mux: m, name: name, src: cfg.Sources[name]})
	}
	return m, nil
}

// SetWake replaces Config.Wake. The consumer, which is often made after the Mux, calls it before
// Run. SetWake does not call wake for changes that were delivered before, so the consumer calls
// TakeAll once before it waits.
func (m *Mux) SetWake(wake func()) {
	if wake == nil {
		wake = func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.wake = wake
}

// callWake calls the function that wakes the consumer, without the lock.
func (m *Mux) callWake() {
	m.mu.Lock()
	wake := m.mu.wake
	m.mu.Unlock()
	wake()
}

// TakeAll appends to buf all changes that it has not returned before, and returns it. They are
// ordered by source name, and within a source REMOVE, ADD, UPDATE, DELETE, RECONCILE. Last are the
// ADDs of pods that waited until another source removed their UID. TakeAll never blocks. The one
// consumer calls it after a wake, or at any other time. After it every source that has delivered
// counts as seen.
func (m *Mux) TakeAll(buf []podmanager.PodUpdate) []podmanager.PodUpdate {
	updates, rejected := m.consumeUpdates(buf)
	for _, r := range rejected {
		m.logAndReportRejected(r)
	}
	return updates
}

// rejectedPod is a pod of a source that is not delivered.
type rejectedPod struct {
	source string
	merge.Rejected
}

// consumeUpdates consumes the changes of all sources and appends them to updates. It also returns the pods that
// are newly rejected: invalid ones, and those whose UID belongs to a pod of another source.
func (m *Mux) consumeUpdates(updates []podmanager.PodUpdate) (_ []podmanager.PodUpdate, rejected []rejectedPod) {
	m.taking.Lock()
	defer m.taking.Unlock()
	changes := make([]merge.SourceChanges, 0, len(m.inboxes))
	for _, in := range m.inboxes {
		changes = append(changes, merge.SourceChanges{Source: in.name, Changes: in.consumeChanges()})
	}
	late, fresh := m.refusePodsWithForeignUIDs(changes)
	for _, c := range append(changes, late...) {
		updates = appendUpdates(updates, c.Source, c.Changes)
		for _, r := range c.Rejected {
			rejected = append(rejected, rejectedPod{c.Source, r})
		}
	}
	for _, r := range fresh {
		rejected = append(rejected, rejectedPod{r.Source, merge.Rejected{Pod: r.Pod, Err: r.Err}})
	}
	return updates, rejected
}

// appendUpdates appends the changes of a source to updates in this order: REMOVE, ADD, UPDATE, DELETE,
// RECONCILE. It leaves out a kind without pods. It only keeps an empty ADD for the source's first snapshot
// (CF-3).
func appendUpdates(updates []podmanager.PodUpdate, source string, c merge.Changes) []podmanager.PodUpdate {
	for _, u := range [...]podmanager.PodUpdate{
		{Pods: c.Remove, Op: podmanager.REMOVE, Source: source},
		{Pods: c.Add, Op: podmanager.ADD, Source: source},
		{Pods: c.Update, Op: podmanager.UPDATE, Source: source},
		{Pods: c.Delete, Op: podmanager.DELETE, Source: source},
		{Pods: c.Reconcile, Op: podmanager.RECONCILE, Source: source},
	} {
		if len(u.Pods) > 0 || u.Op == podmanager.ADD && c.First {
			updates = append(updates, u)
		}
	}
	return updates
}

// logAndReportRejected logs a rejected pod, calls Hooks.Rejected, and records an event. It records no event if
// the pod is nil or no recorder is set (CF-6).
func (m *Mux) logAndReportRejected(r rejectedPod) {
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

// Complete reports whether the consumer has all desired pods of the named source: the source has
// delivered, the consumer has taken that, and neither the taken snapshot nor the newest one is
// incomplete. It returns false for an unknown name.
func (m *Mux) Complete(source string) bool {
	for _, in := range m.inboxes {
		if in.name == source {
			return in.isComplete()
		}
	}
	return false
}

// AllDelivered reports whether every source has delivered a snapshot, even if the consumer has not
// taken it. Without sources it returns true.
func (m *Mux) AllDelivered() bool {
	return !slices.ContainsFunc(m.inboxes, func(in *inbox) bool { return !in.hasDelivered() })
}

// Names returns the sorted names of all sources. The caller may modify the slice.
func (m *Mux) Names() []string {
	names := make([]string, 0, len(m.inboxes))
	for _, in := range m.inboxes {
		names = append(names, in.name)
	}
	return names
}

// AllSeen reports whether the consumer has taken a snapshot of every source. Without sources it
// returns true.
func (m *Mux) AllSeen() bool {
	return !slices.ContainsFunc(m.inboxes, func(in *inbox) bool { return !in.isFirstSnapshotConsumed() })
}
