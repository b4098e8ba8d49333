// Command 4-runtime adds a runtime: the interface through which a PodSyncer starts and stops containers.
//
//	go run ./examples/tour/4-runtime
//
// The runtime is in memory, and an annotation of the pod is the script of its container: it exits with code 3 after
// 2.5 seconds. The PodSyncer is podsync.Syncer, which does for a pod what the kubelet does. It compares the pod with
// the status of the runtime, calls the runtime, and publishes a status. Nothing observes the runtime here. So the pod
// has the phase Pending while its container runs and exits, until the workers sync it again after five seconds. This
// SyncPod reports the pod as completed, and the workers call SyncTerminatingPod, which stops the sandbox.
//
// In the kubelet the PodSyncer's part is Kubelet.SyncPod, and pkg/kubelet/kuberuntime calls the runtime by CRI:
// computePodActions compares, createPodSandbox runs a sandbox, startContainer pulls, creates and starts. Without a
// PLEG the kubelet, too, would notice an exit at the next sync only, after a minute. 5-pleg adds the PLEG.
//
// It prints:
//
//	0s RunSandbox
//	0s PullImage
//	0s CreateContainer
//	0s StartContainer
//	2s the container is running, and the pod is Pending
//	4s the container is exited, and the pod is Pending
//	5s StopSandbox
//	6s the container is exited, and the pod is Failed
package main
