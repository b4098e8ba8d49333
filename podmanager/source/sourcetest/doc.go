// Package sourcetest checks that an implementation of source.Source keeps the promises
// of that interface. Each promise is a named case.
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
// A case puts pods where the source reads them, as their author would, runs the source
// with a sink of its own, and checks the snapshots that arrive. A source may change the
// names of pods and add to them; it has to keep UIDs that are given, and the image of
// each container.
//
// The cases of unreadable input are skipped if the harness has no Break. RunInBubble runs
// each case in a testing/synctest bubble, for sources that wait on a clock in memory.
//
// Every case can fail: this package's own tests run the suite against sources that each
// break one promise.
//
// Not checked: how soon a change is noticed, within Harness.Timeout.
package sourcetest
