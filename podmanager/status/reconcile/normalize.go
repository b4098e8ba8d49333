package reconcile

import (
	"cmp"
	"slices"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxTerminationMessageBytes is the limit for the termination messages of a pod. Its containers
// share it evenly.
const maxTerminationMessageBytes = 12 * 1024

// maxMessageBytes is the limit for the message of a pod or of a waiting container. The answer of a
// registry can be a whole page.
const maxMessageBytes = 1024

// normalizeForStorage changes a status into the form in which it is compared and stored: times in seconds,
// messages within their limits, regular containers by name, and init and ephemeral containers in the order of
// the spec (ST-7, CS-10).
func normalizeForStorage(pod *v1.Pod, status *v1.PodStatus) {
	if status.StartTime != nil {
		truncateToSeconds(status.StartTime)
	}
	for i := range status.Conditions {
		truncateToSeconds(&status.Conditions[i].LastProbeTime)
		truncateToSeconds(&status.Conditions[i].LastTransitionTime)
	}
	status.Message = truncateMessage(status.Message, maxMessageBytes)
	limit := terminationMessageLimit(&pod.Spec)
	for _, list := range [][]v1.ContainerStatus{
		status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses,
	} {
		for i := range list {
			truncateState(&list[i].State, limit)
			truncateState(&list[i].LastTerminationState, limit)
		}
	}
	sortByName(status.ContainerStatuses)
	sortBySpecOrder(len(pod.Spec.InitContainers), status.InitContainerStatuses, func(i int) string {
		return pod.Spec.InitContainers[i].Name
	})
	sortBySpecOrder(len(pod.Spec.EphemeralContainers), status.EphemeralContainerStatuses, func(i int) string {
		return pod.Spec.EphemeralContainers[i].Name
	})
}

// truncateState truncates the times of a container state to seconds, the termination message to limit bytes,
// and the message of a waiting state to its own limit.
func truncateState(state *v1.ContainerState, limit int) {
	if w := state.Waiting; w != nil {
		w.Message = truncateMessage(w.Message, maxMessageBytes)
	}
	if r := state.Running; r != nil {
		truncateToSeconds(&r.StartedAt)
	}
	if t := state.Terminated; t != nil {
		truncateToSeconds(&t.StartedAt)
		truncateToSeconds(&t.FinishedAt)
		t.Message = truncateMessage(t.Message, limit)
	}
}

// truncateToSeconds removes fractions of a second and the monotonic clock reading from a time, because JSON
// does not carry them.
func truncateToSeconds(t *metav1.Time) { t.Time = t.Truncate(time.Second) }

// terminationMessageLimit returns the limit in bytes for the termination message of each container: the limit
// of the pod divided by the number of its containers of all kinds.
func terminationMessageLimit(spec *v1.PodSpec) int {
	containers := len(spec.InitContainers) + len(spec.Containers) + len(spec.EphemeralContainers)
	return maxTerminationMessageBytes / max(containers, 1)
}

// truncateMessage truncates a message to at most limit bytes. It does not cut a character.
func truncateMessage(message string, limit int) string {
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

// sortBySpecOrder sorts statuses in the order of the n names that name returns. Statuses with other names come
// last and keep their order.
func sortBySpecOrder(n int, list []v1.ContainerStatus, name func(int) string) {
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
