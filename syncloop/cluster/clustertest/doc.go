// Package clustertest joins simulated nodes to the API server of a test (experimental). It works with
// envtest, kind, a real cluster, and the in-memory server of syncloop/cluster/apiservertest.
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
//   - If no scheduler holds the lease kube-system/kube-scheduler, Start binds pods: the node with the fewest pods
//     that fits, by the rules of node.Scheduling. A pod that fits on no node gets the condition PodScheduled with
//     the reasons. A pod with another scheduler name or with scheduling gates is not bound. To test a scheduler
//     with the default name, set Config.Binding to BindNever.
//   - If no controller manager holds its lease, the taints of the nodes follow their conditions, as the node
//     lifecycle controller does it. With Config.Tainting TaintNever, the not-ready taint of a new node stays.
//   - A node that joins later is a second Start with another Prefix. Each Start binds pods to its own nodes only.
//
// # Virtual time
//
// With the transport of an apiservertest.Server everything happens in one process. In a testing/synctest bubble an
// hour takes milliseconds. Each node sees only its own pods there, as with the node authorizer. Start the server,
// the operator and the nodes inside the bubble, because a bubble has its own goroutines and clock. In this order, the
// cleanups stop the nodes before the operator:
//
//	synctest.Test(t, func(t *testing.T) {
//		server := apiservertest.New(apiservertest.Config{Resources: myCustomResources})
//		restConfig := &rest.Config{Host: "http://memory", Transport: server.RoundTripper(), QPS: -1}
//		startManager(t, restConfig) // Its cleanup cancels the manager and waits for it.
//		nodes := clustertest.StartNodes(t, restConfig, 3)
//		createMyResource(t, restConfig)
//		time.Sleep(10 * time.Minute)
//	})
//
// QPS -1 switches the rate limiter of client-go off. The default limiter allows a burst of 10 requests and then 5 per
// second. Its waits take virtual time, so that times of a test change.
//
// Each goroutine of a bubble must end, or synctest panics with "deadlock: main bubble goroutine has exited". A program
// with client-go cancels its context, waits for its own goroutines, and calls Shutdown of its informer factories and
// event broadcasters and ShutDown of its queues. client-go names an event by its object and the time: in a bubble, the
// second event of an object at the same instant gets AlreadyExists and is lost. After an error of an informer client-go
// waits by a time that all tests share, which is decades in a bubble after an error outside of it: set
// utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] in TestMain.
//
// The module examples/operatortest is a complete operator with such tests, and has a test of a scheduler. A test needs
// only a testing.TB, so that GinkgoTB() works too. But synctest.Test needs a *testing.T, so Ginkgo specs with these
// nodes run in real time.
//
// # Faults
//
//   - Stop and Start of a Node restart its agent while its containers keep running. Lose also reports what a
//     control plane reports after 40 s. EvictPods deletes the pods, as the control plane does after 300 s. A lost
//     node comes back with Start.
//     Machine().LoseAll() between Stop and Start is the restart of a machine: its containers are gone.
//   - A node that a client deletes while its agent runs registers again. A kubelet does not. Stop the node first.
//   - nodes.Node("node-0").Cluster().Node() is the running node. Its Evict fails one pod as under memory pressure.
//     Evictions that follow from the usage of the pods need nodetest.Pressure in Config.Configure.
//   - To fill a node, create pods with podtest.Requests that are bound to it (podtest.Pod(name).Node("node-0")), or set
//     a small Node.Scheduling.Capacity in Config.Configure. Capacity["nvidia.com/gpu"] adds an extended resource: the
//     node counts it for podtest.Limits("nvidia.com/gpu=1"), and the containers get no devices.
//   - Node.Statuses.SendDelay in Config.Configure lets the node skip statuses, because readers of a real node can miss
//     them. An operator that reads only State.Terminated then misses the exit of a container that starts again.
//
// # Scripts
//
// The scripts are annotations of a pod. A replacement with the annotations of the old pod repeats the fault. Machine is
// the runtime of one node, and its SetScript has precedence over annotations, at later starts of a container. These
// containers fail on node-0 only, until a second call without runs removes the script:
//
//	web := memory.Selector{Namespace: "default", Container: "web"} // Name selects one pod.
//	nodes.Node("node-0").Machine().SetScript(web, memory.Script{Runs: []memory.Run{{Exit: 1}}})
//	// The first pods have failed.
//	nodes.Node("node-0").Machine().SetScript(web, memory.Script{})
//
// To let a running container crash, call SetScript and then Machine().ExitContainer with its ID, without the scheme:
//
//	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
//	err := nodes.Node(pod.Spec.NodeName).Machine().ExitContainer(id, 1)
package clustertest
