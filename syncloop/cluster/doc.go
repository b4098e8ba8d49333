// Package cluster joins a node to a Kubernetes API server (experimental). The node runs the pods that are
// bound to it, reports their statuses, creates mirror pods, registers itself, reports its status and renews
// its lease.
//
//	server, err := client.FromKubeconfig("node-1.kubeconfig", "node-1")
//	n, err := cluster.New(cluster.Config{Server: server, Node: node.Config{Name: "node-1"}})
//	...
//	err = n.Run(ctx)
//
// Three things have similar names. A [Node] is a node that is joined to an API server. It contains a node.Node,
// which runs the pods. The Node object is the v1.Node at the API server.
//
// The package composes syncloop/node with the packages below syncloop/cluster. Each of them can be used alone:
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
// These are fields of [Config]; those that begin with Node are in Config.Node. examples/cluster sets all of them.
//
//   - Node.Scheduling.Capacity with cpu and memory. Otherwise schedulers bind no pod with requests to the node.
//   - LocalIPs or Node.Containers.HostIPs: client.LocalAddress returns an address. Other machines cannot use
//     127.0.0.1.
//   - Port, and an http.Server with TLS for the Handler. Otherwise kubectl logs, exec, attach, cp and
//     port-forward do not work. ResourceMetrics, for the metrics server and kubectl top.
//   - Volumes, for a runtime that is not in memory. Otherwise pods with volumes stay Pending, and nearly
//     every pod has a volume, the token of its service account. The Files that it returns add mounts to
//     containers: the hosts file and the termination message file. With nil Files containers have
//     only the mounts of their volumes.
//   - Node.Runtime, Node.Logs.Root, Node.Pods.TerminalStatuses and Node.Pods.ContainerStates, for containers
//     that outlive the program. Node.Containers.DNS, for names of the cluster.
//
// # The contract
//
//   - The node concludes nothing from an error or the silence of the API server. Pods keep running. The API
//     server makes the node terminate a pod only in these ways: a watch shows the pod with a deletion
//     timestamp or as deleted, or a complete list does not contain the pod.
//   - The node admits no pod of the API server before the server has returned the Node object. Static pods need
//     no API server.
//   - Admission uses the labels and taints of the Node object at the server. If the Node object existed before
//     the node, its taints stay and Node.Scheduling.Taints has no effect. Pods get the addresses of the Node
//     object, unless Node.Containers.HostIPs is set.
//   - After an outage the first answer of the server to any loop ends the pauses of all loops that wait for the
//     server. Responses such as 401, 403, 429, 500 and 503 end no pause; package contact has the rules.
//   - When the context of Run is done, the node stops first, then its last statuses are sent, and only then
//     does the lease renewal stop. Containers keep running; Drain stops them.
//   - The node records events about pods and itself. Before Run returns, it writes the queued events for at
//     most 3 s, and then drops the rest.
//   - Containers have the environment variables of services, which one watch follows. No container of an API
//     server pod is created before the services were read once.
//   - Tokens in volumes are replaced after 80 % of their lifetime or a day, whichever is earlier, until the pod
//     has terminated.
//   - One watch follows each ConfigMap and Secret, from the first sync of a pod that refers to it until the
//     last such pod has terminated. A change syncs these pods, so that their files are updated at once. During
//     an outage the last known objects are used.
//   - Pods, objects and tokens of the server are only in memory. A node that restarts during an outage leaves
//     the running containers of these pods as they are, without probes and restarts, until the server answers.
//     After a reboot the pods do not start before that.
package cluster
