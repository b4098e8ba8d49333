// Package podworkerstest runs podworkers in a simulation: the production code, on
// one thread and a clock of its own, driven step by step. A pod's whole life
// takes microseconds and is a fixed text; read the package's example first.
//
//	node := podworkerstest.NewStepper(podworkerstest.Config{})
//	defer node.Close()
//	node.Create(podworkerstest.Pod("web"))
//	node.Advance(time.Minute)
//	fmt.Print(node.Transcript())
//
// # What is in it
//
//   - Stepper: workers whose time moves when you say so, and whose chances are
//     decided by a seed. It can be crashed, at any step, and restarted.
//   - Syncer: a PodSyncer that does what scripts say: take its time, fail, panic,
//     block, ignore its context, call back.
//   - Cache: a status cache that shows, fails or hangs as it is told.
//   - Trace: what happened, as lines for people and as events for programs.
//   - Rules: what every trace keeps; Check names each line that breaks one.
//   - Pod and its options: pods in one line.
//
// Syncer, Cache and Trace also work among goroutines, with the real clock or
// in a testing/synctest bubble. There a Trace's lines may be in another order
// than what they tell of, where two goroutines are concerned; Rules are for
// simulations.
//
// # To read a transcript
//
//	0s       web  create v1                               the workers were told
//	0s       web  SyncPod create v1 ...                   a call begins
//	1s       web  update v2                               meanwhile
//	3s       web  ... SyncPod create v1: ok, after 3s     it returns
//	3s       web  SyncPod update v2: ok                   a call that took no time
//	2m1s     web  is terminating                          the pod's phase
//
// The first column is the time since the beginning, the second the pod's UID,
// with the number of its life from the second life on (web#2). "v1" is the
// content's version (option Version), "within 30s" a grace.
//
// # To test a PodSyncer of your own
//
// Config.Syncer takes a function that makes it. It waits by podworkers.Wait with
// the context of its call, or not at all; a channel, a timer of any clock or
// time.Sleep stops the only thread there is. With Config.T a stop of 20 s of real time
// fails the test and says where; a shorter one, or a Wait with another context, takes no
// virtual time and goes unnoticed. A panic fails the test too, which the workers
// themselves would survive; and a test that has failed logs the transcript.
package podworkerstest
