// Package diff compares two observations of a pod. It is pure; pleg calls it and acts on
// the answer.
//
// Lists and SameRecords compare two listings and only tell which pods to inspect. Amend,
// Items and Compare work on inspected statuses and tell what has happened. Only these make
// events, so a listing that leaves a container out does not end it.
//
// Unexplained finds a failure whose reason may come later. OnlyLost finds changes of
// records that are still there. A state that does not exist counts as unknown, and a
// container that was seen to exit stays exited.
package diff
