package podsync

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// ContainerState is what an agent that is started again has to know of a container
// and cannot see in the runtime.
type ContainerState struct {
	Name string `json:"name"`
	// ID is the runtime's.
	ID string `json:"id"`
	// StartedAt is when the container started, by the runtime's clock. A container
	// that started at another time is another one, whatever its ID.
	StartedAt time.Time `json:"startedAt"`
	// Started and Ready are what was published of it: probes have said so.
	Started bool `json:"started,omitempty"`
	Ready   bool `json:"ready,omitempty"`
	// SavedAt is when the state was handed over, by the node's clock. It tells which is newer, the
	// state or a status that an API server has kept. Zero, as in a state of an older
	// version, is older than any status.
	SavedAt time.Time `json:"savedAt,omitzero"`
	// Replaced says that this node has stopped the container to make the next attempt.
	// Its exit code does not count.
	Replaced bool `json:"replaced,omitempty"`
}

// ContainerStates keep what is known of containers that go on running when the
// process ends; package checkpoint does on a directory. Methods are called by the
// goroutine of the pod's sync, for one pod one at a time, and concurrently for
// different pods. An error is logged, and the pod goes on.
type ContainerStates interface {
	// SaveContainers keeps these states of a pod in place of those before. It is called
	// when one has changed: what becomes worse, and what is about to be stopped, at
	// once, before anything is done about it; what becomes better not more often than
	// every ten seconds, by a DelayedContainerStates if there is one. A nil error says that a
	// process started later finds them. The states are only read, and not kept.
	SaveContainers(pod *v1.Pod, states []ContainerState) error
	// ConsumeContainers returns what a process before this one has kept of a pod, at
	// the first sync pass of it. It is asked once, and returns nothing for a pod that was
	// replaced under its UID.
	ConsumeContainers(pod *v1.Pod) []ContainerState
	// DropContainers forgets what was kept of a pod, if anything was.
	DropContainers(uid types.UID) error
}

// DelayedContainerStates is an optional part of ContainerStates: it saves later what need
// not be saved at once. Without it such states wait for the next sync pass of their pod, and
// a process that ends before that does not save them. Package node has it.
type DelayedContainerStates interface {
	// SaveContainersAt is SaveContainers at a time, in place of an earlier call for the pod. A
	// SaveContainers or DropContainers of the pod before that time takes its place. If it
	// fails it is tried again. It does not block.
	SaveContainersAt(pod *v1.Pod, states []ContainerState, at time.Time)
	// CancelSaveContainers drops the states that SaveContainersAt has put off, and reports whether
	// they were still unsaved. False means that they were saved: a later process finds them.
	CancelSaveContainers(uid types.UID) (unsaved bool)
}

// betterInterval is the least time between two saves of states that have only
// become better: a probe that wavers is not to wear a disk down.
const betterInterval = 10 * time.Second

// remembered is what is known of the containers of one incarnation beyond their records.
type remembered struct {
	before []ContainerState // what a process before this one has kept
	saved  []ContainerState // what is kept now
	at     time.Time        // since when
	failed bool             // a save has, and people were told
	// delayed is handed to DelayedContainerStates, to be saved at a time; nil: nothing is.
	delayed   []ContainerState
	delayedTo time.Time
}

// saveLater asks DelayedContainerStates to save states at a time.
func (p *syncPass) saveLater(m *remembered, states []ContainerState, at time.Time) {
	if p.delayed == nil {
		return
	}
	if p.guard.Do("ContainerStates.SaveContainersAt", func() { p.delayed.SaveContainersAt(p.pod, states, at) }) == nil {
		m.delayed, m.delayedTo = states, at
	}
}

// resolveDelayed cancels the delayed save. If the save was made already, it updates saved.
func (p *syncPass) resolveDelayed(m *remembered) {
	if m.delayed == nil {
		return
	}
	unsaved := false // After a panic the states are saved once more.
	err := p.guard.Do("ContainerStates.CancelSaveContainers", func() { unsaved = p.delayed.CancelSaveContainers(p.pod.UID) })
	if err == nil && !unsaved {
		m.saved, m.at = m.delayed, m.delayedTo
	}
	m.delayed = nil
}

// restoreContainerStates asks what a process before this one has kept of the pod's containers.
func (p *syncPass) restoreContainerStates() {
	if p.incarnation.kept.containers != nil || p.cfg.ContainerStates == nil || len(p.pod.Spec.Containers) == 0 {
		return
	}
	m := &remembered{}
	p.incarnation.kept.containers = m
	if p.incarnation.former > 0 {
		return // What there is was kept in this process.
	}
	m.before = p.cfg.ContainerStates.ConsumeContainers(p.pod)
	m.saved = m.before
	for i := range m.before {
		if b := &m.before[i]; b.Replaced {
			p.incarnation.memory = p.incarnation.memory.Replacing(b.Name, b.ID)
		}
	}
}

// noteReplacing notes, before it is done, that containers are told to end for the sake
// of the next attempt. It matters where that would not be made after a success.
func (p *syncPass) noteReplacing(name, id string) {
	if !plan.EndsOnSuccess(p.pod, name) {
		return
	}
	p.incarnation.memory = p.incarnation.memory.Replacing(name, id)
	p.saveContainerStates()
}

// noteAllReplacing is toReplace for all that runs of a pod, whose sandbox is replaced.
func (p *syncPass) noteAllReplacing() {
	for i := range p.status.Containers {
		if c := &p.status.Containers[i]; c.Incarnation == p.incarnation.number && c.State == runtime.StateRunning {
			p.noteReplacing(c.Name, c.ID)
		}
	}
}

// saveContainerStates keeps what is known of the containers of a pod that goes on.
func (p *syncPass) saveContainerStates() {
	m := p.incarnation.kept.containers
	if m == nil {
		return
	}
	states, now := p.containerStates(), p.executor.Now()
	if m.delayed != nil && slices.EqualFunc(states, m.delayed, sameState) {
		return
	}
	p.resolveDelayed(m)
	if slices.EqualFunc(states, m.saved, sameState) {
		return
	}
	for i := range states {
		states[i].SavedAt = now
	}
	if next := m.at.Add(betterInterval); onlyBetter(m.saved, states) && !m.at.IsZero() && now.Before(next) {
		p.saveLater(m, states, next)
		return
	}
	var err error
	if len(states) == 0 {
		err = p.cfg.ContainerStates.DropContainers(p.pod.UID)
	} else {
		err = p.cfg.ContainerStates.SaveContainers(p.pod, states)
	}
	if err != nil {
		if !m.failed {
			p.cfg.Log.Error("what is known of the containers of a pod could not be kept: if the agent is started again their probes begin anew",
				"pod", podmanager.FullName(p.pod), "uid", p.pod.UID, "err", err)
		}
		m.failed = true
		return
	}
	m.failed, m.saved, m.at = false, states, now
}

func sameState(a, b ContainerState) bool {
	return a.Name == b.Name && a.ID == b.ID && a.StartedAt.Equal(b.StartedAt) && a.Started == b.Started && a.Ready == b.Ready && a.Replaced == b.Replaced
}

// onlyBetter reports whether nothing that was kept has become wrong: what there is
// beyond it may be kept later.
func onlyBetter(saved, states []ContainerState) bool {
	for i := range saved {
		old := &saved[i]
		at := slices.IndexFunc(states, func(s ContainerState) bool { return s.Name == old.Name && s.ID == old.ID })
		if at < 0 || old.Started && !states[at].Started || old.Ready && !states[at].Ready || old.Replaced != states[at].Replaced {
			return false
		}
	}
	return !slices.ContainsFunc(states, func(s ContainerState) bool {
		return s.Replaced && !slices.ContainsFunc(saved, func(old ContainerState) bool { return old.ID == s.ID })
	})
}

// containerStates are those to be kept: of what has been probed with success and runs, and
// of what was told to end and has no successor yet, in the order of their names.
func (p *syncPass) containerStates() []ContainerState {
	var states []ContainerState
	p.readPublishedStatus(func(stored *v1.PodStatus) {
		for _, list := range [...][]v1.ContainerStatus{stored.InitContainerStatuses, stored.ContainerStatuses} {
			for i := range list {
				if state, ok := p.containerState(&list[i]); ok {
					states = append(states, state)
				}
			}
		}
	})
	for name, id := range p.incarnation.memory.Replaced(p.status, p.incarnation.number) {
		at := slices.IndexFunc(states, func(s ContainerState) bool { return s.ID == id })
		if at < 0 {
			states, at = append(states, ContainerState{Name: name, ID: id}), len(states)
		}
		states[at].Replaced = true
	}
	slices.SortStableFunc(states, func(a, b ContainerState) int { return strings.Compare(a.Name, b.Name) })
	return states
}

// containerState is what is to be kept of a container by its status, if anything is:
// without a probe it is as it is seen.
func (p *syncPass) containerState(c *v1.ContainerStatus) (ContainerState, bool) {
	id, ours := strings.CutPrefix(c.ContainerID, p.cfg.RuntimeName+"://")
	started := c.Started != nil && *c.Started
	if !ours || c.State.Running == nil || !started && !c.Ready || !isProbed(p.pod, c.Name) {
		return ContainerState{}, false
	}
	rec := p.containerRecord(id)
	if rec == nil {
		return ContainerState{}, false
	}
	return ContainerState{Name: c.Name, ID: id, StartedAt: rec.StartedAt, Started: started, Ready: c.Ready}, true
}

// isProbed reports whether probes say if a container has started, or is ready.
func isProbed(pod *v1.Pod, name string) bool {
	c := podspec.Named(podspec.All(pod), name)
	return c != nil && (c.StartupProbe != nil || c.ReadinessProbe != nil)
}

// dropContainerStates drops what was kept of the containers of a pod that has ended.
func (p *syncPass) dropContainerStates() {
	m := p.incarnation.kept.containers
	if m == nil {
		return
	}
	p.resolveDelayed(m)
	if len(m.saved) == 0 {
		return
	}
	if err := p.cfg.ContainerStates.DropContainers(p.pod.UID); err != nil {
		p.cfg.Log.Warn("what was known of the containers of a pod that has ended could not be dropped",
			"pod", podmanager.FullName(p.pod), "uid", p.pod.UID, "err", err)
		return
	}
	m.saved = nil
}
