// Package eviction decides which pods a node evicts because it lacks memory, process IDs or disk space
// (experimental). It is the deciding part of a kubelet's eviction manager. It is pure: the time and all
// measurements are arguments, and the caller performs the returned decision.
//
//	Threshold     a signal such as memory.available, and the value below which the node acts
//	Observations  the measured values of the signals, each with its time
//	Pod           a pod with its requests and limits, and its measured usage
//	History       what earlier decisions have to pass to the next one
//	Decision      node conditions, reclaim, victims, and when to decide again
//
// # The pass
//
// The caller lists the pods, then measures, then calls Policy.Decide, at least once in Policy.Period and at
// Decision.NextAt. It performs the decision and passes NextHistory to the next call:
//
//	pods ──▶ signals and usage ──▶ Decide ──▶ conditions: publish
//	                                 │   ├──▶ reclaim: remove dead containers and unused images, then a new pass at once
//	                                 │   └──▶ victims: evict; do not wait for them
//	                                 └──────▶ NextHistory
//
// # Which threshold acts
//
// A threshold is met while the value of its signal is below it. A soft threshold acts after its grace period, a
// hard one at once. A threshold that has acted stays met until the value has risen by MinReclaim above it. If
// several act, one pass handles the first: hard before soft, then memory before process IDs before disk.
//
// A pass for a disk signal first returns a Reclaim. The next pass evicts a pod only if a new measurement of the
// same file system is still too low. While no pod can be evicted, reclaims become rarer, up to one in five minutes.
//
// # Which pod
//
// One pass evicts one pod for pressure. No other pod follows until that pod has disappeared from the list, or
// until VictimTimeout. A hard threshold shortens the grace period of a pod that already terminates. Pods over
// their own limits of local storage are evicted in each pass, all of them. Critical, static and mirror pods are
// never evicted.
//
// # Missing measurements
//
// A signal without a measurement, or with one that is older than Policy.MaxAge, evicts nothing and ends no
// condition. Decision.Unobserved lists such signals when they have been missing for MaxAge.
package eviction
