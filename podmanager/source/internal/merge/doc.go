// Package merge turns the full snapshots of one source into typed changes. It
// is pure: what a source hands over becomes a [Snapshot], and [Diff] compares the snapshot the
// consumer has taken with the newest one. Nothing accumulates in between, so
// nothing can overflow, however slow the consumer is.
//
// # Statements kept
//
//   - CF-1, CF-5: a source says only "this is everything"; the kinds of change
//     are worked out here.
//   - CF-2: a new UID is an ADD and a vanished one a REMOVE. For the same UID a
//     different spec, label set, deletion timestamp, deletion grace or
//     non-local annotation is a DELETE if a deletion timestamp is set and an
//     UPDATE if not; a status that differs alone is a RECONCILE.
//   - CF-4: the first snapshot of a source delivers an empty ADD when it holds
//     no pod.
//   - CF-6: of two pods with one full name in one snapshot the first is kept and
//     the other reported.
//   - CF-7: the annotations kubernetes.io/config.source and .../config.seen are
//     stamped on what is delivered and, with .../config.mirror, ignored when
//     comparing. The first-seen time survives updates.
//   - CF-8: what is delivered is a deep copy.
//
// # Differences from the kubelet
//
//   - A pod that was gone from a snapshot nobody took, and is back, is a REMOVE
//     and an ADD of one UID, as it would have been for a faster consumer. The
//     snapshot numbers each pod's arrival for this. Thus the number of
//     incarnations does not depend on timing.
//   - A UID whose name or namespace changes is removed and added: the full name
//     is the identity that locks, mirrors and directories are keyed by, and no
//     update can move it. The kubelet does not look.
//   - So is one whose spec changes where an API server would not let it: images,
//     grace, deadline, tolerations, scheduling, resources and ephemeral containers
//     may change, the rest makes it another pod (F18). The kubelet, which an API
//     server protects, would go on with half of the change. Resources are an UPDATE
//     that touches nothing that runs, since nobody here resizes a running container:
//     the next attempt at a container has the new ones.
//   - Pods without UID or name, and a second pod of one UID, are rejected and
//     reported like a second pod of one name. The kubelet lets the last of one
//     UID win.
//   - Comparison is semantic: nil and empty, or 1 and 1000m, do not differ, so
//     they cause no UPDATE (kubernetes/kubernetes compares with reflection).
//   - A pod object that is the very same one as before is not compared at all.
//     A source therefore hands over a new object for every change.
package merge
