// Package checkpoint keeps on the disk how pods have ended, for an agent that
// comes after this one. It stands where an API server would: a pod that was evicted,
// was active for too long, or is over by itself, does not run again only because
// the agent was started anew, even if the runtime has no records of it any more.
//
//	<root>/<uid>.json    how one pod has ended
//	<root>/.<uid>        one that is being written
//
// Containers keeps beside it, in a directory of its own and in files of the same
// form, what has to be known of containers that go on running when the agent ends:
// what their probes have said, and that one was told to end so that the next attempt
// can be made. It is written when that changes, and has the bounds and promises of
// the terminal statuses.
//
// # Contract
//
// New reads what is there, and Consume hands each ending out once, to the first pod
// that has its UID, its name and its hash: what was replaced under its UID while
// nobody was there has not ended. What a source itself says of a pod's end comes
// before this.
//
// Save is over when the file is on the disk, whole and in its place: there is the
// old one or the new one, whenever the power fails. Drop is for a UID that begins a
// new incarnation, and Remove for one that nobody wants any more; package gc finds the latter
// with Pods. A Save that fails is not repeated here; package node does so.
//
// TerminalStatuses have MaxSize bytes at most: one that would be larger is kept without its
// containers. MaxFiles are read. A file that is no ending is told of once, by New,
// and does not count; it is left where it is. All is done through an os.Root, and
// links are neither followed nor read; what is no regular file is not opened. Methods
// may be called concurrently. Save, Drop and Remove of one UID wait for each other;
// Remove asks, while no Save is under way, whether the pod is still gone.
//
// # Statements kept
//
// PH-9 and I42 over restarts of the agent, as far as a pod is over: part 4 of
// kubelet-outer, 9. Verdicts of admission are not kept: a pod that was refused is
// asked about anew, as a static pod is by the kubelet. CS-12 and PR-5 over restarts
// of a standalone agent.
package checkpoint
