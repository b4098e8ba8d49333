// Command 5-pleg adds the PLEG, the pod lifecycle event generator: it reports which pods have changed in the runtime.
//
//	go run ./examples/tour/5-pleg
//
// Once a second the PLEG lists the pods of the runtime, inspects those that have changed, and caches their statuses.
// The program then requests a sync of these pods. So the pod has the phase Failed half a second after its container has
// exited, and not only at the next periodic sync. The workers read the cache before each call, and wait there for a
// status that is newer than their last call.
//
// The PodSyncer calls Changed when it has changed the pod, here RequestRelist: the PLEG is to inspect the pod at once.
// PLEG.Run does that. This program calls Relist once a second instead, so each request waits for the next second.
// SyncPod has reported the pod as completed at 3s. The observation that SyncTerminatingPod waits for comes at 4s. Then
// SyncTerminatingPod stops the sandbox, and the last line, at 5s, is the exit of the sandbox.
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
