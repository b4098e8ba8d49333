// Package podsyncertest checks that a podworkers.PodSyncer keeps the contract that the workers rely
// on. It may be an implementation of yours, or package podsync.
//
//	func TestSyncer(t *testing.T) {
//		podsyncertest.Run(t, func(t *testing.T) podsyncertest.Harness {
//			rt := myruntime.New(t.TempDir())
//			return podsyncertest.Harness{Syncer: mysyncer.New(rt), Runtime: rt}
//		})
//	}
//
// Each case has a name, a promise and a harness of its own. It calls the syncer as Workers do:
// never twice at once for one UID, each time with a status that was observed after the previous
// call, and again after an error, with a pause. The pods are in namespace "podsyncertest" and have
// one container, "main". A case that needs more than Syncer and Runtime is skipped if the harness
// does not have it.
//
// A case waits by podworkers.Wait, and with timeouts of contexts. In a bubble of testing/synctest,
// with a syncer and a runtime on the real clock, no case takes time.
package podsyncertest
