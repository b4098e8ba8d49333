// Package status keeps the newest status of every pod of the node. Other packages read
// statuses here and subscribe to changes; an API server is one such subscriber.
//
// A Store starts no goroutine and waits for nothing. Pure functions in package reconcile
// make its decisions.
//
// # The store
//
//   - Statuses are kept under the UID of the pod that runs. The UID of its mirror pod is
//     translated. Statuses are copied when they come in and when they go out.
//   - A status that says nothing new is dropped. Each accepted status has a version that is
//     one higher than the one before; versions of a pod never go down, also after a
//     removal.
//   - Conditions and fields that others own (resource claims, the nominated node) are those
//     of the pod, and do not make a status new.
//   - StartTime is set once. The LastTransitionTime of a condition of ours changes only
//     with its Status. Where no status is stored, the one in the pod counts as the one
//     before.
//   - Before statuses are compared, times are cut to seconds, termination messages to the
//     container's share of 12 KiB, and lists are sorted.
//   - A probe result changes the container that has exactly that ID, and the conditions
//     that follow from it.
//   - A status that moves a terminated container back is rejected, unless its policy or a
//     rule restarts it, all containers of the pod restart, or its end was a guess.
//     Hooks.Refused is called each time.
//   - A terminal phase is final and keeps its first reason. A pod in a terminal phase is
//     not Ready.
//   - TerminatePod says that nothing of the pod runs any more: it gives an end to
//     containers whose end was not seen, makes a pod that was not over Failed unless it is
//     static, and marks the status as Finished. Finished stays true, except for a static
//     pod.
//   - ReplacePodStatus begins a new status epoch of a UID; nothing of the last one binds
//     it.
//   - RemoveOrphanedStatuses drops the statuses of unknown UIDs.
//
// GetPodStatus returns a status as it is; use it for decisions. GetReportedPodStatus and
// HoldBackTerminalPhase hold back a terminal phase until nothing of the pod runs; use them to show a
// status to others.
//
// # Subscriptions
//
// Every accepted change and every removal is announced to every subscription. None can
// block the store or another subscription, and none loses a pod: the announcement names
// changed pods, and TakeAll reads the newest status of each. A new subscription begins with
// all stored statuses.
//
// # The sender
//
// A Sender brings the newest status of every changed pod to a Sink: an API server, another
// machine.
//
//   - It sends many pods at once, and one status at a time of each pod. A pod without
//     changes has no goroutine. Terminal phases and changes of readiness go first.
//   - A status that could not be sent is sent again after a pause that grows per pod, a
//     newer one after the first pause. The error of the Sink can say more: RetryAfter,
//     Unavailable, ErrRefused, ErrNotYet. While the Sink is unavailable one status at a time
//     is sent to see whether it is back; RetryNow ends all waits.
//   - Resend sends a status again, at most every ten seconds for one pod; ResendNow at once.
//   - A terminal phase is held back while SenderConfig.CouldRun says that the pod could
//     still have running containers. A pod of which none runs any more has 100 ms to stop,
//     so that one status tells its end.
//   - After it was stopped it goes on for a while, and then names what was not sent. A pod
//     that could still run is told of without its end, and does not count as unsent. What
//     waits after a failure is tried at once.
//
// The Sink has four duties: to store nothing for a pod whose UID has changed, to Merge with
// the conditions of others, to return ErrNotYet for static pods without a mirror pod, and to delete what
// may be deleted, for which an Update has Pod and Finished.
//
// Package statustest checks the invariants of published statuses in tests.
package status
