package metrics

import (
	"cmp"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// otherReason stands for every reason that is not known.
const otherReason = "Other"

// knownEndReasons are the reasons with which containers end that have a metric of their own.
var knownEndReasons = []string{
	"Completed", "Error", "OOMKilled", "StartError", "ContainerCannotRun", "DeadlineExceeded", "Evicted", "ContainerStatusUnknown",
	"RestartingAllContainers",
}

// countTerminated counts the containers of a status that have ended since the one before.
func (m *Metrics) countTerminated(known *pod, spec *v1.Pod, st *v1.PodStatus) {
	for _, list := range [][]v1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses} {
		for i := range list {
			c := &list[i]
			t := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
			if t == nil || !known.recordEnd(c.Name, t.ContainerID) {
				continue
			}
			reason := t.Reason
			if !slices.Contains(knownEndReasons, reason) {
				reason = otherReason
			}
			m.starts.terminated.WithLabelValues(containerType(spec, c.Name), strconv.Itoa(int(t.ExitCode)), reason).Inc()
		}
	}
}

// recordEnd notes the end of a container and reports whether it is new. Of several between two statuses
// the last one counts.
func (p *pod) recordEnd(container, id string) bool {
	if p.countedEnds == nil {
		p.countedEnds = make(map[string]string)
	}
	if id == "" || p.countedEnds[container] == id {
		return false
	}
	p.countedEnds[container] = id
	return true
}
