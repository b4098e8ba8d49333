package nodetest

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager/status/statustest"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

// Check returns an error for a pod that shows what a runtime must never be
// driven to: two running containers of one name, or two ready sandboxes.
// It looks at the pod alone and may be called from anywhere.
func Check(pod *runtime.Pod) error {
	running := make(map[string]bool)
	for _, c := range pod.Containers {
		if c.State != runtime.StateRunning {
			continue
		}
		if running[c.Name] {
			return fmt.Errorf("container %s runs twice", c.Name)
		}
		running[c.Name] = true
	}
	ready := 0
	for _, s := range pod.Sandboxes {
		if s.Ready {
			ready++
		}
	}
	if ready > 1 {
		return fmt.Errorf("%d sandboxes are ready", ready)
	}
	return nil
}

// checkPodOnRuntime checks the pod that a call was made for.
func (tr *trace) checkPodOnRuntime(uid types.UID) {
	pod := tr.podStatus(uid).Pod()
	if err := Check(&pod); err != nil {
		tr.faults.add("at %s: pod %s/%s: %v", tr.now().Sub(Epoch), pod.Namespace, pod.Name, err)
	}
}

// checkStatusLocked runs the status invariant checker over every status that a watcher
// sees of one incarnation of a pod, and over every step from one to the next that it
// has not missed anything between.
func (tr *trace) checkStatusLocked(state node.PodState) {
	old, new := tr.mu.lastStates[state.Pod.UID], tr.mu.rules.withStartedSidecars(state)
	tr.mu.lastStates[state.Pod.UID] = new
	if s := &new.Pod.Status; s.Phase == v1.PodFailed && len(s.ContainerStatuses) == 0 {
		tr.mu.rules.rejected[new.Pod.UID] = true // It has no container statuses, since it was given no containers.
	}
	var err error
	switch {
	case new.Gone:
		delete(tr.mu.lastStates, state.Pod.UID)
		if old.Pod != nil {
			err = statustest.CheckGone(&old.Pod.Status)
		}
	case new.Version == 0:
	case old.Pod != nil && old.Version+1 == new.Version && old.StatusEpoch == new.StatusEpoch:
		err = errors.Join(statustest.CheckTransition(&old.Pod.Status, &new.Pod.Status), tr.checkPodStatus(new))
	default:
		err = tr.checkPodStatus(new)
	}
	if err != nil {
		tr.faults.add("at %s: pod %s/%s: %v", tr.now().Sub(Epoch), new.Pod.Namespace, new.Pod.Name, err)
	}
}

// checkPodStatus checks one status against its pod. The status of a UID that comes back
// with another spec may still be that of its previous incarnation.
func (tr *trace) checkPodStatus(state node.PodState) error {
	if !tr.mu.rules.hasEqualContainers(state.Pod.UID) {
		return nil
	}
	return errors.Join(statustest.CheckStatus(state.Pod, &state.Pod.Status), checkMessages(&state.Pod.Status))
}

// checkMessages returns an error for a message of the node that is no sentence for people.
// How a container has ended it may say itself.
func checkMessages(s *v1.PodStatus) error {
	err := checkMessage("status "+s.Reason, s.Message)
	for _, c := range s.Conditions {
		err = errors.Join(err, checkMessage("condition "+string(c.Type), c.Message))
	}
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses) {
		if w := c.State.Waiting; w != nil {
			err = errors.Join(err, checkMessage("waiting "+w.Reason, w.Message))
		}
	}
	return err
}

// checkMessage returns an error for a message that shows which package has said it.
func checkMessage(where, message string) error {
	if said := plain.Text(message); said != message {
		return fmt.Errorf("%s: the message is %q and not the sentence %q", where, message, said)
	}
	return nil
}
