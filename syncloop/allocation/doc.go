// Package allocation decides which pods are admitted, which are rejected, and which wait
// (experimental). A pod waits if it fits only after other pods have stopped. The package is the
// deciding part of a kubelet's allocation manager. It is pure: time is an argument, inputs are method
// calls, and the caller performs the returned effects.
//
//	Table     one record for each UID: the current pod and its successor, each with a State
//	Rule      the claims of a pod, and whether it can start beside the claims of other pods
//	Chain     the rules of a node in their order, and the places of handlers among them
//	Effect    Ask a handler, Admit, Wait, Reject, Postpone; AllocateResize, DeferResize, RefuseResize
//	Usage     a copy of the claims of the pods, for questions that do not wait for the Table
//	Observed  what the workers, the runtime and the sources show of one pod
//
// # Words
//
//	staying         the pod is Admitted or Waiting. Its claims count.
//	waits for room  the pod waits for pods that are not terminating (Config.WaitWhenFull, Answer.WaitsWhenFull).
//	patient         the pod waits without a limit. The caller decides which pods are patient. A pod of
//	                an API server often is not, because its controller replaces a rejected pod.
//	blockers        the terminating pods that a pod waits for
//	orphan          a pod that the runtime runs, without a worker and not desired
//
// # Records
//
// A record has the pod that runs or should run under the UID. While that pod is Terminating, the newest
// pod of the UID is its successor. If no newer pod has arrived, that is the terminating pod itself, which
// counts twice until the caller calls Remove. Whether a pod is desired, has a worker or is an orphan is
// not stored here: podmanager, podworkers and the housekeeping of syncloop store it.
//
// # Rules and handlers
//
// A Rule declares the claims of a pod, which are named quantities and keys, and checks them against
// the sums of other pods. The table updates the sums as pods come and go, so a question takes the same
// time for any number of pods, unless a handler lists the pods. Other admission code is a handler, for
// which the chain has a nil rule: the effect Ask has the question, and the caller passes the answer to
// Table.Answer. An answer counts only for the revision of its Ask. If something has changed since the
// Ask, the table asks again in the next call of Add, Review or Answer.
//
// # Waiting
//
// The table asks up to three questions to admit or reject a new pod. Each question goes through the chain:
//
//	BesideAllPods       beside the staying and the     admitted: it starts
//	                    terminating pods
//	WithoutTerminating  beside the staying pods        admitted: it waits; refused: see the next line
//	OnEmptyNode         without other pods             admitted: it waits for room; refused: it is
//	                                                   rejected
//
// OnEmptyNode is only for patient pods with WaitWhenFull. Other pods are rejected before it. The previous
// incarnation of the pod's own UID never counts, because the worker starts the pod after it. The waiting
// pods behind the pod do not count either. If the pod waits for terminating pods, the table asks up to 64
// more questions to find its blockers. These only set the limit and the message.
//
// So a pod waits only if other pods are the reason, or if a handler answers Pending. The claims of a
// waiting pod count like the claims of an admitted pod. A pod behind it cannot take them, however small
// it is. With WaitWhenFull waiting pods are ordered by priority, so a pod of a higher priority may take
// them. Otherwise they are ordered by arrival. After a change Review decides again about the waiting pods
// in their order.
//
// A pod that is not patient has a limit: it is rejected when the grace periods of its blockers are over
// and Margin has passed. The limit is set when the wait begins, and does not move if the blockers change.
// A Pending pod has no limit. If it is no longer Pending and still waits, a new limit is set.
//
// # Resizes
//
// RequestResize stores that an admitted pod requests other resources. DecideResizes compares the
// requested claims with the claims of the other pods. It accepts the request, so that the pod claims the
// new resources, or defers it until other pods claim less, or refuses it. Only resources that increase
// are checked. A deferred request reserves nothing. PodResources stores the resources that were
// accepted, so that they survive a restart of the agent.
//
// # Example
//
// A node has 2 CPUs, and pod A with 2 CPUs terminates. Pod B with 1 CPU arrives. Beside all pods it is
// refused. Without the terminating pods it is admitted, so it waits for A. Pod C with 2 CPUs arrives
// next. The claims of B are reserved, so C is refused in both questions: it is rejected, or waits for
// room behind B with WaitWhenFull.
package allocation
