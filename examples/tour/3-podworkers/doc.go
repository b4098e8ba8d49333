// Command 3-podworkers adds the pod workers to the work queue: they decide what happens to a pod now, and call a
// PodSyncer to do it.
//
//	go run ./examples/tour/3-podworkers
//
// The PodSyncer here keeps rows of a table: a pod need not have containers. Each pod passes four stages. In the stage
// syncing the workers call SyncPod, until the pod is removed or killed, or until SyncPod returns isTerminal: the pod has
// completed. In terminating they call SyncTerminatingPod until nothing of the pod runs, and in terminated
// SyncTerminatedPod to clean up. In finished they call nothing. Calls for one pod never overlap. The work queue belongs to the workers now: they enqueue the pod after each SyncPod, and
// repeat the failed one after two seconds. Kill returns at once, and Wait returns when SyncTerminatingPod has succeeded.
//
// In the kubelet the workers are pkg/kubelet/pod_workers.go. UpdatePod starts a goroutine for each pod, podWorkerLoop,
// which stays until the pod is finished; here a pod has a goroutine only during a call. The kubelet's PodSyncer is the
// Kubelet itself: SyncPod, SyncTerminatingPod and SyncTerminatedPod are methods in kubelet.go.
//
// It prints:
//
//	0s SyncPod, type create: value 10, error the table is locked
//	2s SyncPod, type sync: value 10, error <nil>
//	4s SyncPod, type update: value 20, error <nil>
//	6s SyncTerminatingPod: the row is deleted
package main
