// Command 1-workqueue shows the work queue: it stores the time at which each pod is synced next.
//
//	go run ./examples/tour/1-workqueue
//
// The queue has one entry per pod UID. GetWork removes and returns the pods that are due, and Next returns the
// earliest time, so one timer serves all pods. The owner of the queue decides about the delay: short after a failed
// sync, long after a good one. Here main is the owner; from 3-podworkers on the workers are.
//
// In the kubelet the queue is pkg/kubelet/util/queue/work_queue.go. The function completeWork of pod_workers.go
// enqueues a pod after each sync: ten seconds later after an error, a minute later otherwise, both with jitter. That
// queue cannot say when its next entry is due, so syncLoopIteration in kubelet.go polls it once a second
// (getPodsToSync).
//
// It prints:
//
//	1s sync web: ok, again in 3s
//	2s sync job: no image, again in 1s
//	3s sync job: ok, again in 3s
//	4s sync web: ok, again in 3s
package main
