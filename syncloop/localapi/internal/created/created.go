package created

import "time"

// State is a state of one UID. The zero value is Unknown.
type State int

// The states of a pod.
const (
	// Unknown: no client has created a pod of this UID, or the table has forgotten the pod.
	Unknown State = iota
	// Restored: a client has created the pod in an earlier process, and the node has not reported it yet.
	Restored
	// Desired: the pod shall run. It stays even if it has ended.
	Desired
	// Held: a client has deleted the pod, and finalizers hold it.
	Held
	// Deleting: a client has deleted the pod, and it goes when it has ended.
	Deleting
	// Gone: the pod was deleted and has ended. The node may report it once more.
	Gone
)

// Kind is a kind of event.
type Kind int

// The events.
const (
	// Restore: an earlier process has saved the pod, and the node has it now.
	Restore Kind = iota
	// Create: a client has created the pod, and the pod is saved.
	Create
	// Update: a client has changed the pod, and the change is saved.
	Update
	// Delete: a client has deleted the pod, and the deletion is saved. A second one shortens the grace period.
	Delete
	// Refused: the node does not take a pod that was just created.
	Refused
	// Report: the node reports the pod.
	Report
	// Inspect: the caller has asked the node for the pod.
	Inspect
	// Forgotten: the caller has performed Forget.
	Forgotten
	// Expire: the caller drops what it need not remember.
	Expire
)

// Writes reports whether the event brings a pod as a client has written it, now or in an earlier process.
func (k Kind) Writes() bool { return k == Restore || k == Create || k == Update || k == Delete }

// Observation is the node's view of a pod.
type Observation int

// The observations.
const (
	// Active: the pod runs, will run, or has containers that still have to stop.
	Active Observation = iota
	// Ended: the phase of the pod is terminal, and no container runs.
	Ended
	// Absent: the node does not know the pod, or does not know it any longer.
	Absent
)

// Event is an event of one pod, with the facts that decide.
type Event struct {
	Kind Kind
	// Deleting and Finalizers are facts of the pod as it is written, or in a Report as the node has it: it
	// has a deletion timestamp; it has finalizers.
	Deleting, Finalizers bool
	// Node is what a Report, Inspect or Expire has found.
	Node Observation
	// Static: a Report is about a pod of a manifest.
	Static bool
	// Age is for how long the pod has been Gone, in an Expire.
	Age time.Duration
}

// Effect is what the caller does.
type Effect int

// The effects. The caller performs Show, ShowLast and Hide in the same critical section as Next, and the
// others after it.
const (
	// Show shows the pod to clients: the written pod, with the status that the node has for it.
	Show Effect = iota
	// ShowLast is Show if clients see the pod already, so that watchers get the last status.
	ShowLast
	// Hide removes the pod from what clients see.
	Hide
	// Apply gives the written pod to the node.
	Apply
	// Look has the caller Inspect each pod that is Deleting, now and every second.
	Look
	// Forget removes the saved pod and the pod of the node. The event Forgotten follows.
	Forget
)

// Remembered is how long a pod stays Gone after the node has forgotten it.
const Remembered = time.Minute

// Own reports whether the pod belongs to clients of this API, so that they can write it.
func (s State) Own() bool { return s != Unknown && s != Gone }

// Next returns the state after an event, and the effects. An event that has no place in a state changes
// nothing and has no effects.
func (s State) Next(e Event) (State, []Effect) {
	switch e.Kind {
	case Restore, Create:
		if s == Unknown {
			return begin(e)
		}
	case Update, Delete:
		if s.Own() {
			return s.write(e)
		}
	case Refused:
		if s == Desired {
			return s, []Effect{Forget}
		}
	case Report:
		return s.report(e)
	case Inspect:
		return s.inspect(e)
	case Forgotten:
		if s == Desired || s == Deleting { // Desired: the node has refused it.
			return Gone, []Effect{Hide}
		}
	case Expire:
		if s == Gone && e.Node == Absent && e.Age > Remembered {
			return Unknown, nil
		}
	}
	return s, nil
}

// begin returns the first state of a pod.
func begin(e Event) (State, []Effect) {
	switch {
	case e.Kind == Create:
		return Desired, []Effect{Show, Apply}
	case !e.Deleting:
		return Restored, []Effect{Show}
	}
	return deleted(e), []Effect{Show}
}

// deleted returns the state of a pod with a deletion timestamp.
func deleted(e Event) State {
	if e.Finalizers {
		return Held
	}
	return Deleting
}

// write returns what a client's write of a pod that is there changes. A deletion is never taken back.
func (s State) write(e Event) (State, []Effect) {
	if e.Kind == Update && (s == Restored || s == Desired) {
		return s, []Effect{Show, Apply}
	}
	next := deleted(e)
	if s == Deleting {
		next = Deleting // No finalizer can be added while a pod is being deleted.
	}
	return next, []Effect{Show, Apply, Look}
}

// report returns what a report of the node changes.
func (s State) report(e Event) (State, []Effect) {
	switch {
	case s == Gone && e.Static && e.Node != Absent:
		return Unknown.report(e) // The manifest was made of the deleted pod, with kubectl get -o yaml.
	case s == Gone:
		return s, nil // The node reports the end once more.
	case s == Unknown && (e.Node == Absent || e.Deleting && e.Node == Ended): // A node may know the pod for long.
		return s, []Effect{ShowLast, Hide}
	case s == Deleting && e.Node != Active:
		return s, []Effect{Show, Forget}
	case s != Unknown && e.Node == Absent:
		return s, nil // The node ends, and not the pod.
	case s == Restored:
		return Desired, []Effect{Show}
	}
	return s, []Effect{Show}
}

// inspect returns what the node's answer about a deleted pod changes.
func (s State) inspect(e Event) (State, []Effect) {
	switch {
	case s != Deleting || e.Node == Active:
		return s, nil
	case e.Node == Ended:
		return s, []Effect{Show, Forget}
	}
	return s, []Effect{Forget}
}
