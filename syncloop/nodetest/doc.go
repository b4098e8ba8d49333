// Package nodetest puts a whole simulated node: one thread, virtual time,
// and a seed that decides every choice the real world would leave to chance.
// Lifecycle logic can be tested step by step, an hour of a pod's life takes
// milliseconds, and a seed is a bug report.
//
//	b := nodetest.New(t, nodetest.Config{Seed: 1})
//	b.Apply(pod)
//	b.Run(10 * time.Second)
//	fmt.Print(b.Transcript())
//
// The node is the one of package node, not a model of it: the same shells, the
// same pure packages, on the in-memory runtime. Only the seam is another
// (internal/executor). Live runs the same world under goroutines in a synctest
// bubble, and gives the same transcript.
//
// Time also passes until something is so (RunUntil), and while the test makes a
// call that waits, such as Drain. Pods are found by name (Pod, Status), and asserted
// in one line (AssertStatus, AssertPhase). AddNode puts more nodes on the same
// clock. A test that forgets to stop a node fails, and one that has failed logs the
// transcript. The runtime may be yours: Config.Runtime says what it may do.
//
// A crash can be placed at any step: Crash throws away the node as SIGKILL
// would, with every call to the runtime cut before or after it took effect,
// while the runtime and its containers live on; Start brings up another node,
// which is told what the last one was told to want.
//
// While a harness runs, it checks after every call to the runtime that what it
// did keeps the invariants (see Check), and of every status that it sees that
// the status invariant checker of package status allows it. It fails the test otherwise.
// What it checks of a call is what the pod's spec asks for: turns, policies and
// hooks (I29, I30, I32), and that a pod that was refused gets nothing. Without a
// Config.Wrap, who may hold calls up or make them fail, it checks times too: graces
// that only get shorter, the order in which sidecars stop, deadlines, startup
// probes, and that what has ended is not probed (I6, I29, I33).
package nodetest
