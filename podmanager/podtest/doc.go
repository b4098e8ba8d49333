// Package podtest builds pods for tests (experimental). The pods follow scripts of the in-memory runtime, which
// are Go values here.
//
//	pod := podtest.Pod("web").
//		Container("c", podtest.Runs(90*time.Second), podtest.Exits(1)).
//		Probe(podtest.Readiness, podtest.FailsFor(30*time.Second)).
//		Build(t)
//
// The pod runs on each node with package memory as its runtime: a simulation of nodetest, a node of package
// clustertest at any API server, or a node of the test. Any other node runs it too, and ignores the scripts.
//
// # Scripts
//
// The options of Container describe the first start of the container, and each Then describes the next one. The
// last start repeats. A container without options runs until it is stopped. A container with Exits and without
// Runs exits at once.
//
//	podtest.Container("c", podtest.FailsToPull(), podtest.Then(podtest.Runs(time.Minute), podtest.IsOOMKilled()))
//
// A container whose memory grows above its limit is killed, as by the kernel:
//
//	podtest.Container("c", podtest.Limits("memory=64Mi"), podtest.UsesMemory(5*time.Second, "1Gi"))
//
// Each option is a word of a script. memory.ParseScript lists the words. The scripts are annotations of the pod. A
// replacement that copies the annotations repeats the fault. For a fault on one node only, or until the test removes it,
// use memory.Runtime.SetScript of that node, which has precedence.
//
// Probes and hooks succeed, unless their options say otherwise. The options of Probe and Hook describe periods
// since the start of the container. After the last period every call succeeds.
//
// # Defaults
//
// A pod has the namespace "default". Its UID is its name, or NAMESPACE_NAME in another namespace, so that a test
// without an API server can name the pod by it. An API server sets a UID of its own. The image of a container is
// its name with the tag 1. Build sets no other defaults, because nodes and API servers set them.
//
// # Faults
//
// Build fails the test with one sentence for each fault: a script for a container that the pod does not have, a
// script annotation that cannot be parsed, a malformed quantity, a probe before the first container. Object
// returns these faults as an error. Build needs only a testing.TB, so that GinkgoTB() works too.
//
// # Why this package
//
// The builders are not in package nodetest, because a pod needs no node: a test with an API server compiles half
// as many packages without one. They are not in package memory, because a pod has more than scripts.
package podtest
