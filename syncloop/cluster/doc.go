// Package cluster joins a node to a Kubernetes API server (experimental). Pods that are bound to it
// run, their statuses and mirror pods go back, and the node registers, reports its status and renews
// its lease.
//
//	server, err := client.FromKubeconfig("node-1.kubeconfig", "node-1")
//	n, err := cluster.New(cluster.Config{Server: server, Node: node.Config{Name: "node-1"}})
//	...
//	err = n.Run(ctx)
//
// It is a composition of syncloop/node and the packages below syncloop/cluster/apiserver, each of
// which can be used alone.
//
// # What a real node needs beside
//
//   - Node.Capacity with cpu and memory: without them schedulers give the node no pod that
//     requests some.
//   - Node.HostIPs, or LocalIPs: client.LocalAddress finds one; 127.0.0.1 is no address for others.
//   - Port, and an http.Server with TLS for the Handler: without it kubectl logs, exec, attach,
//     cp and port-forward do not work. Config.ResourceMetrics is what the metrics
//     server of a cluster asks for kubectl top: package metrics has it.
//   - Volumes, for any runtime that is not in memory: an API server gives nearly every pod the
//     token of its service account as a volume, and a pod with volumes stays Pending without.
//   - Node.Runtime, Node.LogRoot, Node.TerminalStatuses and Node.ContainerStates for
//     containers that outlive the program; Node.DNS for the cluster's names.
//
// examples/cluster has all of them.
//
// # The contract
//
//   - Nothing is concluded from an error or from silence of the API server: pods go on, and
//     a pod ends only if its object was seen deleted, or is absent from a complete state.
//   - No pod of the API server is admitted before the node is registered. Static pods run
//     without an API server.
//   - Admission goes by the labels and taints that the node has at the server. Pods are told the
//     addresses that it has there, unless Node.HostIPs are given.
//   - After an outage the first answer of any request ends all pauses.
//   - When Run's context ends, the node ends first, its last statuses are sent, and only
//     then does the lease stop. Containers are left as they are: Drain ends them.
//   - What happens to pods and to the node is recorded as events. What waits when the node
//     ends is written within seconds, or given up if the server is away.
//   - Containers have the variables of services, which are followed by one watch. No container
//     of a pod of the server is created before they were read once.
//   - Tokens in volumes are replaced after 80 % of their time, or after a day, as long as the
//     pod has not ended.
//   - ConfigMaps and Secrets of pods are followed, each by one watch as long as a pod that
//     names it is synced or has to end. A change syncs these pods, so that their files follow
//     at once. While the server does not answer, the last ones are used.
package cluster
