// Package podmanager knows which pods this node should run, and which pods of the API server are their
// mirrors. Code that decides something about a pod asks here for its newest desired version. The
// package decides nothing, waits for nothing and starts nothing.
//
// # Three kinds of pods
//
//   - An ordinary pod comes from the API server, or from the host program in its place.
//   - A static pod comes from anywhere else. The API server does not know it.
//   - A mirror pod shows a static pod in the API server. It is never run. It has the static
//     pod's full name and a UID of its own, which is translated to that of the static pod;
//     the types ResolvedPodUID and MirrorPodUID keep the two apart.
//
// # The contract
//
//   - Pods and mirror pods are indexed apart, by UID and by full name. No answer about pods
//     holds a mirror.
//   - A mirror pod and its static pod find each other by full name, in any order of
//     arrival.
//   - Removing a mirror pod removes its UID, name and translation. Removing a pod makes its
//     mirror an orphan, which is reported by full name. Any pod of that name hides the
//     orphan.
//   - A static pod without a mirror pod translates to "".
//   - Pods are stored and returned without a copy. Neither the caller nor the reader may
//     change them.
//   - A call with a nil pod changes nothing and finds nothing.
//   - Lists are in order of arrival, which an update does not change.
package podmanager
