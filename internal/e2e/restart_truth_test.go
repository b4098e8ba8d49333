//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
)

// truth is what the runtime itself says it has.
type truth struct {
	sandboxes  []*cri.PodSandbox
	containers []*cri.Container
}

// listRecords lists the sandboxes and containers of the runtime without the agent.
func listRecords(c cri.RuntimeServiceClient) (t truth, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	containers, err := c.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return t, err
	}
	sandboxes, err := c.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	return truth{sandboxes.GetItems(), containers.GetContainers()}, err
}

func isRunning(c *cri.Container) bool { return c.GetState() == cri.ContainerState_CONTAINER_RUNNING }
func isUp(s *cri.PodSandbox) bool     { return s.GetState() == cri.PodSandboxState_SANDBOX_READY }

// podOfLabels returns the name and the UID of the pod of a record.
func podOfLabels(labels map[string]string) (name, uid string) {
	return labels[podsync.LabelPodName], labels[podsync.LabelPodUID]
}

// findDoubles returns containers that run twice, and pods with two ready sandboxes or two running UIDs (I37).
func (t truth) findDoubles() (wrong []string) {
	running, owners, network := map[string]string{}, map[string]string{}, map[string]string{}
	for _, c := range t.containers {
		if !isRunning(c) {
			continue
		}
		pod, uid := podOfLabels(c.GetLabels())
		key := uid + "/" + c.GetLabels()[podsync.LabelContainerName]
		if other := running[key]; other != "" {
			wrong = append(wrong, fmt.Sprintf("%s/%s runs twice: %s and %s", pod, c.GetMetadata().GetName(), other, c.GetId()))
		}
		if other := owners[pod]; other != "" && other != uid {
			wrong = append(wrong, fmt.Sprintf("%s runs as %s and as %s", pod, other, uid))
		}
		running[key], owners[pod] = c.GetId(), uid
	}
	for _, s := range t.sandboxes {
		if !isUp(s) {
			continue
		}
		pod, uid := podOfLabels(s.GetLabels())
		if other := network[uid]; other != "" {
			wrong = append(wrong, fmt.Sprintf("%s has two ready sandboxes: %s and %s", pod, other, s.GetId()))
		}
		network[uid] = s.GetId()
	}
	return wrong
}

// findOrphans returns the sandboxes and containers of undesired pods that run or could run (I34). With strict it also
// returns records that do not run.
func (t truth) findOrphans(wanted map[string]bool, strict bool) (wrong []string) {
	for _, c := range t.containers {
		if pod, uid := podOfLabels(c.GetLabels()); !wanted[uid] && (strict || isRunning(c)) {
			wrong = append(wrong, fmt.Sprintf("container %s of %s, pod %s, is left: %s", c.GetId(), pod, uid, c.GetState()))
		}
	}
	for _, s := range t.sandboxes {
		if pod, uid := podOfLabels(s.GetLabels()); !wanted[uid] && (strict || isUp(s)) {
			wrong = append(wrong, fmt.Sprintf("sandbox %s of %s, pod %s, is left: %s", s.GetId(), pod, uid, s.GetState()))
		}
	}
	return wrong
}

// runningIDs returns the IDs of the running containers and ready sandboxes of the named pods, by pod and container. A
// sandbox has an empty container name.
func (t truth) runningIDs(pods map[string]bool) map[string]string {
	ids := map[string]string{}
	for _, c := range t.containers {
		if pod, _ := podOfLabels(c.GetLabels()); pods[pod] && isRunning(c) {
			ids[pod+"/"+c.GetMetadata().GetName()] = c.GetId()
		}
	}
	for _, s := range t.sandboxes {
		if pod, _ := podOfLabels(s.GetLabels()); pods[pod] && isUp(s) {
			ids[pod+"/"] = s.GetId()
		}
	}
	return ids
}
