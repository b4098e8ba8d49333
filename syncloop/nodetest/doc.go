// Package nodetest simulates whole nodes: one thread, virtual time, and a seed. The seed decides every
// choice that the real world would leave to chance. An hour of a pod takes milliseconds, and a seed
// reproduces a bug.
//
//	s := nodetest.New(t, nodetest.Config{Seed: 1})
//	s.Apply(pod)
//	s.Run(10 * time.Second)
//	s.AssertStatus("web", "1/1 Running restarts=0")
//	fmt.Print(s.Transcript())
//
// The node is that of package node, not a model of it, on the in-memory runtime; only the
// executor differs. Live runs the same harness with goroutines in a synctest bubble, and
// gives the same transcript.
//
// RunUntil runs until a condition holds. Time also passes while the test makes a call that
// waits, such as Drain. AddNode adds nodes on the same clock. Config.Runtime brings a
// runtime of yours, which waits with podworkers.Wait, as a PodSyncer does. The end of the
// test stops nodes that run then. Failures name the line of the test, and a failed test logs
// the transcript. With the test flag -timeline DIR it also saves a drawing of its pods there,
// which a browser shows:
//
//	go test -run TestWeb . -timeline /tmp/drawings
//
// A relative DIR is below the directory of the package. The flag exists in test binaries that
// import this package only.
//
// A crash can be placed at any step: Crash discards the node as SIGKILL would, with every
// call to the runtime cut before or after its effect, while the runtime and its containers
// live on. Start brings up another node with the same desired pods, and RestartWithStatuses
// one beside an API server that kept their last statuses.
//
// The harness checks the invariants after every call to the runtime and of every status
// (see Check), and fails the test if one is broken: the order of init containers, policies,
// preStop hooks, that a rejected pod gets nothing, and that pods and statuses which the parts
// of the node share are not modified. Without Config.Wrap, which may delay
// calls or make them fail, it also checks times: grace periods, the order in which sidecars
// stop, deadlines and probes.
package nodetest
