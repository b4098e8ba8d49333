package clusterlab_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

// court shows a judge a node while something is wrong.
type court struct {
	seen    *client.Client // whose calls the trouble does not reach
	runtime runtime.PodLister
	keep    func(name string) bool

	mu    sync.Mutex
	judge judge
}

// collectStates passes the states of the server and of the runtime to the judge until ctx ends.
func (c *court) collectStates(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { c.watchServer(ctx) })
	both.Go(func() { c.watchRuntime(ctx) })
	both.Wait()
}

// violations returns the violations so far.
func (c *court) violations() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.judge.wrong)
}

// watchServer passes the pods of the server to the judge.
func (c *court) watchServer(ctx context.Context) {
	for ctx.Err() == nil {
		stream, err := c.seen.PodFeed().Watch(ctx, apiserver.WatchOptions{SendInitialEvents: true})
		for err == nil {
			var e apiserver.Event[*v1.Pod]
			if e, err = stream.Next(ctx); err == nil && e.Object != nil && e.Type != apiserver.Deleted {
				c.mu.Lock()
				c.judge.checkObject(e.Object)
				c.mu.Unlock()
			}
		}
		if stream != nil {
			stream.Close()
		}
		sleepContext(ctx, 100*time.Millisecond)
	}
}

// watchRuntime passes the running containers to the judge.
func (c *court) watchRuntime(ctx context.Context) {
	for ctx.Err() == nil {
		if running, err := c.runningContainers(ctx); err == nil {
			c.mu.Lock()
			c.judge.checkRunning(running, c.keep)
			c.mu.Unlock()
		}
		sleepContext(ctx, 100*time.Millisecond)
	}
}

// runningContainers returns the containers that run on the machine.
func (c *court) runningContainers(ctx context.Context) (all []ran, err error) {
	pods, err := c.runtime.ListPods(ctx)
	for _, pod := range pods {
		for _, container := range pod.Containers {
			if container.State == runtime.StateRunning {
				all = append(all, ran{pod.UID, pod.Name, container.Name, container.ID})
			}
		}
	}
	return all, err
}

// findUnsettled returns the first difference from the final state, in which the machine runs exactly the pods of the
// server and the server shows them as running. It returns an empty string without a difference, and the pods of the
// server.
func (c *court) findUnsettled(ctx context.Context) (why string, pods []*v1.Pod) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	list, err := c.seen.PodFeed().List(ctx, "")
	if err != nil {
		return err.Error(), nil
	}
	running, err := c.runningContainers(ctx)
	if err != nil {
		return err.Error(), nil
	}
	orphans := map[string]string{}
	for _, r := range running {
		orphans[string(r.uid)] = r.pod + "/" + r.container
	}
	for _, pod := range list.Items {
		uid := string(pod.UID)
		if podmanager.IsMirrorPod(pod) {
			uid = pod.Annotations[podmanager.ConfigHashAnnotation]
		}
		_, runs := orphans[uid]
		delete(orphans, uid)
		if why := podFault(pod, runs); why != "" {
			return fmt.Sprintf("%s %s: %s", pod.Name, pod.UID, why), list.Items
		}
	}
	if len(orphans) > 0 {
		return fmt.Sprintf("these run, and the server has no such pods: %v", orphans), list.Items
	}
	return "", list.Items
}

// podFault describes the difference between the status of a pod and its expected status. runs is whether the machine
// runs the pod. It returns "" without a difference.
func podFault(pod *v1.Pod, runs bool) string {
	var end v1.PodPhase
	if strings.HasPrefix(pod.Name, "job-") {
		end = []v1.PodPhase{v1.PodSucceeded, v1.PodFailed}[len(pod.Name)%2]
	}
	switch {
	case pod.DeletionTimestamp != nil:
		return "is being deleted"
	case pod.Name == "crash", end != "" && !runs && cutShort(pod):
		return ""
	case end != "" && (pod.Status.Phase != end || runs):
		return fmt.Sprintf("is %s, not %s; runs: %v", pod.Status.Phase, end, runs)
	case end == "" && (pod.Status.Phase != v1.PodRunning || !isPodReady(pod) || !runs || pod.Status.PodIP == nowhere):
		return fmt.Sprintf("is %s, ready: %v, runs: %v, at %s", pod.Status.Phase, isPodReady(pod), runs, pod.Status.PodIP)
	}
	return ""
}

// cutShort reports whether a pod that must not be restarted has failed because the start of its
// container was under way when the agent was killed, which the kubelet takes as an end as well.
func cutShort(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodFailed && len(pod.Status.ContainerStatuses) == 1 && neverRan(pod.Status.ContainerStatuses[0].State.Terminated)
}

// nowhere is an address that statuses have by hand.
const nowhere = "192.0.2.66"

// sleepContext waits for d, or until ctx ends.
func sleepContext(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
