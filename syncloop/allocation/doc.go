// Package allocation decides which pods are admitted, which are rejected, and which wait
// (experimental). A pod waits because something has to end first. It is the deciding part of a
// kubelet's allocation manager. It is pure: time comes as an argument, inputs are method calls, and
// what the caller has to do comes back as effects.
//
//	Table     one record for each UID: the current pod and its successor, each with a State
//	Rule      what a pod claims, and whether it can start beside what others claim
//	Chain     the rules of a node in their order, and the places of handlers among them
//	Effect    Ask a handler, Admit, Wait, Reject, Postpone
//	Usage     a copy of what the pods claim, for questions that do not wait for the Table
//	Observed  what the workers, the runtime and the sources show of one pod
//
// # Records
//
// A record has the pod that runs or is to run under the UID. As long as that pod has to end, it is
// Terminating, and a pod that comes under the same UID is its successor. Whether a pod is desired,
// known to a worker or an orphan is not here: podmanager, podworkers and housekeeping know it. The
// resources of a resize will stand in the record too.
//
// # Rules and handlers
//
// A Rule declares the claims of a pod, which are named quantities and keys, and checks them against
// the sums of other pods. The table keeps the sums while pods come and go, so that a question takes
// the same time for any number of pods. Other admission code is a handler, for which the chain has a
// nil rule: the effect Ask has the question, and Answer takes the answer of the handler. An answer counts
// only for the revision of the Ask. If something has changed since, the question is asked again.
//
// # Waiting
//
// A pod that arrives is asked about up to three times:
//
//	beside all others                           admitted: it starts
//	beside those that stay and those that wait  admitted: it waits; rejected: see below
//	alone, if pods wait when the node is full   admitted: it waits; rejected: it is rejected
//
// So a pod waits only if other pods are the reason. A pod that waits counts like one that stays: what
// it needs is reserved, and no later pod, however small, takes that. Where pods wait when the node is
// full they wait in the order of their priority, and a pod that arrives counts only the pods that wait
// before it. After a change Review decides again about the waiting pods, in their order. A pod that is
// not patient has a limit: it is rejected when the pods that it waits for should have ended, and Margin
// has passed since then.
package allocation
