package metrics

import (
	"cmp"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// otherReason is the label value of every unknown reason.
const otherReason = "Other"

// knownEndReasons are the termination reasons that have a label value of their own.
var knownEndReasons = []string{
	"Completed", "Error", "OOMKilled", "StartError", "ContainerCannotRun", "DeadlineExceeded", "Evicted", "ContainerStatusUnknown",
	"RestartingAllContainers",
}

// countTerminated counts the terminations in a status that were not counted before, by container type, exit
// code and reason. An unknown reason counts as "other". For each container only the newest termination in the
// status counts.
func (m *Metrics) countTerminated(known *pod, spec *v1.Pod, st *v1.PodStatus) {
	for _, list := range [][]v1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses} {
		for i := range list {
			c := &list[i]
			t := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
			if t == nil || !known.storeEndIfNew(c.Name, t.ContainerID) {
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

// storeEndIfNew stores the container ID of a container's newest termination. It stores nothing and returns
// false if the ID is empty or already stored.
func (p *pod) storeEndIfNew(container, id string) (stored bool) {
	if p.countedEnds == nil {
		p.countedEnds = make(map[string]string)
	}
	if id == "" || p.countedEnds[container] == id {
		return false
	}
	p.countedEnds[container] = id
	return true
}
