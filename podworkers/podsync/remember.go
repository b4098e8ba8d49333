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

// ContainerState is the part of a container's state that a restarted agent needs and that the runtime
// does not store.
type ContainerState struct {
	Name string `json:"name"`
	// ID is the runtime's ID of the container.
	ID string `json:"id"`
	// StartedAt is the start time of the container, by the runtime's clock. A container with another
	// start time is another container, even if it has the same ID.
	StartedAt time.Time `json:"startedAt"`
	// Started and Ready are as they were published, from probe results.
	Started bool `json:"started,omitempty"`
	Ready   bool `json:"ready,omitempty"`
	// SavedAt is the time of the save, by the node's clock. It shows whether the state or a status from
	// an API server is newer. Zero, as in the state of an older version, is older than any status.
	SavedAt time.Time `json:"savedAt,omitzero"`
	// Replaced is true if this node has stopped the container to start its next attempt. The exit code
	// of such a container does not count. Only regular containers with restart policy OnFailure have it.
	Replaced bool `json:"replaced,omitempty"`
}

// ContainerStates stores the states of containers that keep running when the process ends. Package
// checkpoint has an implementation that writes to a directory. The goroutine of the pod's sync calls
// the methods, one at a time for one pod, and concurrently for different pods. An error is logged, and
// the sync continues.
type ContainerStates interface {
	// SaveContainers replaces the stored states of a pod. It is called when a state has changed. If a
	// state gets worse, or its container is about to be stopped, the states are saved before anything
	// else happens. If states only improve, they are saved every ten seconds at most, by a
	// DelayedContainerStates if Config has it. A nil error means that a later process finds the states.
	// SaveContainers must not change or store the arguments.
	SaveContainers(pod *v1.Pod, states []ContainerState) error
	// ConsumeContainers returns the states that an earlier process has stored of a pod. It is called
	// once, in the first pass over the pod. It returns nothing for a pod that was replaced under its
	// UID.
	ConsumeContainers(pod *v1.Pod) []ContainerState
	// DropContainers removes the stored states of a pod. It is no error if there are none.
	DropContainers(uid types.UID) error
}

// DelayedContainerStates is an optional part of ContainerStates. It saves states that need not be saved
// at once. Without it the next sync of the pod saves them, and they are lost if the process ends before
// that. Package node has an implementation.
type DelayedContainerStates interface {
	// SaveContainersAt does a SaveContainers at a later time. It replaces an earlier SaveContainersAt
	// of the pod. A SaveContainers or DropContainers of the pod before that time cancels it. A failed
	// save is retried. SaveContainersAt does not block.
	SaveContainersAt(pod *v1.Pod, states []ContainerState, at time.Time)
	// CancelSaveContainers cancels the SaveContainersAt of a pod and reports whether its states were
	// still unsaved. False means that they were saved, so that a later process finds them.
	CancelSaveContainers(uid types.UID) (unsaved bool)
}

// improvementSaveInterval is the least time between two saves of states that have only improved.
// Without it a probe whose result changes often would wear out a disk.
const improvementSaveInterval = 10 * time.Second

// savedContainers has the states of the containers of one incarnation that Config.ContainerStates
// stores.
type savedContainers struct {
	fromEarlierProcess []ContainerState // saved by an earlier process
	saved              []ContainerState // the states that are saved now
	savedAt            time.Time        // the time of the last save
	saveFailed         bool             // the last save has failed and was logged
	// delayedStates are the states that DelayedContainerStates saves at delayedUntil. Nil: no save is
	// delayed.
	delayedStates []ContainerState
	delayedUntil  time.Time
}

// delaySaveIfSupported asks Config.ContainerStates to save the states at a later time and stores that in
// containers. It does nothing if Config.ContainerStates is not a DelayedContainerStates.
func (w *statusWriter) delaySaveIfSupported(containers *savedContainers, states []ContainerState, at time.Time) {
	if w.delayedSaver == nil {
		return
	}
	if w.guard.Call("ContainerStates.SaveContainersAt", func() { w.delayedSaver.SaveContainersAt(w.pod, states, at) }) == nil {
		containers.delayedStates, containers.delayedUntil = states, at
	}
}

// cancelDelayedSave cancels the delayed save of the pod's container states, and does nothing if no save is
// delayed. If these states were already saved, it stores them in containers.saved.
func (w *statusWriter) cancelDelayedSave(containers *savedContainers) {
	if containers.delayedStates == nil {
		return
	}
	unsaved := false // After a panic the states count as unsaved and are saved again.
	err := w.guard.Call("ContainerStates.CancelSaveContainers", func() { unsaved = w.delayedSaver.CancelSaveContainers(w.pod.UID) })
	if err == nil && !unsaved {
		containers.saved, containers.savedAt = containers.delayedStates, containers.delayedUntil
	}
	containers.delayedStates = nil
}

// consumeSavedContainerStatesOnce reads, once for each pod, the container states that an earlier process has
// saved. It also stores in the memory of the pod which containers that process stopped for their next attempt.
// It reads none for the second and later pods with a UID, because this process saved their states.
func (w *statusWriter) consumeSavedContainerStatesOnce() {
	if w.incarnation.persisted.containers != nil || w.cfg.ContainerStates == nil || len(w.pod.Spec.Containers) == 0 {
		return
	}
	m := &savedContainers{}
	w.incarnation.persisted.containers = m
	if w.incarnation.previousIncarnations > 0 {
		return // This process has saved the states.
	}
	m.fromEarlierProcess = w.cfg.ContainerStates.ConsumeContainers(w.pod)
	m.saved = m.fromEarlierProcess
	for i := range m.fromEarlierProcess {
		if b := &m.fromEarlierProcess[i]; b.Replaced {
			w.incarnation.memory = w.incarnation.memory.RecordAttempt(stopForNextAttemptStep(b.Name, b.ID), w.executor.Now())
		}
	}
}

// recordAndSaveStopForNextAttempt stores and saves that a container is about to be stopped for its next
// attempt. Without that, its exit code 0 would mean that it must not run again. It does nothing unless the
// container is a regular container with restart policy OnFailure.
func (w *statusWriter) recordAndSaveStopForNextAttempt(name, id string) {
	if !plan.RestartsOnlyOnFailure(w.pod, name) {
		return
	}
	w.incarnation.memory = w.incarnation.memory.RecordAttempt(stopForNextAttemptStep(name, id), w.executor.Now())
	w.saveContainerStatesIfChanged()
}

// stopForNextAttemptStep returns the step that stops a container for its next attempt.
func stopForNextAttemptStep(name, id string) plan.Step {
	return plan.Step{Op: plan.StopContainer, Name: name, ID: id, Replaces: true}
}

// recordAndSaveAllStopsForNextAttempt calls recordAndSaveStopForNextAttempt for each running container of the
// pod, before the whole pod is stopped for a new sandbox.
func (w *statusWriter) recordAndSaveAllStopsForNextAttempt() {
	for i := range w.status.Containers {
		if c := &w.status.Containers[i]; c.Incarnation == w.incarnation.number && c.State == runtime.StateRunning {
			w.recordAndSaveStopForNextAttempt(c.Name, c.ID)
		}
	}
}

// saveContainerStatesIfChanged saves the states of the pod's containers if they differ from the saved ones. It
// deletes the saved ones if no state is left. A save of states that have only improved may wait, so that saves
// keep the interval improvementSaveInterval. Of several failures in a row it logs only the first.
func (w *statusWriter) saveContainerStatesIfChanged() {
	m := w.incarnation.persisted.containers
	if m == nil {
		return
	}
	states, now := w.statesToSave(), w.executor.Now()
	if m.delayedStates != nil && slices.EqualFunc(states, m.delayedStates, isSameState) {
		return
	}
	w.cancelDelayedSave(m)
	if slices.EqualFunc(states, m.saved, isSameState) {
		return
	}
	for i := range states {
		states[i].SavedAt = now
	}
	if next := m.savedAt.Add(improvementSaveInterval); hasOnlyImproved(m.saved, states) && !m.savedAt.IsZero() && now.Before(next) {
		w.delaySaveIfSupported(m, states, next)
		return
	}
	var err error
	if len(states) == 0 {
		err = w.cfg.ContainerStates.DropContainers(w.pod.UID)
	} else {
		err = w.cfg.ContainerStates.SaveContainers(w.pod, states)
	}
	if err != nil {
		if !m.saveFailed {
			w.cfg.Log.Error("cannot save the container states of a pod: after a restart of the agent the probe results are lost",
				"pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "err", err)
		}
		m.saveFailed = true
		return
	}
	m.saveFailed, m.saved, m.savedAt = false, states, now
}

// isSameState reports whether all fields of two states, except SavedAt, are equal.
func isSameState(a, b ContainerState) bool {
	return a.Name == b.Name && a.ID == b.ID && a.StartedAt.Equal(b.StartedAt) && a.Started == b.Started && a.Ready == b.Ready && a.Replaced == b.Replaced
}

// hasOnlyImproved reports whether each saved container is still in current, Started and Ready have not become
// false, and Replaced (stopped for its next attempt) is unchanged. A container that is only in current must not
// be Replaced. Then the save may be delayed.
func hasOnlyImproved(saved, current []ContainerState) bool {
	for i := range saved {
		old := &saved[i]
		at := slices.IndexFunc(current, func(s ContainerState) bool { return s.Name == old.Name && s.ID == old.ID })
		if at < 0 || old.Started && !current[at].Started || old.Ready && !current[at].Ready || old.Replaced != current[at].Replaced {
			return false
		}
	}
	return !slices.ContainsFunc(current, func(s ContainerState) bool {
		return s.Replaced && !slices.ContainsFunc(saved, func(old ContainerState) bool { return old.ID == s.ID })
	})
}

// statesToSave returns the container states to save, sorted by name: running containers that are Started or
// Ready by a probe, and containers that were stopped for a next attempt that has not run yet.
func (w *statusWriter) statesToSave() []ContainerState {
	var states []ContainerState
	w.readPublishedStatus(func(stored *v1.PodStatus) {
		for _, list := range [...][]v1.ContainerStatus{stored.InitContainerStatuses, stored.ContainerStatuses} {
			for i := range list {
				if state, ok := w.stateToSave(&list[i]); ok {
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

// stateToSave returns the state to save for the container of a stored status. It returns false if the container
// does not run, has no startup or readiness probe, is neither started nor ready, or is unknown to the runtime.
func (w *statusWriter) stateToSave(c *v1.ContainerStatus) (ContainerState, bool) {
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

// isProbed reports whether the init or regular container with a name has a startup or readiness probe.
func isProbed(pod *v1.Pod, name string) bool {
	c := podspec.FindContainer(podspec.AllContainers(pod), name)
	return c != nil && (c.StartupProbe != nil || c.ReadinessProbe != nil)
}

// deleteSavedContainerStates cancels a delayed save and deletes the saved container states of a terminated pod.
// A failure is only logged as a warning.
func (w *statusWriter) deleteSavedContainerStates() {
	m := w.incarnation.persisted.containers
	if m == nil {
		return
	}
	w.cancelDelayedSave(m)
	if len(m.saved) == 0 {
		return
	}
	if err := w.cfg.ContainerStates.DropContainers(w.pod.UID); err != nil {
		w.cfg.Log.Warn("cannot delete the container states of a terminated pod",
			"pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "err", err)
		return
	}
	m.saved = nil
}
