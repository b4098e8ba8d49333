// Package dirty holds the coalescing set that cannot overflow: which pods
// have something new, and the newest of it for each.
//
// A queue between a busy producer and a slow consumer must block, drop or
// grow. A set does none of these: adding a pod that is already in it merges
// the two values into one entry, so its size is bounded by the number of pods
// and never by the number of events. It is what stands behind every "tell me
// what changed" in this module: nobody who adds is ever blocked, nobody who
// takes ever misses a pod, and a consumer that is slow sees the newest state
// once instead of every state late.
//
// # The contract
//
//   - Add never blocks on a consumer. It wakes one exactly when the set turns
//     from empty to non-empty, and after it has let go of the lock; a consumer
//     that takes everything at each wake-up has therefore seen everything.
//   - A wake-up may find the set empty, if somebody took it in between. It is
//     never the other way round.
//   - TakeAll hands over everything in the order in which each pod was first
//     added since the last TakeAll. A pod that is added again keeps its place: it
//     can neither be starved by newcomers nor push itself forward. A pod that
//     was dropped and added again comes at its new place.
//   - Order does not depend on a map, so the same calls give the same answer.
//   - The cost is that of the entries handled, not of the largest size the
//     set has ever had; a set in use allocates nothing.
package dirty
