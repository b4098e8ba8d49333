// Package operatortest is an operator with a custom resource, and its tests: nine situations that most operators meet,
// each in at most 15 lines (situations_test.go).
//
// Each test runs three times, with the same body:
//
//   - TestInMemory: controller-runtime's manager at an API server in memory, with two nodes, in virtual time. Minutes in
//     the life of a pod take milliseconds. It needs no program.
//   - TestAPIServer: the same at a real API server of envtest. It needs etcd and kube-apiserver in the directory
//     KUBEBUILDER_ASSETS, and is skipped without. Time is real.
//   - TestSimulation: the reconciler, called by the test, with the fake client of controller-runtime and two nodes of
//     nodetest. It is repeatable step by step, because one thread runs everything.
//
// Two tests need no operator and no controller-runtime. nodes_test.go has two nodes at an API server in memory, a crash
// loop and a lost node. scheduler_test.go has a scheduler with client-go, a gang of three pods, and a node that joins later.
//
// Further tests of an operator in memory: events_test.go has event recorders, gpus_test.go nodes with GPUs and pods that
// complete. figures_test.go measures 1,000 pods on 50 nodes: 6 s of processor until all are ready.
//
// newAPIEnv in apiserver_test.go has the order: the server, the manager and then the nodes, all inside of synctest.Test.
// clients_test.go has typed clients of client-go and server-side apply. The comment of package apiservertest lists what
// the server in memory does not do.
//
// A Ginkgo suite uses the same helpers with GinkgoTB (ginkgo_test.go). Its specs run in real time, because a bubble of
// testing/synctest needs a *testing.T.
//
// The directory is a module of its own, so that Podkeel does not depend on controller-runtime and Ginkgo:
//
//	cd examples/operatortest && go test ./...
package operatortest
