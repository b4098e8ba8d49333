// Command 6-syncloop adds the sync loop: it waits until something has changed and calls the handler for the change.
//
//	go run ./examples/tour/6-syncloop
//
// Everything is wired by hand here: pod manager, work queue, runtime, PLEG, PodSyncer, pod workers, sources and loop.
// The loop takes changes of the desired pods from the sources and changes in the runtime from the PLEG. Its handlers
// write to the pod manager and call the workers, and no handler waits.
//
// Housekeeping runs a tenth of a second after a change, and at most once in two seconds. It compares the desired pods,
// the workers and the runtime: it adds pods that the workers do not know, kills undesired pods, and forgets finished
// ones. The changes here are the new pod and the start of its container at 0s, the exits of the container and of the
// sandbox at 2.5s, and the deletion at 6s. The pod has completed at 2.5s. It stays known to the workers, as a finished
// pod, until the housekeeping after its deletion. Package node wires these parts and others.
//
// In the kubelet the loop is syncLoop in kubelet.go. syncLoopIteration selects over channels: changes of pods, PLEG
// events, a tick of one second for the work queue, probe results, and a tick of two seconds for housekeeping
// (HandlePodCleanups in kubelet_pods.go). Here an idle loop has no tick. NewMainKubelet wires the parts.
//
// It prints:
//
//	100ms housekeeping
//	2s desired pods: 1, known to the workers: true, phase: "Running"
//	2.6s housekeeping
//	4s desired pods: 1, known to the workers: true, phase: "Failed"
//	6s desired pods: 1, known to the workers: true, phase: "Failed"
//	6.1s housekeeping
//	8s desired pods: 0, known to the workers: false, phase: ""
package main
