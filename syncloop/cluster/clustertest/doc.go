// Package clustertest joins simulated nodes to the API server of a test (experimental). It works with
// envtest, kind, a real cluster, and an apiservertest.Server in memory.
//
//	nodes := clustertest.StartNodes(t, restConfig, 3)
//	// Pods that the test or its operator creates now run, restart, become ready and terminate.
//
// The nodes are real joined nodes of package cluster. Their containers are in memory and follow the scripts of
// package podtest. At the end of the test the nodes stop, and no goroutine or connection is left.
//
//   - The nodes are registered and Ready when StartNodes returns.
//   - The nodes use the credentials of the configuration. Its user may do what a node and a scheduler do: an
//     administrator, such as the user of envtest.
//   - If no scheduler holds the lease kube-system/kube-scheduler, StartNodes binds pods: the node with the fewest pods
//     that fits, by the rules of node.Scheduling. A pod that fits on no node gets the condition PodScheduled with
//     the reasons. A pod with another scheduler name or with scheduling gates is not bound.
//   - Without controllers, the not-ready taint of a new node stays. StartNodes binds pods in spite of it.
//   - Stop and Start of a Node restart the agent of the node while its containers keep running. Lose stops the agent
//     and reports what the control plane reports after 40 s.
//
// # Virtual time
//
// With the transport of an apiservertest.Server everything happens in one process. In a testing/synctest bubble an
// hour takes milliseconds. Each node sees only its own pods there, as with the node authorizer:
//
//	server := apiservertest.New(apiservertest.Config{})
//	restConfig := &rest.Config{Host: "http://memory", Transport: server.RoundTripper(), QPS: -1}
//
// A test needs only a testing.TB, so that GinkgoTB() works too.
package clustertest
