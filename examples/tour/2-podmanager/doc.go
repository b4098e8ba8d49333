// Command 2-podmanager adds the pod manager: it stores the newest version of each pod that this node should run.
//
//	go run ./examples/tour/2-podmanager
//
// The queue holds UIDs, and this program reads the pod in the manager when the UID is due. So an update needs no new
// entry in the queue, and a removed pod is not synced. In 3-podworkers the workers keep the version that UpdatePod has
// passed; the sync loop and housekeeping read the manager. The manager also pairs static and mirror pods. A static pod
// comes from a file, and the API server does not know it. Its mirror pod makes it visible there, has a UID of its own,
// and is never run.
//
// In the kubelet the manager is pkg/kubelet/pod/pod_manager.go. The sync loop is its only writer: HandlePodAdditions,
// HandlePodUpdates and HandlePodRemoves in kubelet.go write to the manager before they call the pod workers.
// getPodsToSync returns only those due pods that the manager still has. mirror_client.go creates the mirror pods.
//
// It prints:
//
//	1s sync web: image nginx:2, static false, mirror pod false
//	2s job is no longer desired
//	3s sync dns: image coredns:1, static true, mirror pod true
package main
