// Package cluster joins a node to a Kubernetes API server (experimental). The node runs the pods that are
// bound to it, reports their statuses, creates mirror pods, registers itself, reports its status and renews
// its lease.
//
//	server, err := client.FromKubeconfig("node-1.kubeconfig", "node-1")
//	n, err := cluster.New(cluster.Config{Server: server, Node: node.Config{Name: "node-1"}})
//	...
//	err = n.Run(ctx)
//
// It composes syncloop/node with the packages below syncloop/cluster. Each of them can be used alone:
//
//	apiserver      the requests of a node, as interfaces
//	client         these requests with client-go; apiservertest: in memory, for tests
//	contact        the shared view of all loops whether the server answers
//	feed           list and watch; feed.Pods is the source of the node's pods
//	statussink     writes pod statuses
//	mirror         creates and deletes mirror pods
//	nodeagent      maintains the Node object and the lease
//
// # What a real node needs in addition
//
//   - Node.Capacity with cpu and memory. Otherwise schedulers bind no pod with requests to the node.
//   - Node.HostIPs or LocalIPs: client.LocalAddress returns one. Other machines cannot use 127.0.0.1.
//   - Port, and an http.Server with TLS for the Handler. Otherwise kubectl logs, exec, attach, cp and
//     port-forward do not work. The metrics server reads Config.ResourceMetrics for kubectl top.
//   - Volumes, for a runtime that is not in memory. Otherwise pods with volumes stay Pending, and nearly
//     every pod has a volume, the token of its service account.
//   - Node.Runtime, Node.LogRoot, Node.TerminalStatuses and Node.ContainerStates, for containers that
//     outlive the program. Node.DNS, for names of the cluster.
//
// examples/cluster has all of them.
//
// # The contract
//
//   - The node concludes nothing from an error or the silence of the API server. Pods keep running. A pod is
//     terminated only if its object was seen deleted, or is missing in a complete list.
//   - The node admits no pod of the API server before it is registered. Static pods need no API server.
//   - Admission uses the labels and taints of the Node object at the server. Pods get the addresses of the
//     Node object, unless Node.HostIPs is set.
//   - After an outage the first response to any request ends the pauses of all loops.
//   - When the context of Run is done, the node stops first, then its last statuses are sent, and only then
//     does the lease renewal stop. Containers keep running; Drain stops them.
//   - The node records events about pods and itself. When Run returns, queued events are written within
//     seconds, or dropped if the server does not answer.
//   - Containers have the environment variables of services, which one watch follows. No container of an API
//     server pod is created before the services were read once.
//   - Tokens in volumes are replaced after 80 % of their lifetime, or after a day, until the pod has
//     terminated.
//   - One watch follows each ConfigMap and Secret while a pod that refers to it is synced or terminates. A
//     change syncs these pods, so that their files are updated at once. During an outage the last known
//     objects are used.
package cluster
