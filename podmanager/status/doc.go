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
//   - A status that says nothing new is dropped. Conditions and fields of others
//     (claims of resources, the nominated node) do not count as new, and neither do
//     times of conditions. [ST-3]
//   - The fields of others are those that came with the pod, whoever hands in a
//     status; Merge keeps what is newest of them where it is stored. [ST-16]
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
//     was over before, whatever its phase was (none and Unknown, too), and the
//     status is Finished. [ST-9, ST-10]
//   - Finished never goes back, except for a static pod. [ST-11]
//   - A terminal phase is never Ready. [ST-18]
//   - A status in which a container that has ended has not is refused as a whole,
//     unless its policy, a rule of it, or all of its pod beginning anew, runs it
//     again, or its end was a guess (ContainerStatusUnknown) of a pod that is not
//     over. As long as the runtime shows it so, it is refused again: nothing here
//     can tell which of the two is wrong. Hooks.Refused is told each time; a node
//     has an event for it, and Explain says it first. [ST-6]
//   - A terminal phase stays, with its first reason, also if that is none. [PH-9]
//   - A new incarnation of a UID begins with ReplacePodStatus, or after a removal, and
//     is bound to nothing that was said of the last one.
//   - RemoveOrphanedStatuses drops what nobody knows. [ST-21]
//   - Who decides reads a status as it is; who shows it to others uses
//     GetReportedPodStatus, or HoldBack of an Update, and sees the end of a pod when
//     nothing of it runs any more, as behind a Sender. [ST-17]
//   - All of this works without an API server. [ST-20]
//
// Subscriptions:
//
//   - Every accepted change is told to every subscription, and so is a removal.
//     None can block the store or another subscription, and none loses a pod:
//     what is told is which pods changed, and TakeAll reads the newest of each.
//   - A new subscription begins with all statuses that are stored, so there is
//     no gap between looking and being told.
//   - Versions of one pod never go down, not even if its status was removed
//     and it came again in between.
//
// CheckTransition, CheckStatus and CheckGone are the status invariant checker (I26, I27,
// I28): checks for tests of anything that publishes statuses.
//
// # The sender
//
// A Sender brings the newest status of every pod that has changed to a Sink: an
// API server, another machine. [ST-12, ST-14 to ST-17]
//
//   - Many at once, each of another pod; of one pod in order, the newest only,
//     and never two at once. A pod of which nothing is to be sent has no
//     goroutine. What others wait for goes first: ends, and readiness that comes
//     or goes.
//   - What fails is sent again, for each pod alone, after a pause that grows.
//   - An end is not told as long as the pod could still have running containers,
//     as SenderConfig.CouldRun says; all else is.
//   - When it is stopped it goes on for a while, and then names what was not
//     sent.
//
// What is left to a sink: to store nothing of a pod whose UID is another by now
// (ST-14), Merge with the conditions of others (ST-16), to pass over static pods
// without a mirror (ST-13), and to delete what may be deleted, for which an
// Update has Pod and Finished (ST-19).
//
// # Differences from the kubelet
//
//   - Any number of subscribers in place of one channel and one sender; nothing
//     is coalesced across pods (140936, 139037). The Sender looks nothing up
//     before it sends, and does not wait for a signal to try again (ST-15).
//   - An ordinary init container that had succeeded may run again in another
//     attempt whatever the policy: its sandbox was lost (ST-6, CA-5).
//   - An ephemeral container never comes back from its end, and any other does
//     from one that nobody saw: else the status would be refused for ever of what
//     the runtime shows again (ST-6).
//   - A terminal phase that was accepted stays also if another terminal one is
//     handed in (PH-9; 58711).
//   - That a sidecar has started says at once that the pod is initialized, and
//     what has not started is not ready (ST-8).
//   - TerminatePod gives ephemeral containers that ran an end, too (ST-9).
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
