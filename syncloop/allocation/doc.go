// Package allocation decides which pods are admitted, which are rejected, and which wait
// (experimental). A pod waits if it fits only after other pods have stopped. The package is the
// deciding part of a kubelet's allocation manager. It is pure: time is an argument, inputs are method
// calls, and the caller performs the returned effects.
//
//	Table     one record for each UID: the current pod and its successor, each with a State
//	Rule      the claims of a pod, and whether it can start beside the claims of other pods
//	Chain     the rules of a node in their order, and the places of handlers among them
//	Effect    Ask a handler, Admit, Wait, Reject, Postpone
//	Usage     a copy of the claims of the pods, for questions that do not wait for the Table
//	Observed  what the workers, the runtime and the sources show of one pod
//
// # Records
//
// A record has the pod that runs or should run under the UID. While that pod is Terminating, a new pod
// with the same UID is its successor. Whether a pod is desired, has a worker or is an orphan is not
// stored here: podmanager, podworkers and the housekeeping of syncloop store it.
//
// # Rules and handlers
//
// A Rule declares the claims of a pod, which are named quantities and keys, and checks them against
// the sums of other pods. The table updates the sums as pods come and go, so a question takes the same
// time for any number of pods. Other admission code is a handler, for which the chain has a nil rule:
// the effect Ask has the question, and the caller passes the answer to Table.Answer. An answer counts
// only for the revision of its Ask. If something has changed since the Ask, the table asks again.
//
// # Waiting
//
// The table asks up to three questions about a new pod:
//
//	beside all other pods                      admitted: it starts
//	beside the staying and the waiting pods    admitted: it waits; rejected: see the next line
//	alone, with WaitWhenFull                   admitted: it waits; rejected: it is rejected
//
// So a pod waits only if other pods are the reason. The claims of a waiting pod count like the claims
// of a staying pod: they are reserved, and no later pod, however small, can take them. With
// WaitWhenFull waiting pods are ordered by priority, and a new pod counts only the waiting pods before
// it. After a change Review decides again about the waiting pods in their order. A pod that is not
// patient has a limit: it is rejected when the grace periods of the pods that it waits for are over and
// Margin has passed.
//
// # Example
//
// A node has 2 CPUs, and pod A with 2 CPUs terminates. Pod B with 1 CPU arrives. Beside all pods it is
// refused. Without the terminating pods it is admitted, so it waits for A. Pod C with 2 CPUs arrives
// next. The claims of B are reserved, so C is refused in both questions: it is rejected, or waits behind
// B with WaitWhenFull.
package allocation
