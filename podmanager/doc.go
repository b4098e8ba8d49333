// Package podmanager stores the pods that this node should run, and the mirror pods of the API
// server. Code that decides something about a pod reads its newest desired version here. The
// package decides nothing, waits for nothing and starts nothing.
//
// # Three kinds of pods
//
//   - An ordinary pod comes from the API server, or from a host program that replaces it.
//   - A static pod comes from any other source. The API server does not know it.
//   - A mirror pod shows a static pod in the API server. It is never run. It has the static
//     pod's full name and a UID of its own, which is translated to the UID of the static pod;
//     the types ResolvedPodUID and MirrorPodUID distinguish the two.
//
// # The contract
//
//   - Pods and mirror pods are indexed separately, by UID and by full name. No query for pods
//     returns a mirror pod.
//   - A mirror pod and its static pod are paired by full name, in any order of arrival.
//   - Removing a mirror pod removes its UID, name and translation. Removing a pod makes its
//     mirror pod an orphan, which is reported by full name, unless another pod has that name.
//   - A static pod without a mirror pod translates to "".
//   - Pods are stored and returned without a copy. Neither the caller nor the reader may
//     modify them.
//   - A call with a nil pod changes nothing and finds nothing.
//   - Lists are in order of arrival, which an update does not change.
package podmanager
