// Package source merges any number of sources of pods into one stream of typed changes. A
// source (a directory, a URL, an API server, a host program) delivers the full list of its
// pods. The [Mux] computes what that means for the consumer, as [podmanager.PodUpdate]s: ADD,
// UPDATE, DELETE, REMOVE, RECONCILE.
//
// A source that changes often hands over single changes instead, by the methods of a
// [ChangeSink]: they cost the same however many pods it has.
//
// The Mux has no queue. Per source it keeps the newest pods, and of each that has changed the
// one that the consumer has read; [Mux.TakeAll] returns the difference. A slow consumer costs memory for the
// pods only, no source waits, and no change is lost.
//
//	handle := source.NewHandle()
//	mux, err := source.New(source.Config{Sources: map[string]source.Source{"api": handle}})
//	mux.SetWake(wakeTheLoop)
//	go mux.Run(ctx)
//	...
//	for _, update := range mux.TakeAll(nil) { ... }
//
// Pods of every source but "api" are static pods (podmanager.IsStaticPod). A host program
// that stands in for an API server registers its [Handle] under that name.
//
// # The contract
//
//   - [Mux.AllSeen] is true once the consumer has read the first snapshot of every source.
//   - [Mux.Complete] is true for a source that could read everything it has. Only a
//     complete source proves anything about pods that it does not mention.
//   - A source that fails or panics keeps its last snapshot and is started again after 1 s,
//     doubling to 20 s. Nothing is concluded from an error.
//   - Failed and rejected pods are reported once, not at every repetition.
package source
