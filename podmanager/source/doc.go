// Package source merges any number of sources of pods into one stream of typed changes. A source (a
// directory, a URL, an API server, a host program) delivers the full list of its pods. The [Mux]
// computes the changes for the consumer as [podmanager.PodUpdate]s: ADD, UPDATE, DELETE, REMOVE,
// RECONCILE.
//
// A source that changes often delivers single changes instead, by the methods of a [ChangeSink].
// Their cost does not depend on the number of pods.
//
// The Mux has no queue. For each source it stores the newest version of every pod, and for each
// changed pod also the version that the consumer has. [Mux.TakeAll] returns the difference. The
// consumer gets the newest version, and not every version in between. A slow consumer costs memory
// for the pods only, and no source waits.
//
//	handle := source.NewHandle()
//	mux, err := source.New(source.Config{Sources: map[string]source.Source{"api": handle}})
//	mux.SetWake(wakeTheLoop)
//	go mux.Run(ctx)
//	...
//	for _, update := range mux.TakeAll(nil) { ... }
//
// Pods of every source but "api" are static pods (podmanager.IsStaticPod). A host program that
// replaces an API server registers its [Handle] under that name.
//
// # The contract
//
//   - [Mux.AllSeen] is true once the consumer has taken the first snapshot of every source.
//   - [Mux.Complete] is true for a source that could read everything it has. A pod that is
//     missing in a source counts as removed only if the source is complete.
//   - A source that fails or panics keeps its last snapshot and is started again after 1 s,
//     doubling to 20 s. An error never removes a pod.
//   - The same error of a source is reported once, until the source has run for more than 20 s. A
//     rejected pod is reported once, and again if the reason changes.
//   - The first delivery of a source without pods is an ADD without pods.
//   - A pod that was removed and added again between two reads is a REMOVE and an ADD. The same
//     holds for a UID whose pod gets another name, whose deletion timestamp disappears, or, without
//     Snapshot.Guarded, that gets a change that no API server would allow.
//   - A UID belongs to one source at a time. The Mux refuses a pod of another source under that UID
//     ([ErrForeignUID]), and adds it when the first source has removed its pod.
package source
