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

// look asks the runtime, past the agent.
func look(c cri.RuntimeServiceClient) (t truth, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	containers, err := c.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return t, err
	}
	sandboxes, err := c.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	return truth{sandboxes.GetItems(), containers.GetContainers()}, err
}

func runs(c *cri.Container) bool  { return c.GetState() == cri.ContainerState_CONTAINER_RUNNING }
func isUp(s *cri.PodSandbox) bool { return s.GetState() == cri.PodSandboxState_SANDBOX_READY }

// whose is the name and the UID of the pod of a record.
func whose(labels map[string]string) (name, uid string) {
	return labels[podsync.LabelPodName], labels[podsync.LabelPodUID]
}

// doubles are containers that run twice, and pods with two ready sandboxes or
// with two UIDs that run (I37).
func (t truth) doubles() (wrong []string) {
	running, owners, network := map[string]string{}, map[string]string{}, map[string]string{}
	for _, c := range t.containers {
		if !runs(c) {
			continue
		}
		pod, uid := whose(c.GetLabels())
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
		pod, uid := whose(s.GetLabels())
		if other := network[uid]; other != "" {
			wrong = append(wrong, fmt.Sprintf("%s has two ready sandboxes: %s and %s", pod, other, s.GetId()))
		}
		network[uid] = s.GetId()
	}
	return wrong
}

// orphans returns the sandboxes and containers of undesired pods that run or could run (I34). With strict it also
// returns records that do not run.
func (t truth) orphans(wanted map[string]bool, strict bool) (wrong []string) {
	for _, c := range t.containers {
		if pod, uid := whose(c.GetLabels()); !wanted[uid] && (strict || runs(c)) {
			wrong = append(wrong, fmt.Sprintf("container %s of %s, pod %s, is left: %s", c.GetId(), pod, uid, c.GetState()))
		}
	}
	for _, s := range t.sandboxes {
		if pod, uid := whose(s.GetLabels()); !wanted[uid] && (strict || isUp(s)) {
			wrong = append(wrong, fmt.Sprintf("sandbox %s of %s, pod %s, is left: %s", s.GetId(), pod, uid, s.GetState()))
		}
	}
	return wrong
}

// identities are the IDs of what runs of the named pods, by pod and container; a
// sandbox has no container's name.
func (t truth) identities(pods map[string]bool) map[string]string {
	ids := map[string]string{}
	for _, c := range t.containers {
		if pod, _ := whose(c.GetLabels()); pods[pod] && runs(c) {
			ids[pod+"/"+c.GetMetadata().GetName()] = c.GetId()
		}
	}
	for _, s := range t.sandboxes {
		if pod, _ := whose(s.GetLabels()); pods[pod] && isUp(s) {
			ids[pod+"/"] = s.GetId()
		}
	}
	return ids
}
