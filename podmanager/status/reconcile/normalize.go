package reconcile

import (
	"cmp"
	"slices"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessages is how many bytes of termination messages a pod may have, shared
// evenly by its containers.
const maxMessages = 12 * 1024

// maxReason is how many bytes a message may have that says why a pod is as it
// is, or why a container waits: the answer of a registry can be a whole page.
const maxReason = 1024

// normalize brings the status into the form in which it is compared and
// stored: no time finer than a second, no message longer than its share,
// regular container statuses by name, all others as in the spec. [ST-7, CS-10]
func normalize(pod *v1.Pod, status *v1.PodStatus) {
	if status.StartTime != nil {
		cutTime(status.StartTime)
	}
	for i := range status.Conditions {
		cutTime(&status.Conditions[i].LastProbeTime)
		cutTime(&status.Conditions[i].LastTransitionTime)
	}
	status.Message = cutMessage(status.Message, maxReason)
	limit := messageLimit(&pod.Spec)
	for _, list := range [][]v1.ContainerStatus{
		status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses,
	} {
		for i := range list {
			normalizeState(&list[i].State, limit)
			normalizeState(&list[i].LastTerminationState, limit)
		}
	}
	sortByName(status.ContainerStatuses)
	sortAsSpecified(len(pod.Spec.InitContainers), status.InitContainerStatuses, func(i int) string {
		return pod.Spec.InitContainers[i].Name
	})
	sortAsSpecified(len(pod.Spec.EphemeralContainers), status.EphemeralContainerStatuses, func(i int) string {
		return pod.Spec.EphemeralContainers[i].Name
	})
}

func normalizeState(state *v1.ContainerState, limit int) {
	if w := state.Waiting; w != nil {
		w.Message = cutMessage(w.Message, maxReason)
	}
	if r := state.Running; r != nil {
		cutTime(&r.StartedAt)
	}
	if t := state.Terminated; t != nil {
		cutTime(&t.StartedAt)
		cutTime(&t.FinishedAt)
		t.Message = cutMessage(t.Message, limit)
	}
}

// cutTime takes off what JSON would not carry: fractions of a second and the
// monotonic reading.
func cutTime(t *metav1.Time) { t.Time = t.Truncate(time.Second) }

// messageLimit is each container's share of the termination messages.
func messageLimit(spec *v1.PodSpec) int {
	containers := len(spec.InitContainers) + len(spec.Containers) + len(spec.EphemeralContainers)
	return maxMessages / max(containers, 1)
}

// cutMessage cuts the message to at most limit bytes, between characters.
func cutMessage(message string, limit int) string {
	if len(message) <= limit {
		return message
	}
	for limit > 0 && !utf8.RuneStart(message[limit]) {
		limit--
	}
	return message[:limit]
}

func sortByName(list []v1.ContainerStatus) {
	slices.SortStableFunc(list, func(a, b v1.ContainerStatus) int { return cmp.Compare(a.Name, b.Name) })
}

// sortAsSpecified puts the statuses in the order of the n names; what is not
// among them goes to the end.
func sortAsSpecified(n int, list []v1.ContainerStatus, name func(int) string) {
	if len(list) < 2 {
		return
	}
	place := make(map[string]int, n)
	for i := range n {
		place[name(i)] = i - n
	}
	slices.SortStableFunc(list, func(a, b v1.ContainerStatus) int {
		return cmp.Compare(place[a.Name], place[b.Name])
	})
}
