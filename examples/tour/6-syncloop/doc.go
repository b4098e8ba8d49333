// Command 6-syncloop adds the sync loop: it waits until something has changed and calls the handler for the change.
//
//	go run ./examples/tour/6-syncloop
//
// Everything is wired by hand here: pod manager, work queue, runtime, PLEG, PodSyncer, pod workers, sources and loop.
// The loop takes changes of the desired pods from the sources and changes in the runtime from the PLEG. Its handlers
// write to the pod manager and call the workers, and no handler waits. Shortly after a change, and at most once in two
// seconds, housekeeping compares the desired pods, the workers and the runtime: it starts missing workers, kills
// undesired pods, and forgets finished ones. The worker of a deleted pod is gone after the last housekeeping. Package
// node wires these parts and adds others: probes, deadlines, image and container garbage collection, log rotation,
// evictions.
//
// In the kubelet the loop is syncLoop in kubelet.go. syncLoopIteration selects over channels: changes of pods, PLEG
// events, a tick of one second for the work queue, probe results, and a tick of two seconds for housekeeping
// (HandlePodCleanups in kubelet_pods.go). Here an idle loop has no tick. NewMainKubelet wires the parts.
//
// It prints:
//
//	0s housekeeping
//	2s desired pods: 1, has a worker: true, phase: "Running"
//	3s housekeeping
//	4s desired pods: 1, has a worker: true, phase: "Failed"
//	6s desired pods: 1, has a worker: true, phase: "Failed"
//	6s housekeeping
//	8s desired pods: 0, has a worker: false, phase: ""
package main
