// Package dirty holds a coalescing set of pods with a value each. The set cannot overflow.
//
// A queue between a fast producer and a slow consumer must block, drop or grow. A set need not: adding a pod that the
// set already holds merges the two values, so the size is bounded by the number of pods. A producer never waits. A
// consumer misses no pod, and a slow consumer sees the newest value once.
//
// # The contract
//
//   - Add never waits for a consumer. If the set was empty, Add calls wake after it has
//     released the lock. A consumer that takes all entries at each wake-up misses none.
//   - A wake-up may find the set empty, if another consumer took its entries.
//   - TakeAll returns the entries in the order in which each pod was first added since the
//     last TakeAll. A pod that is added again keeps its position. A pod that was removed and
//     added again gets a new position.
//   - The order does not depend on a map: the same calls give the same result.
//   - The cost is proportional to the entries handled; a set in use allocates nothing.
package dirty
