// Package runtimetest checks that an implementation of runtime.Runtime keeps
// the promises of that package: those of its doc.go and those of every method
// comment. Each promise is a named case.
//
//	func TestRuntime(t *testing.T) {
//		runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
//			return runtimetest.Harness{Runtime: myruntime.New(…), Image: "busybox", MissingImage: "nowhere.invalid/none"}
//		})
//	}
//
// Cases wait through the harness's clock, so the same suite takes its time on
// a real runtime and none on one that lives in virtual time: RunInBubble runs
// it in testing/synctest bubbles, and a Case can be run as a coroutine of a
// simulated node.
//
// No case accuses a correct runtime of being slow. A container that is sent TERM
// has said before that it listens: see Harness.Ready for how, and for what
// happens where a runtime shows neither logs nor files. A call that does not
// return fails its case after Harness.CallTimeout, with its method, request and
// time; it is left behind, and so are the pods of that case. In a synctest bubble
// that ends with the bubble's own complaint about a goroutine that is left. Every
// failure says which promise is broken.
//
// Every case makes pods of its own, with UIDs that nobody else uses, and
// removes them at its end. It looks at no other pod, so the machine under the
// runtime may be in use. Images are the exception: image/remove removes the
// harness's image.
//
// That each case can fail is tested too: this package's own tests run the
// suite against a table of runtimes that each break one promise, and hold the
// list of cases that notice.
//
// Not checked, because it cannot be seen from outside or not on every machine:
// that calls are quick, that resources, mounts, security and DNS of a request
// are obeyed, and what happens while a runtime is down. Labels are not checked
// either, as no record shows them. The cases of a feature that the runtime lacks are
// skipped, and so are those that need what the harness does not have: Answers, or
// a way to end the agent (Reopen).
package runtimetest
