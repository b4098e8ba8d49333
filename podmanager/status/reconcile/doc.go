// Package reconcile decides what becomes of a pod status that is handed in. It decides what the status
// keeps of the one before, whether it says anything new, and what the status is when nothing of the
// pod is known to run. It is pure: time is an argument, and nothing is remembered.
//
//	Complete     fills in what is kept of the status before
//	Equal        reports whether a status says anything new
//	CheckRestartsrejects a status that moves a terminated container back
//	SetReady     applies a readiness result, SetStarted a startup result
//	Terminate    gives an end to containers whose end was not seen
//	Merge        combines conditions of others with ours
//	HoldBackTerminalPhase hides a terminal phase while something may run
//
// A function that changes a status changes the one that is to be completed, and never the
// one that it is compared with.
package reconcile
