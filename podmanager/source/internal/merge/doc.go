// Package merge turns the lists and the single changes of one source into typed changes. It is
// pure. A [Tracker] has the newest pods and, of each pod that has changed since, the version that
// the consumer has. Nothing else accumulates. [Tracker.Consume] and [Step.Changes] return the
// difference of the two.
//
// A new UID is an ADD and a missing one a REMOVE. For the same UID, a change of spec, labels,
// deletion timestamp, deletion grace period or non-local annotations is a DELETE if the pod has a
// deletion timestamp and an UPDATE otherwise; a change of the status alone is a RECONCILE. The
// first snapshot of a source without pods delivers an empty ADD. Of two pods with one full name the
// first is used and the other is rejected. The annotations for source and first-seen time are set
// on delivery and ignored in comparisons. Delivered pods are copies with annotations of their own;
// the rest is shared with the source, and must not be modified. A Tracker that owns its pods
// delivers the pods themselves.
//
// A pod that gets another name or namespace under its UID is a REMOVE and an ADD. The same holds for a
// pod whose deletion timestamp disappears: an API server was restored from a backup that is older than
// the deletion. A change of the spec that no API server would allow is a REMOVE and an ADD too, unless
// the source is guarded.
// [Claims] gives each UID to one source at a time.
//
// A pod object that is the same pointer as before is not compared: a source delivers a new object
// for every change. This is the only comparison of desired states between a source and the workers.
// It does not recognise echoes, that is, changes that the node itself has caused: a source of an
// API server leaves out what its own node has written (package feed), and package lifecycle
// recognises what a failed sync has left in the runtime.
package merge
