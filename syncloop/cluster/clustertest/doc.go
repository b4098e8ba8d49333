// Package clustertest joins simulated nodes to the API server of a test (experimental). It works with
// envtest, kind, a real cluster, and the in-memory server of syncloop/cluster/apiservertest.
//
//	nodes := clustertest.StartNodes(t, restConfig, 3)
//	// Pods that the test or its operator creates now run, restart, become ready and terminate.
//
// The nodes are joined nodes of package cluster. Their containers are in memory and follow the scripts of package
// podtest. At the end of the test the nodes stop, and no goroutine or connection is left.
//
//   - The nodes are registered and Ready when StartNodes returns.
//   - The nodes use the credentials of the configuration. Its user may do what a node and a scheduler do: an
//     administrator, such as the user of envtest.
//   - If no scheduler holds the lease kube-system/kube-scheduler, Start binds pods: the node with the fewest pods
//     that fits, by the rules of node.Scheduling. A pod with requests or limits waits until that node counts the pod
//     bound before, so many such pods are bound in waves of one per node. A pod that fits on no node gets PodScheduled
//     with the reasons. A pod with another scheduler name or with scheduling gates is not bound. To test a scheduler
//     with the default name, set Config.Binding to BindNever.
//   - If no controller manager holds its lease, the taints of the nodes follow their conditions. With Config.Tainting
//     TaintNever, the not-ready taint of a new node stays.
//   - A node that joins later is a second Start with another Prefix. Each Start binds pods to its own nodes only.
//
// # Virtual time
//
// With the transport of an apiservertest.Server, an hour takes milliseconds in a testing/synctest bubble. Each node
// sees only its own pods there, as with the node authorizer. Start all parts inside the bubble, because it has its own
// goroutines and clock. In this order, the cleanups stop the nodes before the operator:
//
//	synctest.Test(t, func(t *testing.T) {
//		server := apiservertest.New(apiservertest.Config{Resources: myCustomResources})
//		restConfig := &rest.Config{Host: "http://memory", Transport: server.RoundTripper(), QPS: -1} // no rate limiter
//		startManager(t, restConfig) // See apiserver_test.go of examples/operatortest.
//		nodes := clustertest.StartNodes(t, restConfig, 3)
//		time.Sleep(10 * time.Minute)
//	})
//
// Each goroutine of a bubble must end, or synctest panics with "deadlock: main bubble goroutine has exited". A program
// with client-go cancels its context, waits for its goroutines, and calls Shutdown of its informer factories and event
// broadcasters and ShutDown of its queues. An idle HTTP client needs no close: RoundTripper has no connections.
// client-go names an event by its object and the time: a second one at the same instant is lost. A rate limiter changes
// the times of a test: QPS -1 switches it off. After an error of an informer client-go waits by a time that all tests
// share, in a bubble for decades: set utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] in TestMain.
//
// The module examples/operatortest has an operator and a scheduler with such tests. A test needs only a testing.TB, so
// that GinkgoTB() works too. But synctest.Test needs a *testing.T, so Ginkgo specs run in real time.
//
// # Faults
//
//	call of a Node         API objects                              containers
//	Stop                   no change; the lease is not renewed      keep running, as after a crash of the agent
//	Lose                   as 40 s after the last heartbeat         keep running, as in a partition
//	EvictPods after Lose   pods are deleted, as after 300 s         keep running
//	Machine().LoseAll()    no change while the agent is stopped     gone: after Stop or Lose, a power cut
//	Start                  the node and its pods report again       are adopted; lost ones start again
//
// The pods of EvictPods are Terminating until Start, or until the test deletes them with grace period zero. Until then a
// replacement needs another name.
//
//   - A node that a client deletes while its agent runs registers again. A kubelet does not. Stop the node first.
//   - nodes.Node("node-0").Cluster().Node() is the running node. Its Evict fails one pod as under memory pressure.
//     Evictions that follow from the usage of the pods need nodetest.Pressure in Config.Configure.
//   - To fill a node, create pods with podtest.Requests that are bound to it (podtest.Pod(name).Node("node-0")), or set
//     a small Node.Scheduling.Capacity in Config.Configure. Capacity["nvidia.com/gpu"] adds an extended resource: the
//     node counts it for podtest.Limits("nvidia.com/gpu=1"), without a device. Pods with resourceClaims are rejected.
//   - With Node.Statuses.SendDelay in Config.Configure a node skips statuses, as readers of a real node can miss them.
//     An operator that reads only State.Terminated then misses an exit. Inject of the server delays requests instead:
//     apiservertest.Fault{Verb: "patch", Resource: "pods/status", Latency: time.Second}.
//
// # Scripts
//
// The scripts are annotations of a pod. A replacement with the annotations of the old pod repeats the fault. SetScript
// of a Machine, the runtime of one node, has precedence at later starts. A call without runs removes the script:
//
//	web := memory.Selector{Namespace: "default", Container: "web"} // Name selects one pod.
//	nodes.Node("node-0").Machine().SetScript(web, memory.Script{Runs: []memory.Run{{Exit: 1}}})
//	nodes.Node("node-0").Machine().SetScript(web, memory.Script{})
//
// To let a running container crash, call SetScript and then Machine().ExitContainer with its ID, without the scheme:
//
//	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
//	err := nodes.Node(pod.Spec.NodeName).Machine().ExitContainer(id, 1)
package clustertest
