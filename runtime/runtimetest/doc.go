// Package runtimetest checks an implementation of runtime.Runtime. The guarantees are
// in the package comment of runtime and in every method comment. Each guarantee is one named case.
//
//	func TestRuntime(t *testing.T) {
//		runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
//			return runtimetest.Harness{Runtime: myruntime.New(…), Image: "busybox", MissingImage: "nowhere.invalid/none"}
//		})
//	}
//
// Cases wait on the clock of the harness. The suite takes minutes on a real runtime and no time in
// virtual time: RunInBubble runs it in testing/synctest bubbles, and a Case can run in a simulated
// node.
//
// A correct runtime does not fail because it is slow. A case sends TERM to a container only after
// the container has reported that its traps are set: see Harness.Ready. A call that does not return
// fails its case after Harness.CallTimeout. The failure names the method, the request and the time,
// and the pods of that case are not removed. Every failure ends with the promise of its case.
//
// Every case creates its own pods, with unique UIDs, and removes them at its end. It changes no
// other pod. image/remove removes the image of the harness.
//
// Each case is tested too: the tests of this package run the suite against runtimes that break one
// guarantee each, and list the cases that must fail.
//
// The suite does not check what no call shows or not every machine has: speed, resources, mounts,
// security, DNS and labels of a request, and a runtime that is down. If a runtime cannot pass a
// case, Harness.Skip names the case and the reason. memory skips container/env,
// container/working-dir, stop/signal and stop/descendants, because its containers run no programs.
// containerd 1.6 skips stop/signal. Cases of an optional feature that the runtime lacks are
// skipped. So are cases for which the harness lacks a field: HandlerAnnotations, NoImages or
// Reopen. Set Reopen if the backend outlives the agent: only the cases reopen/... check that the
// next agent finds the records and the running containers. go test -v shows the skipped cases.
//
//	runtime                                 required cases   events      exec, stats, update   probe and hook handlers
//	memory                                  pass             pass        pass                  pass
//	cri, in-process gRPC server             pass             pass        pass                  none
//	cri, containerd 2.4.2                   pass             pass        pass                  none
//	cri, containerd 1.6                     pass             no stream   pass                  none
//
// go test ./runtime/cri runs the last three rows. It needs root and a containerd for the last two.
package runtimetest
