// Package status holds the newest status of every pod of the node. It is the
// truth about what the node says of its pods: whoever wants to know asks here,
// and whoever wants to be told subscribes; an API server is one of the latter.
//
// A Store starts no goroutine and waits for nothing. What it decides is decided
// by pure functions in internal/reconcile.
//
// # The contract
//
//   - Statuses are kept under the UID of the pod that runs. Questions may come
//     with the UID of its mirror and are translated. [ST-1]
//   - What is handed in is copied, and what is handed out is a copy. A pod with
//     a deletion timestamp is updated even if nothing changed. [ST-2]
//   - A status that says nothing new is dropped. Conditions of others do not
//     count as new, and neither do times of conditions. [ST-3]
//   - Each status that is accepted has the version after that of the one
//     before. [ST-4]
//   - StartTime is set once. The LastTransitionTime of a condition of ours
//     changes only with its Status; both are set here. Where no status is
//     stored yet, the one in the pod counts as the one before. [ST-5]
//   - Times are cut to seconds, termination messages to the container's share
//     of 12 KiB, and lists are sorted, before anything is compared. [ST-7]
//   - Results of readiness and startup probes change the container that has
//     exactly this ID, and nothing else that is not its consequence. [ST-8]
//   - TerminatePod says that nothing of the pod runs any more: containers whose
//     end was not seen get one, a pod that is not static has Failed unless it
//     was over before, and the status is Finished. [ST-9, ST-10]
//   - Finished never goes back, except for a static pod. [ST-11]
//   - A terminal phase is never Ready. [ST-18]
//   - A new life of a UID begins with ReplacePodStatus, or after a removal, and
//     is bound to nothing that was said of the last one.
//   - RemoveOrphanedStatuses drops what nobody knows. [ST-21]
//   - All of this works without an API server. [ST-20]
//
// Subscriptions:
//
//   - Every accepted change is told to every subscription, and so is a removal.
//     None can block the store or another subscription, and none loses a pod:
//     what is told is which pods changed, and Take reads the newest of each.
//   - A new subscription begins with all statuses that are stored, so there is
//     no gap between looking and being told.
//   - Versions of one pod never go down, not even if its status was removed
//     and it came again in between.
//
// CheckTransition, CheckStatus and CheckGone are the status oracle (I26, I27,
// I28): checks for tests of anything that publishes statuses.
//
// # What is not here yet
//
// Refusing containers that come back from the dead (ST-6) belongs into
// reconcile before Complete; the store then logs and drops. Sending (ST-12 to
// ST-16, ST-19), and with it holding back a terminal phase while containers may
// still run (ST-17), is for a subscriber: an Update carries all it needs, with
// Version for what was sent, Since for the latency, Pod and Finished for the
// deletion. What the API server says of a static pod before its first status
// is in the mirror's status, which that subscriber knows.
//
// # Differences from the kubelet
//
//   - Any number of subscribers in place of one channel and one sender; nothing
//     is coalesced across pods (140936, 139037).
//   - A pod is what was last handed in with a status, where probe results need
//     its spec; the kubelet asks the pod manager, and so forgets readiness of a
//     pod that has left config while it still runs.
//   - A readiness or startup result is not taken for a container that does not
//     run; Ready means running (I28).
//   - TerminatePod judges by the stored status (139895), and takes readiness
//     from the containers that it gives an end.
//   - The conditions of a terminal phase (ST-18) are set on acceptance.
//   - A message that is too long is cut between characters.
//   - A UID that is used again begins anew at once (ReplacePodStatus), not only
//     after a housekeeping has removed what was stored of it.
//   - The first version after a removal is higher than any removed one; in the
//     kubelet it is 1 again.
package status
