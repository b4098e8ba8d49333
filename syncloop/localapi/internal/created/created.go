package created

import "time"

// State is the state of one UID. The zero value is Unknown.
type State int

// The states of a pod.
const (
	// Unknown: no client has created a pod with this UID, as with pods of other sources, or the record has expired.
	Unknown State = iota
	// Restored: a client created the pod in an earlier process, and the node has not reported it yet.
	Restored
	// Desired: the node runs the pod. A completed pod stays Desired until a client deletes it.
	Desired
	// Held: a client has deleted the pod, and its containers stop. Finalizers keep the object.
	Held
	// Deleting: a client has deleted the pod, and its containers stop. The pod has no finalizers.
	Deleting
	// Removed: the pod was deleted and has terminated, or the node has refused it. The node may report it once more.
	Removed
)

// Kind is a kind of event.
type Kind int

// The events.
const (
	// Restore: an earlier process saved the pod, and this process has applied it to the node.
	Restore Kind = iota
	// Create: a client has created the pod, and the pod is saved.
	Create
	// Update: a client has changed the pod, and the change is saved.
	Update
	// Delete: a client has deleted the pod, and the deletion is saved. A second one shortens the grace period.
	Delete
	// Refused: the node has refused a new pod.
	Refused
	// Report: the node reports the pod.
	Report
	// Inspect: the caller has read the pod from the node.
	Inspect
	// Forgotten: the caller has performed the effect Forget.
	Forgotten
	// Expire: the caller removes old records.
	Expire
)

// CarriesPod reports whether the event has the pod as a client has written it, now or in an earlier process.
func (k Kind) CarriesPod() bool { return k == Restore || k == Create || k == Update || k == Delete }

// Observation is the state of a pod on the node.
type Observation int

// The observations.
const (
	// Active: the pod runs, will run, or has containers that still have to stop.
	Active Observation = iota
	// Ended: the phase of the pod is terminal, and no container runs.
	Ended
	// Absent: the node does not have the pod, or has forgotten it.
	Absent
)

// Event is an event of one pod, with the facts that Next needs.
type Event struct {
	Kind Kind
	// Deleting means that the pod has a deletion timestamp, and Finalizers that it has finalizers. In a Report they
	// describe the node's pod, otherwise the written pod.
	Deleting, Finalizers bool
	// Node is the state of the pod on the node, in a Report, Inspect or Expire.
	Node Observation
	// Static means that a Report is about a static pod.
	Static bool
	// Age is how long the pod has been Removed, in an Expire.
	Age time.Duration
}

// Effect is an action of the caller.
type Effect int

// The effects. The caller performs Show, ShowLast and Hide in the same critical section as Next. It performs the other
// effects afterwards.
const (
	// Show makes the pod visible to clients: the written pod with the newest status of the node.
	Show Effect = iota
	// ShowLast is Show if clients see the pod already. It gives watchers the last status.
	ShowLast
	// Hide removes the pod from what clients see.
	Hide
	// Apply applies the written pod to the node.
	Apply
	// InspectDeleting makes the caller send Inspect for all pods in state Deleting, now and every second.
	InspectDeleting
	// Forget makes the caller remove the saved pod, delete the pod from the node, and send the event Forgotten.
	Forget
)

// RemovedRetention is the minimum time for which a pod stays Removed, counted from the event Forgotten. A pod stays
// Removed for longer if the node still has it.
const RemovedRetention = time.Minute

// IsOwned reports whether clients of this API own the pod, so that they can write it.
func (s State) IsOwned() bool { return s != Unknown && s != Removed }

// Next returns the next state and the effects of an event. An event that does not apply to the state changes nothing
// and has no effects.
func (s State) Next(e Event) (State, []Effect) {
	switch e.Kind {
	case Restore, Create:
		if s == Unknown {
			return firstState(e)
		}
	case Update, Delete:
		if s.IsOwned() {
			return s.nextOnWrite(e)
		}
	case Refused:
		if s == Desired {
			return s, []Effect{Forget}
		}
	case Report:
		return s.nextOnReport(e)
	case Inspect:
		return s.nextOnInspect(e)
	case Forgotten:
		if s == Desired || s == Deleting { // Desired: the node has refused the pod.
			return Removed, []Effect{Hide}
		}
	case Expire:
		if s == Removed && e.Node == Absent && e.Age > RemovedRetention {
			return Unknown, nil
		}
	}
	return s, nil
}

// firstState returns the state of a pod that a client has created or that an earlier process has saved, and the
// effects, which are the actions that the caller must perform.
func firstState(e Event) (State, []Effect) {
	switch {
	case e.Kind == Create:
		return Desired, []Effect{Show, Apply}
	case !e.Deleting:
		return Restored, []Effect{Show}
	}
	return deletionState(e), []Effect{Show}
}

// deletionState returns the state of a pod that a client has deleted: Held if the pod has finalizers, and
// Deleting if it has none.
func deletionState(e Event) State {
	if e.Finalizers {
		return Held
	}
	return Deleting
}

// nextOnWrite returns the state after a client has updated or deleted the pod, and the effects (the actions
// that the caller must perform). A deleted pod stays deleted.
func (s State) nextOnWrite(e Event) (State, []Effect) {
	if e.Kind == Update && (s == Restored || s == Desired) {
		return s, []Effect{Show, Apply}
	}
	next := deletionState(e)
	if s == Deleting {
		next = Deleting // No finalizer can be added while a pod is being deleted.
	}
	return next, []Effect{Show, Apply, InspectDeleting}
}

// nextOnReport returns the state after a report of the node, and the effects (the actions that the caller must
// perform). A deleted pod without finalizers is forgotten when it has terminated or is gone, and late reports
// of a removed pod change nothing.
func (s State) nextOnReport(e Event) (State, []Effect) {
	switch {
	case s == Removed && e.Static && e.Node != Absent:
		return Unknown.nextOnReport(e) // kubectl get -o yaml of the deleted pod became a static pod manifest.
	case s == Removed:
		return s, nil // The node repeats the last report.
	case s == Unknown && (e.Node == Absent || e.Deleting && e.Node == Ended): // The node may keep the pod for long.
		return s, []Effect{ShowLast, Hide}
	case s == Deleting && e.Node != Active:
		return s, []Effect{Show, Forget}
	case s != Unknown && e.Node == Absent:
		return s, nil // The node stops, but not the pod.
	case s == Restored:
		return Desired, []Effect{Show}
	}
	return s, []Effect{Show}
}

// nextOnInspect returns the state, unchanged, and the effects (the actions that the caller must perform) after
// the caller has read the pod from the node. A deleted pod without finalizers is forgotten when it has
// terminated or is gone.
func (s State) nextOnInspect(e Event) (State, []Effect) {
	switch {
	case s != Deleting || e.Node == Active:
		return s, nil
	case e.Node == Ended:
		return s, []Effect{Show, Forget}
	}
	return s, []Effect{Forget}
}
