// Package status stores the newest status of every pod of the node. Other packages read statuses here
// and subscribe to changes. An API server is one such subscriber.
//
// A Store starts no goroutine and never blocks. The pure functions of package reconcile make its
// decisions.
//
// A terminated container has stopped. A terminal phase is Succeeded or Failed. A pod is Finished
// when TerminatePod was called for it. RULES.md explains the ids in comments.
//
// # The store
//
//   - The key of a status is the UID of the pod that runs. Reads and probe results may have the UID of
//     its mirror pod, which is translated. The Store copies statuses, except for ReadPodStatus.
//   - It drops a status without a change. It stores an equal status only for a pod with a deletion
//     timestamp, for TerminatePod and for a new status epoch. Each stored status gets a higher version.
//     A dropped or rejected status still replaces the stored pod.
//   - Fields of other writers (resource claims, the nominated node) are copied from the pod. Their
//     conditions are the ones in the status of the caller. A change of them alone is not a new status.
//   - StartTime is set once. The LastTransitionTime of a condition that the node writes changes only
//     with its Status, or with the Reason of a condition about a resize. If no status is stored, the status in the pod is the previous one.
//   - Before a comparison, times are truncated to seconds, termination messages to the container's
//     share of 12 KiB, other messages of a status to 1 KiB, and lists are sorted.
//   - A probe result changes the container with exactly that ID, and the conditions that depend on it.
//   - SetPodStatus rejects a status that moves a terminated container back, unless its policy or a rule
//     restarts it, all containers of the pod restart, an init container runs again, or the termination
//     was only assumed. Hooks.Refused is called each time.
//   - A terminal phase is final and keeps its first reason. A pod in a terminal phase is not Ready. A
//     pod that was rejected before it had containers has no condition Ready.
//   - TerminatePod records that nothing of the pod runs or will run. It sets a termination for containers
//     whose exit is not known, makes a pod without a terminal phase Failed unless it is static, and
//     marks the status as Finished. For a static pod the next changed SetPodStatus clears Finished.
//   - ReplacePodStatus begins a new status epoch of a UID. The last epoch has no effect on it.
//   - RemoveOrphanedStatuses removes the statuses of unknown UIDs.
//
// GetPodStatus returns the stored status. Use it for decisions. GetReportedPodStatus and
// HoldBackTerminalPhase hold a terminal phase back while containers of the pod may run. Use them to
// show a status to others.
//
// # Subscriptions
//
// Every accepted change and every removal reaches every subscription. A subscription cannot block the
// store or another subscription, and loses no pod: it stores the UIDs of changed pods, and TakeAll
// reads the newest status of each. A new subscription begins with all stored statuses.
//
// # The sender
//
// A Sender sends the newest status of every changed pod to a Sink: an API server or another machine.
//
//   - It sends the statuses of many pods concurrently, and of each pod one at a time. A pod without
//     changes has no goroutine. Terminal phases and changes of readiness are sent before others, but
//     at most eight in a row while others wait.
//   - After a failure it waits before it sends the status again. The pause grows per pod; a newer
//     status waits only for the first pause. The error of the Sink can change that: RetryAfter,
//     Unavailable, ErrRefused, ErrNotYet. After Unavailable nothing is sent during the pause. Then
//     statuses are sent one at a time until one succeeds. RetryNow ends all pauses.
//   - Resend sends a status again, at most every ten seconds for one pod; ResendNow does so at once.
//   - It holds a terminal phase back while SenderConfig.CouldRun returns true. If CouldRun is set, a
//     status without running containers of a terminal or deleted pod waits at most 100 ms for Finished,
//     so that one status shows the final state.
//   - When the context of Run ends, it retries failed statuses at once and sends for a limited time.
//     Then its error names the pods that were not sent. A pod that could still run is sent without its
//     terminal phase, and does not count as unsent unless Drain is negative.
//
// The duties of a Sink stand at its type.
//
// Package statustest checks the invariants of published statuses in tests.
package status
