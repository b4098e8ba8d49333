// Package podworkerstest runs podworkers as a simulation: production code, one thread, virtual
// time. A test drives it step by step. The whole lifecycle of a pod takes microseconds and is a
// fixed text; read the package's example first.
//
//	node := podworkerstest.NewStepper(podworkerstest.Config{})
//	defer node.Close()
//	node.Create(podworkerstest.Pod("web"))
//	node.Advance(time.Minute)
//	fmt.Print(node.Transcript())
//
// # Parts
//
//   - Stepper: workers whose clock the test moves, and whose random choices follow a seed. The
//     test can crash them at any step, and restart them.
//   - Syncer: a PodSyncer that follows scripts: take time, fail, panic, block, ignore its
//     context, call the workers.
//   - Cache: a status cache that answers, fails or hangs on request.
//   - Trace: the events, as lines for people and as values for programs.
//   - Rules: the invariants of every trace. Check names each event that violates one.
//   - Pod and its options: pods in one line.
//
// Syncer, Cache and Trace also work with goroutines, with the real clock or in a testing/synctest
// bubble. There two goroutines may add their events in another order than they acted. Rules are for
// simulations only.
//
// # How to read a transcript
//
//	0s       web  create v1                               an update
//	0s       web  SyncPod create v1 ...                   a call begins
//	1s       web  update v2                               another update meanwhile
//	3s       web  ... SyncPod create v1: ok, after 3s     the call returns
//	3s       web  SyncPod update v2: ok                   a call that took no time
//	2m1s     web  is terminating                          the pod's phase
//
// The first column is the time since the beginning. The second is the pod's UID, with the
// incarnation from the second one on (web#2). "v1" is the version of the pod's content (option
// Version), "within 30s" is a grace period.
//
// # A PodSyncer of your own
//
// Config.Syncer takes a function that makes it. It must wait by podworkers.Wait with the context of
// its call. A channel, a timer or time.Sleep blocks the only thread. With Config.T, a step that
// blocks for 20 s of real time fails the test and names the place. A shorter block takes no virtual
// time and is not detected. A panic fails the test, and a failed test logs the transcript.
package podworkerstest
