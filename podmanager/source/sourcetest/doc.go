// Package sourcetest checks that an implementation of source.Source keeps the contract. Each
// promise of the contract is a named case.
//
//	func TestSource(t *testing.T) {
//		sourcetest.Run(t, func(t *testing.T) sourcetest.Harness {
//			dir := t.TempDir()
//			return sourcetest.Harness{
//				Source: mysource.New(dir),
//				Set:    func(pods []*v1.Pod) error { return write(dir, pods) },
//				Break:  func() error { return writeGarbage(dir) },
//			}
//		})
//	}
//
// A case writes pods to the source's input, as a user would, runs the source with a sink of its
// own, and checks the snapshots that arrive. A source may change the names of pods and add fields.
// It must keep given UIDs, and the image of each container.
//
// The cases of unreadable input are skipped if the harness has no Break. RunInBubble runs each case
// in a testing/synctest bubble, for sources that wait on an in-memory clock.
//
// The tests of this package run the cases against sources that each break one promise, so every
// case can fail.
//
// Not checked: how soon a source detects a change, within Harness.Timeout.
package sourcetest
