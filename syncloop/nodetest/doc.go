// Package nodetest simulates whole nodes in one thread, with virtual time and a seed. The seed decides
// everything that depends on chance in a real node, for example the order of concurrent calls. So a seed
// reproduces a bug. An hour in the life of a pod takes milliseconds.
//
//	s := nodetest.New(t, nodetest.Config{Seed: 1})
//	s.Apply(podtest.Pod("web").Container("c").Build(t))
//	s.Run(10 * time.Second)
//	s.AssertStatus("web", "1/1 Running restarts=0")
//	fmt.Print(s.Transcript())
//
// The simulated node is the one of package node, on the in-memory runtime. Only the code that starts
// goroutines and waits is replaced. Live runs the same node with goroutines in a synctest bubble,
// and its transcript is equal.
//
// RunUntil runs until a condition holds. Time also passes while the test makes a call that waits, such as
// Drain. AddNode adds nodes with the same clock. Config.Runtime sets a runtime of the test. Such a runtime,
// and a PodSyncer of the test, waits with podworkers.Wait. Nodes that still run at the end of the test
// are stopped. Failures name the line of the test, and a failed test logs the transcript. With the test
// flag -timeline DIR a failed test also saves a drawing of its pods in DIR, which a browser shows:
//
//	go test -run TestWeb . -timeline /tmp/drawings
//
// A relative DIR is below the directory of the package. The flag exists only in test binaries that import
// this package.
//
// A test can crash a node at any step. Crash discards the node as SIGKILL would: each running call to the
// runtime is cut off before or after its effect, while the runtime and its containers continue. Start
// starts another node with the same desired pods. RestartWithStatuses starts one whose desired pods have
// their last statuses, as beside an API server that has stored the statuses. A crash cuts off a
// StopContainer as with containerd: a container that ignores TERM runs on until the next node stops it, with a
// new grace period.
//
// Apply of a copy with a DeletionTimestamp is a deletion at an API server. The pod stays desired, and the
// next node continues the deletion, as an example of Simulation shows. Delete makes the pod undesired, as a source
// does that delivers it no longer. The next node kills such a pod after PodsConfig.OrphanGrace, which is
// 30 s by default. An Evict or Drain that has not ended at a crash is forgotten. The next node runs the
// pod.
//
// The transcript has a call at the time at which it returns. A call that a crash cuts off has the time of
// the crash and an error. A crashed node reports no event, no status and no timeline record.
//
// A wrapper of Config.Wrap has the method Features and returns the features of the inner runtime, or
// changed ones. Without this method a pod with an exec probe is rejected. Each started node gets a new
// wrapper, so state that a crash must not lose lies outside the wrapper.
//
// After every call to the runtime and every status, the harness checks invariants, and fails the test if
// one is violated (see Check): the order of init containers, restart policies, preStop hooks, that a
// rejected pod gets no sandbox, and that shared pods and statuses are not modified. Without
// Config.Wrap, which may delay calls or make them fail, it also checks times: grace periods, the order in
// which sidecars stop, deadlines and probes.
package nodetest
