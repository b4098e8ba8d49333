// Package source merges any number of sources of pods into one stream of typed
// changes. A source (a directory, a URL, an API server, a host program) says
// only "this is everything I want"; the [Mux] works out what that means for the
// consumer: [ADD], [UPDATE], [DELETE], [REMOVE], [RECONCILE].
//
// Nothing is queued. The Mux keeps, per source, the snapshot the consumer has
// taken and the newest one, and [Mux.TakeAll] is their difference. So the consumer
// may be as slow as it likes: memory is bounded by the number of pods, no source
// ever waits, and no change can be lost.
//
//	handle := source.NewHandle()
//	mux, err := source.New(source.Config{Sources: map[string]source.Source{"api": handle}})
//	mux.SetWake(wakeTheLoop)
//	go mux.Run(ctx)
//	...
//	for _, update := range mux.TakeAll() { ... }
//
// Pods of every source but "api" are static pods (podmanager.IsStaticPod). A
// host program that stands in for an API server registers its [Handle] under
// that name.
//
// # Statements kept
//
// CF-1 to CF-9 of the config sources: see internal/merge for CF-1 to CF-8.
//
//   - CF-5: sources send full snapshots only.
//   - CF-9: [Mux.AllSeen] is true once the consumer has taken the first snapshot
//     of every registered source.
//   - I47: nothing is concluded from an error. A source that fails keeps its last
//     snapshot and is started again, after 1 s, doubling to 20 s.
//   - I50: a panic of a source is such a failure, of that source alone.
//
// # Differences from the kubelet
//
//   - The consumer takes; it is not sent to. The kubelet's channel of 50 blocks
//     the sources, and with them the watch of the API server, while its loop is
//     busy.
//   - Readiness is also told per source, with completeness ([Mux.Complete]): a
//     source that could not read a part of what it has, and has no last good
//     version of it, is heard but authorises no conclusion about pods it does
//     not mention (kubernetes/kubernetes#112814).
//   - A pod that is being updated is delivered whole, with all of its metadata.
//     The kubelet copies the compared fields into the old object and keeps the
//     rest of it, so owner references or finalizers stay as first seen.
//   - A pod that left and came back between two takes is a REMOVE and an ADD.
//   - Failed and rejected things are reported once, not at every repetition.
//   - There is no check of full names across sources here either (CF-6): which of
//     two pods runs is decided where pods start.
package source
