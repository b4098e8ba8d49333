// Package runtimetest checks that an implementation of runtime.Runtime keeps the promises of that
// package. They are the promises of its doc.go and of every method comment. Each promise is a named
// case.
//
//	func TestRuntime(t *testing.T) {
//		runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
//			return runtimetest.Harness{Runtime: myruntime.New(…), Image: "busybox", MissingImage: "nowhere.invalid/none"}
//		})
//	}
//
// Cases wait on the harness's clock, so the suite takes its time on a real runtime and none
// in virtual time: RunInBubble runs it in testing/synctest bubbles, and a Case can run in a
// simulated node.
//
// A correct runtime does not fail because it is slow. A container that gets TERM has
// reported before that it listens: see Harness.Ready. A call that does not return fails its
// case after Harness.CallTimeout, with its method, request and time; the pods of that case
// are left behind. Every failure names the broken promise.
//
// Every case makes pods of its own, with unique UIDs, and removes them at its end. It
// touches no other pod. image/remove removes the harness's image.
//
// Each case is tested too: this package's own tests run the suite against runtimes that
// each break one promise, and hold the list of cases that notice.
//
// Not checked, because it is not visible from outside or not on every machine: speed, resources, mounts,
// security, DNS and labels of a request, and what happens while a runtime is down. A runtime that cannot
// pass a case declares that, with the reason, in Harness.Skip: memory does so for container/env,
// container/working-dir, stop/signal and stop/descendants, as its containers run nothing, and containerd
// 1.6 for stop/signal. Cases of an optional feature that the runtime lacks are skipped, and so are those
// that need what the harness lacks: Answers, NoImages, or a way to restart the agent (Reopen).
//
//	runtime                                 required cases   events      exec, stats, update   probe and hook handlers
//	memory                                  pass             pass        pass                  pass
//	cri, in-process gRPC server             pass             pass        pass                  none
//	cri, containerd 2.4.2                   pass             pass        pass                  none
//	cri, containerd 1.6                     pass             no stream   pass                  none
//
// go test ./runtime/cri runs the last three rows, those with containerd on machines with
// root and a containerd.
package runtimetest
