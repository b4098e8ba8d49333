// Package admission decides which pods are admitted, which are rejected, and which wait
// because something has to end first. It is pure: time comes as an argument, and whether
// a pod can start is a function of what it would have beside it.
//
//	Item          what one pod takes of the node: resources, host ports and a name
//	Sums          what several pods take together, kept while pods come and go, so that no
//	              question takes time in proportion to their number
//	Queue         which pods stay, which are ending, and which wait, in which order
//	Judge         the verdict on one pod, by up to three questions
//	Usage         a copy of what the pods take, for questions beside the Queue's own
//	Terminations  which pods have to end and may still run, and by when
//	Graces        how long the pods of an earlier agent are left alone
//
// # The queue
//
// A pod that arrives is asked about up to three times:
//
//	beside all three                            admitted: it starts
//	beside those that stay and those that wait  admitted: it waits; rejected: see below
//	alone, if pods wait when the node is full   admitted: it waits; rejected: it is rejected
//
// So a pod waits only if other pods are the reason. A pod that waits counts like one that
// stays: what it needs is reserved, and a later pod, however small, does not get in its
// way. Where pods wait when the node is full their order is that of priority, and a pod
// that arrives counts only those that wait before it. When something has changed, Review
// asks about the waiting pods again, in their order. A pod may have a limit of time: it is
// rejected when the pods that it waits for should have ended, and Margin has passed since
// then.
//
// # Graces
//
// Pods that an earlier agent has started and that no source names are left alone for a
// while: their manifests may be late, as on a directory that is mounted after the agent
// has started. A pod's grace begins when every source that it may belong to has delivered
// for the first time. It ends early if another pod needs the pod's full name or one of its
// host ports. After that nothing is left alone any more, whenever it is observed.
package admission
