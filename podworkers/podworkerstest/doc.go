// Package podworkerstest runs podworkers as a simulation: the production code, on one thread and in
// virtual time. A test drives it step by step. The whole life of a pod takes microseconds and is a
// fixed text; read the package's example first.
//
//	node := podworkerstest.NewStepper(podworkerstest.Config{})
//	defer node.Close()
//	node.Create(podworkerstest.Pod("web"))
//	node.Advance(time.Minute)
//	fmt.Print(node.Transcript())
//
// # What it has
//
//   - Stepper: workers whose time moves when the test says so, and whose random choices
//     follow a seed. It can be crashed at any step, and restarted.
//   - Syncer: a PodSyncer that follows scripts: take time, fail, panic, block, ignore its
//     context, call back.
//   - Cache: a status cache that answers, fails or hangs on request.
//   - Trace: what happened, as lines for people and as events for programs.
//   - Rules: the invariants of every trace; Check names each line that breaks one.
//   - Pod and its options: pods in one line.
//
// Syncer, Cache and Trace also work with goroutines, with the real clock or in a
// testing/synctest bubble. There the lines of two goroutines may be in another order than
// what they describe; Rules are for simulations.
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
// incarnation from the second one on (web#2). "v1" is the content's version (option
// Version), "within 30s" a grace period.
//
// # A PodSyncer of your own
//
// Config.Syncer takes a function that makes it. It waits by podworkers.Wait with the
// context of its call, or not at all: a channel, a timer or time.Sleep stops the only
// thread. With Config.T, a stop of 20 s of real time fails the test and names the place; a
// shorter one takes no virtual time and is not noticed. A panic fails the test, and a
// failed test logs the transcript.
package podworkerstest
