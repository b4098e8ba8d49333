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

// ContainerState is the state of a container that a restarted agent needs and that the runtime does not
// store.
type ContainerState struct {
	Name string `json:"name"`
	// ID is the runtime's.
	ID string `json:"id"`
	// StartedAt is when the container started, by the runtime's clock. A container
	// that started at another time is another one, whatever its ID.
	StartedAt time.Time `json:"startedAt"`
	// Started and Ready are as they were published, by the results of probes.
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

// ContainerStates stores the states of containers that go on running when the process ends. Package checkpoint
// has one that writes to a directory. The goroutine of the pod's sync calls the methods, for one pod one at a
// time, and concurrently for different pods. An error is logged, and the sync continues.
type ContainerStates interface {
	// SaveContainers stores these states of a pod in place of the states before. It is called when a
	// state has changed. A state that becomes worse, or whose container is about to be stopped, is saved
	// at once, before anything else is done. States that become better are saved every ten seconds at
	// most, by a DelayedContainerStates if there is one. A nil error says that a later process finds the
	// states. SaveContainers only reads them and does not keep them.
	SaveContainers(pod *v1.Pod, states []ContainerState) error
	// ConsumeContainers returns what an earlier process has stored of a pod. It is called once, at the
	// first sync pass of the pod. It returns nothing for a pod that was replaced under its UID.
	ConsumeContainers(pod *v1.Pod) []ContainerState
	// DropContainers removes what is stored of a pod, if anything is.
	DropContainers(uid types.UID) error
}

// DelayedContainerStates is an optional part of ContainerStates. It saves states that need not be saved at
// once. Without it such states are saved by the next sync pass of their pod, and a process that ends before
// that does not save them. Package node has one.
type DelayedContainerStates interface {
	// SaveContainersAt is SaveContainers at a time, in place of an earlier call for the pod. A
	// SaveContainers or DropContainers of the pod before that time takes its place. If it
	// fails it is tried again. It does not block.
	SaveContainersAt(pod *v1.Pod, states []ContainerState, at time.Time)
	// CancelSaveContainers drops the states that SaveContainersAt has put off, and reports whether
	// they were still unsaved. False means that they were saved: a later process finds them.
	CancelSaveContainers(uid types.UID) (unsaved bool)
}

// betterInterval is the least time between two saves of states that have only become better. Without it
// a probe whose result changes often would wear a disk down.
const betterInterval = 10 * time.Second

// remembered is what Config.ContainerStates has of the containers of one incarnation.
type remembered struct {
	before []ContainerState // saved by an earlier process
	saved  []ContainerState // saved now
	at     time.Time        // when they were saved
	failed bool             // the last save has failed, and the log has the error
	// delayed are the states that DelayedContainerStates saves at delayedTo. Nil: there are none.
	delayed   []ContainerState
	delayedTo time.Time
}

// saveLater asks DelayedContainerStates to save states at a time.
func (w *statusWriter) saveLater(m *remembered, states []ContainerState, at time.Time) {
	if w.delayed == nil {
		return
	}
	if w.guard.Call("ContainerStates.SaveContainersAt", func() { w.delayed.SaveContainersAt(w.pod, states, at) }) == nil {
		m.delayed, m.delayedTo = states, at
	}
}

// resolveDelayed cancels the delayed save. If the save was made already, it updates saved.
func (w *statusWriter) resolveDelayed(m *remembered) {
	if m.delayed == nil {
		return
	}
	unsaved := false // After a panic the states are saved once more.
	err := w.guard.Call("ContainerStates.CancelSaveContainers", func() { unsaved = w.delayed.CancelSaveContainers(w.pod.UID) })
	if err == nil && !unsaved {
		m.saved, m.at = m.delayed, m.delayedTo
	}
	m.delayed = nil
}

// restoreContainerStates reads the states that an earlier process has saved of the pod's containers.
func (w *statusWriter) restoreContainerStates() {
	if w.incarnation.kept.containers != nil || w.cfg.ContainerStates == nil || len(w.pod.Spec.Containers) == 0 {
		return
	}
	m := &remembered{}
	w.incarnation.kept.containers = m
	if w.incarnation.former > 0 {
		return // This process has saved the states.
	}
	m.before = w.cfg.ContainerStates.ConsumeContainers(w.pod)
	m.saved = m.before
	for i := range m.before {
		if b := &m.before[i]; b.Replaced {
			w.incarnation.memory = w.incarnation.memory.RecordAttempt(replacingStop(b.Name, b.ID), w.executor.Now())
		}
	}
}

// noteReplacing notes that a container is about to be stopped for its next attempt, and saves that. It
// does so only if the policy would make no attempt after an exit with 0.
func (w *statusWriter) noteReplacing(name, id string) {
	if !plan.EndsOnSuccess(w.pod, name) {
		return
	}
	w.incarnation.memory = w.incarnation.memory.RecordAttempt(replacingStop(name, id), w.executor.Now())
	w.saveContainerStates()
}

// replacingStop returns the step that stops a container for its next attempt.
func replacingStop(name, id string) plan.Step {
	return plan.Step{Op: plan.StopContainer, Name: name, ID: id, Replaces: true}
}

// noteAllReplacing calls noteReplacing for each running container of a pod whose sandbox is replaced.
func (w *statusWriter) noteAllReplacing() {
	for i := range w.status.Containers {
		if c := &w.status.Containers[i]; c.Incarnation == w.incarnation.number && c.State == runtime.StateRunning {
			w.noteReplacing(c.Name, c.ID)
		}
	}
}

// saveContainerStates saves the states of the containers of a pod that is not terminal, if they have
// changed.
func (w *statusWriter) saveContainerStates() {
	m := w.incarnation.kept.containers
	if m == nil {
		return
	}
	states, now := w.containerStates(), w.executor.Now()
	if m.delayed != nil && slices.EqualFunc(states, m.delayed, sameState) {
		return
	}
	w.resolveDelayed(m)
	if slices.EqualFunc(states, m.saved, sameState) {
		return
	}
	for i := range states {
		states[i].SavedAt = now
	}
	if next := m.at.Add(betterInterval); onlyBetter(m.saved, states) && !m.at.IsZero() && now.Before(next) {
		w.saveLater(m, states, next)
		return
	}
	var err error
	if len(states) == 0 {
		err = w.cfg.ContainerStates.DropContainers(w.pod.UID)
	} else {
		err = w.cfg.ContainerStates.SaveContainers(w.pod, states)
	}
	if err != nil {
		if !m.failed {
			w.cfg.Log.Error("what is known of the containers of a pod could not be kept: if the agent is started again their probes begin anew",
				"pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "err", err)
		}
		m.failed = true
		return
	}
	m.failed, m.saved, m.at = false, states, now
}

func sameState(a, b ContainerState) bool {
	return a.Name == b.Name && a.ID == b.ID && a.StartedAt.Equal(b.StartedAt) && a.Started == b.Started && a.Ready == b.Ready && a.Replaced == b.Replaced
}

// onlyBetter reports whether all saved states are still true. Then the new ones may be saved later.
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

// containerStates returns the states to save, in the order of their names: of containers that run and
// whose probes have succeeded, and of containers that were stopped for a next attempt that has not run.
func (w *statusWriter) containerStates() []ContainerState {
	var states []ContainerState
	w.readPublishedStatus(func(stored *v1.PodStatus) {
		for _, list := range [...][]v1.ContainerStatus{stored.InitContainerStatuses, stored.ContainerStatuses} {
			for i := range list {
				if state, ok := w.containerState(&list[i]); ok {
					states = append(states, state)
				}
			}
		}
	})
	for name, id := range w.incarnation.memory.ReplacedContainers(w.status, w.incarnation.number) {
		at := slices.IndexFunc(states, func(s ContainerState) bool { return s.ID == id })
		if at < 0 {
			states, at = append(states, ContainerState{Name: name, ID: id}), len(states)
		}
		states[at].Replaced = true
	}
	slices.SortStableFunc(states, func(a, b ContainerState) int { return strings.Compare(a.Name, b.Name) })
	return states
}

// containerState returns the state to save of a container by its status. It returns false for a container
// without probes, and for one whose probes have not succeeded.
func (w *statusWriter) containerState(c *v1.ContainerStatus) (ContainerState, bool) {
	id, ours := strings.CutPrefix(c.ContainerID, w.cfg.RuntimeName+"://")
	started := c.Started != nil && *c.Started
	if !ours || c.State.Running == nil || !started && !c.Ready || !isProbed(w.pod, c.Name) {
		return ContainerState{}, false
	}
	rec := w.containerRecord(id)
	if rec == nil {
		return ContainerState{}, false
	}
	return ContainerState{Name: c.Name, ID: id, StartedAt: rec.StartedAt, Started: started, Ready: c.Ready}, true
}

// isProbed reports whether a container has a startup or a readiness probe.
func isProbed(pod *v1.Pod, name string) bool {
	c := podspec.FindContainer(podspec.AllContainers(pod), name)
	return c != nil && (c.StartupProbe != nil || c.ReadinessProbe != nil)
}

// dropContainerStates drops the saved states of a pod that has terminated.
func (w *statusWriter) dropContainerStates() {
	m := w.incarnation.kept.containers
	if m == nil {
		return
	}
	w.resolveDelayed(m)
	if len(m.saved) == 0 {
		return
	}
	if err := w.cfg.ContainerStates.DropContainers(w.pod.UID); err != nil {
		w.cfg.Log.Warn("what was known of the containers of a pod that has ended could not be dropped",
			"pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "err", err)
		return
	}
	m.saved = nil
}
