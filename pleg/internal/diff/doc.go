// Package diff compares what the runtime showed of a pod with what it shows
// now. It is pure: pleg calls it, and decides what to do with the answer.
//
// There are two comparisons, because there are two sources. Lists and
// SameRecords compare two listings and only say which pods deserve a look.
// Amend, Items and Compare work on inspected statuses and say what has
// happened: only they make events, so that a listing that leaves a container
// out (F60) never ends it.
//
// Unexplained and OnlyLost look for what the event table does not show: a failure
// whose reason may come later, and changes of records that are still there.
//
// Statements kept: B-176 (containers and sandboxes alike, by ID), B-177 (four
// states), B-178 (the event table), B-179, B-180 (they follow from the table),
// B-189 (addresses), F61 (no way back), F62 (unknown values are unknown).
package diff
