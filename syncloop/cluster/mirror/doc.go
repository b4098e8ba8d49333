// Package mirror keeps the mirror pods of a node (experimental). For each static pod there is one pod
// at the API server that shows it.
//
// Decide and Build are pure. A Reconciler acts on them, beside the node: no pod waits for
// its mirror.
//
// # The contract
//
//   - A mirror pod is created as soon as the node and the static pod are known. It is
//     deleted and created again if it was made from another version of the static pod or
//     for another node object, or if another program deletes it. The containers are not touched.
//   - It is deleted when its static pod is gone and has ended, and every source of static
//     pods has delivered. Each deletion has the UID that was observed as precondition.
//   - If an ordinary pod has the name there is no mirror pod. One event on the static pod
//     says so, unless the node reports that itself.
//   - If the server refuses a mirror pod, one event on the node says why.
//   - What fails is tried again after 1 s, doubling to 5 minutes, for each name by itself, and
//     after Retry at once.
//     No error and no silence of the server deletes anything.
//   - At most Parallel requests are under way, one for each name.
package mirror
