// Package mirror maintains the mirror pods of a node (experimental). A mirror pod represents a static pod at
// the API server.
//
// Decide and Build are pure. A Reconciler performs the actions concurrently with the node, so that no pod
// waits for its mirror pod.
//
// # The contract
//
//   - A mirror pod is created as soon as the Node object and the static pod are known. It is deleted and
//     created again if it belongs to another version of the static pod or to another Node object, or if
//     another program has deleted it. The containers keep running.
//   - A mirror pod is deleted when its static pod is no longer desired and has terminated, and every source
//     of static pods has delivered. Each deletion has the observed UID as precondition.
//   - If an ordinary pod has the name, there is no mirror pod. One event on the static pod reports that,
//     unless the node reports it itself.
//   - If the server refuses a mirror pod, one event on the node reports the reason.
//   - A failed action is retried with a backoff from 1 s to 5 minutes, per name, and at once after Retry. An
//     error or the silence of the server deletes nothing.
//   - At most Parallel requests run concurrently, one per name.
package mirror
