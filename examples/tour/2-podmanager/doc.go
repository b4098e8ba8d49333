// Command 2-podmanager adds the pod manager: it stores the newest version of each pod that this node should run.
//
//	go run ./examples/tour/2-podmanager
//
// A part of a node that has only the UID of a pod finds the newest version in the manager. Here the UIDs come from a
// work queue, so an update needs no new entry, and a removed pod is not synced. In a whole node the sync loop has UIDs of
// pods that have changed in the runtime. The pod workers do not read the manager: UpdatePod passes the pod.
//
// The manager also pairs static and mirror pods. A static pod comes from a file, and the API server does not know it. Its
// mirror pod makes it visible there, has a UID of its own, and is never run.
//
// In the kubelet the manager is pkg/kubelet/pod/pod_manager.go. The sync loop is its only writer: HandlePodAdditions,
// HandlePodUpdates and HandlePodRemoves in kubelet.go write to the manager before they call the pod workers.
// getPodsToSync takes UIDs from the work queue, as this program does. mirror_client.go creates the mirror pods.
//
// It prints:
//
//	1s sync web: image nginx:2, static false, mirror pod false
//	2s job is no longer desired
//	3s sync dns: image coredns:1, static true, mirror pod true
package main
