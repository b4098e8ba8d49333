// Package reconcile decides how a new pod status follows the stored one. It is pure: time is an
// argument, and it stores nothing.
//
//	Complete                keeps the fields that must not change
//	Equal                   reports whether a status has changed
//	CheckRestarts           rejects a status that moves a terminated container back
//	SetReady                applies a readiness result, SetStarted a startup result
//	Terminate               sets a termination for containers whose exit is not known
//	Merge                   combines the conditions of other writers with the conditions of the node
//	HoldBackTerminalPhase   hides a terminal phase while containers may run
//
// A function that changes a status changes the new one, and never the stored one. RULES.md explains the
// ids in comments.
package reconcile
