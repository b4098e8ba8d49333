// Package stats serves what a node and its pods use as /stats/summary (experimental). It has the types
// of the kubelet (k8s.io/kubelet/pkg/apis/stats/v1alpha1), for programs that read it there.
//
//	handler := stats.Handler(n.Containers()) // n is a node.Node
//
// What is not known is absent, which is not zero. Pods of which the runtime cannot tell have a name
// and no figures. The query only_cpu_and_memory=true leaves out all but processors and memory.
// Not here are what the node does not measure: logs, volumes, ephemeral storage, IO, pressure,
// system containers and limits of processes. The figures of the node are the sums of its pods.
//
// Summarize makes the same as a value, without HTTP.
package stats
