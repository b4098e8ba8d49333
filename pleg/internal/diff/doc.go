// Package diff compares two observations of a pod. It is pure; pleg calls it and acts on the
// result.
//
// Lists and SameRecords compare two listings and only decide which pods to inspect. Amend, Items
// and Compare work on inspected statuses, and only Compare generates events. So a container that is
// missing in a listing has not exited.
//
// ReasonMayFollow finds a failure whose reason may come later. OnlyLost recognises a status that
// differs from the one before only by missing records. An invalid state counts as unknown, and a
// container that has exited stays exited.
package diff
