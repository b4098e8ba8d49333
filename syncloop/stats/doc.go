// Package stats serves the resource usage of a node and its pods as /stats/summary (experimental). It
// uses the types of the kubelet (k8s.io/kubelet/pkg/apis/stats/v1alpha1), for programs that read the
// kubelet's summary.
//
//	handler := stats.Handler(n.Containers()) // n is a node.Node
//
// An unknown figure is absent, not zero. A pod whose usage the runtime cannot measure has a name and no
// figures. The query only_cpu_and_memory=true leaves out all other resources. The node does not measure
// logs, volumes, ephemeral storage, IO, pressure and system containers, so they are missing. CPU, memory
// and network of the node are the sums of its pods. If the node evicts pods (node.EvictionConfig),
// its available memory, file systems and processes are measured on the machine.
//
// Summarize returns the same summary as a value, without HTTP.
package stats
