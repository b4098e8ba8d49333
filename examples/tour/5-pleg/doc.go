// Command 5-pleg adds the PLEG, the pod lifecycle event generator: it reports which pods have changed in the runtime.
//
//	go run ./examples/tour/5-pleg
//
// Once a second the PLEG lists the pods of the runtime, inspects those that have changed, and caches their statuses.
// The program then requests a sync of these pods. So the pod has the phase Failed half a second after its container has
// exited, and not only at the next periodic sync. The workers read the cache before each call, and wait there for a
// status that is newer than their last call.
//
// When the PodSyncer has changed the pod, it calls Changed. Here this is RequestRelist, a request to inspect the pod.
// PLEG.Run inspects it at once. This program calls Relist once a second instead of Run, so a request waits for the next
// second:
//
//	3s	Relist shows the exit of the container. SyncPod reports the pod as completed.
//	4s	Relist observes the pod after that SyncPod. SyncTerminatingPod has waited for this, and stops the sandbox.
//	5s	Relist shows the exit of the sandbox: the last line of the output.
//
// In the kubelet the PLEG is pkg/kubelet/pleg/generic.go. Relist lists the pods once a second, computeEvents compares
// them with the listing before, and updateCache stores the new status in pkg/kubelet/container/cache.go.
// syncLoopIteration reads the events from a channel. A worker waits in GetNewerThan of the cache. With the feature
// gate EventedPLEG, events of the runtime request an earlier relist (evented.go).
//
// It prints:
//
//	0s the pod is Pending
//	1s PLEG: ContainerStarted
//	1s the pod is Running
//	3s PLEG: ContainerDied
//	3s the pod is Failed
//	5s PLEG: ContainerDied
package main
