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

// Check returns an error for a pod in a state to which no node may bring a runtime: two running
// containers of one name, or two ready sandboxes. It checks only the pod and may be called from any
// goroutine.
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

// checkPodOnRuntime reads a pod from the runtime, and adds a fault if its sandboxes and containers break a rule
// of the function Check.
func (tr *trace) checkPodOnRuntime(uid types.UID) {
	pod := tr.podStatus(uid).Pod()
	if err := Check(&pod); err != nil {
		tr.faults.formatAndStoreFault("at %s: pod %s/%s: %v", tr.now().Sub(Epoch), pod.Namespace, pod.Name, err)
	}
}

// checkAndStoreStateLocked checks the status that a watcher received, and stores it as the last state of the
// pod. If no status between was missed and both belong to the same pod of the UID, it also checks the
// transition from the last state. For a pod that is gone it checks the last status instead, and deletes the
// state.
func (tr *trace) checkAndStoreStateLocked(state node.PodState) {
	old, new := tr.mu.lastStates[state.Pod.UID], tr.mu.rules.withSidecarsStartedBeforeCrash(state)
	tr.mu.lastStates[state.Pod.UID] = new
	if s := &new.Pod.Status; s.Phase == v1.PodFailed && len(s.ContainerStatuses) == 0 {
		tr.mu.rules.rejected[new.Pod.UID] = true // A rejected pod has no container statuses.
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
		tr.faults.formatAndStoreFault("at %s: pod %s/%s: %v", tr.now().Sub(Epoch), new.Pod.Namespace, new.Pod.Name, err)
	}
}

// checkPodStatus returns an error if a status contradicts the spec of its pod, or if one of its messages is not
// a plain sentence. It checks nothing if different specs of the UID have different containers, because the
// status may belong to an earlier spec.
func (tr *trace) checkPodStatus(state node.PodState) error {
	if !tr.mu.rules.allSpecsHaveEqualContainers(state.Pod.UID) {
		return nil
	}
	return errors.Join(statustest.CheckStatus(state.Pod, &state.Pod.Status), checkMessagesArePlainSentences(&state.Pod.Status))
}

// checkMessagesArePlainSentences returns an error for each message of the pod, a condition or a waiting
// container that is not a plain sentence. It does not check termination messages, which come from the
// containers.
func checkMessagesArePlainSentences(s *v1.PodStatus) error {
	err := checkPlainSentence("status "+s.Reason, s.Message)
	for _, c := range s.Conditions {
		err = errors.Join(err, checkPlainSentence("condition "+string(c.Type), c.Message))
	}
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses) {
		if w := c.State.Waiting; w != nil {
			err = errors.Join(err, checkPlainSentence("waiting "+w.Reason, w.Message))
		}
	}
	return err
}

// checkPlainSentence returns an error if a message is not a plain sentence, for example because it begins with
// the name of a Go package. where names the message in the error.
func checkPlainSentence(where, message string) error {
	if said := plain.Text(message); said != message {
		return fmt.Errorf("%s: the message is %q and not the sentence %q", where, message, said)
	}
	return nil
}
