// Command 5-pleg adds the PLEG, the pod lifecycle event generator: it reports which pods have changed in the runtime.
//
//	go run ./examples/tour/5-pleg
//
// Once a second the PLEG lists the pods of the runtime, inspects those that have changed, and caches their statuses.
// The program then requests a sync of these pods. So the pod of 4-runtime is Failed half a second after its container
// has exited. The workers read the cache before each call, and wait there for a status that is newer than their last
// call. The last line is no second exit of the container: it is the exit of the sandbox. SyncTerminatingPod has
// stopped the sandbox at 4s, when a status newer than the one of SyncPod was there.
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
