// Package dirty holds a coalescing set that cannot overflow: the pods that have something
// new, and the newest value of each.
//
// A queue between a fast producer and a slow consumer has to block, drop or grow. A set
// does not: adding a pod that it holds merges the two values, so its size is bounded by the
// number of pods. A producer never waits, a consumer never misses a pod, and a slow
// consumer sees the newest state once.
//
// # The contract
//
//   - Add never waits for a consumer. It wakes the consumer when the set changes from empty
//     to non-empty, after it released the lock. A consumer that takes everything at each
//     wake-up has seen everything.
//   - A wake-up may find the set empty, if another consumer took its entries.
//   - TakeAll returns the entries in the order in which each pod was first added since the
//     last TakeAll. A pod that is added again keeps its place; one that was removed and
//     added again gets a new one.
//   - The order does not depend on a map: the same calls give the same answer.
//   - The cost is that of the entries handled; a set in use allocates nothing.
package dirty
