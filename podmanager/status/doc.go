// Package status stores the newest status of every pod of the node. Other packages read statuses here
// and subscribe to changes. An API server is one such subscriber.
//
// A Store starts no goroutine and never blocks. The pure functions of package reconcile make its
// decisions.
//
// # The store
//
//   - The key of a status is the UID of the pod that runs. The UID of its mirror pod is translated.
//     The Store copies statuses that it receives and returns.
//   - It drops a status without a change. Each accepted status gets the next version. The versions
//     of a pod never decrease, also after a removal.
//   - Conditions and fields of other writers (resource claims, the nominated node) come from the pod.
//     A change of them alone is not a new status.
//   - StartTime is set once. The LastTransitionTime of a condition that the node writes changes only
//     with its Status. If no status is stored, the status in the pod is the previous one.
//   - Before a comparison, times are truncated to seconds, termination messages to the container's
//     share of 12 KiB, and lists are sorted.
//   - A probe result changes the container with exactly that ID, and the conditions that depend on it.
//   - A status that moves a terminated container back is rejected, unless its policy or a rule restarts
//     it, all containers of the pod restart, or its termination was only assumed. Hooks.Refused is
//     called each time.
//   - A terminal phase is final and keeps its first reason. A pod in a terminal phase is not Ready.
//   - TerminatePod records that nothing of the pod runs or will run. It sets a termination for containers
//     whose exit is not known, makes a pod without a terminal phase Failed unless it is static, and
//     marks the status as Finished. Finished stays true, except for a static pod.
//   - ReplacePodStatus begins a new status epoch of a UID. The last epoch has no effect on it.
//   - RemoveOrphanedStatuses removes the statuses of unknown UIDs.
//
// GetPodStatus returns the stored status. Use it for decisions. GetReportedPodStatus and
// HoldBackTerminalPhase hold a terminal phase back until nothing of the pod runs. Use them to show a
// status to others.
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
//     changes has no goroutine. Terminal phases and changes of readiness are sent first.
//   - After a failure it waits before it sends the status again. The pause grows per pod; a newer
//     status waits only for the first pause. The error of the Sink can change that: RetryAfter,
//     Unavailable, ErrRefused, ErrNotYet. While the Sink is unavailable, the Sender sends one status at
//     a time as a test. RetryNow ends all pauses.
//   - Resend sends a status again, at most every ten seconds for one pod; ResendNow does so at once.
//   - It holds a terminal phase back while SenderConfig.CouldRun returns true. After the last
//     container has stopped, it waits at most 100 ms for Finished, so that one status shows the final state.
//   - When the context of Run ends, it retries failed statuses at once and sends for a limited time.
//     Then its error names the pods that were not sent. A pod that could still run is sent without its
//     terminal phase, and does not count as unsent.
//
// The Sink has four duties. It stores nothing for a pod whose UID has changed. It calls Merge with the
// conditions of other writers. It returns ErrNotYet for a static pod without a mirror pod. And it
// deletes pods that may be deleted, for which an Update has Pod and Finished.
//
// Package statustest checks the invariants of published statuses in tests.
package status
