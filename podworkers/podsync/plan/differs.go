package plan

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// creation has the values with which the executor asked the runtime to create a container, as far
// as a record reports them.
type creation struct {
	Name, SandboxID, Hash string
	Attempt               uint32
	Incarnation           uint64
}

// Difference is a field of a container or a sandbox for which the runtime reports another value
// than the executor asked for.
type Difference struct {
	Field, Wanted, Seen string
	// Container is the name of the container. It is empty if the Difference is about the sandbox.
	Container string
}

// Contradictions returns the differences for which the steps of the decision stop or replace a
// container or the sandbox. It covers the containers and the sandbox that this process has created.
// It also covers a sandbox of an earlier process whose network mode is wrong or whose address is
// missing. The caller passes the arguments of Decide.
func (d *Decision) Contradictions(pod *v1.Pod, seen *runtime.PodStatus, incarnation uint64) []Difference {
	if len(d.Steps) == 0 || pod == nil || seen == nil {
		return nil
	}
	var all []Difference
	why := d.replacementReason()
	sandbox := d.Memory.reportedSandbox(seen, why)
	if diff, ok := findSandboxDifference(why, pod, incarnation, sandbox); ok && d.Memory.isSandboxContradicted(why, sandbox) {
		all = append(all, diff)
	}
	stops := make(map[string]Why)
	for i := range d.Steps {
		if k := &d.Steps[i]; k.Op == StopContainer {
			stops[k.ID] = k.Reason
		}
	}
	created := d.Memory.creationsByID()
	var n nameIndex
	n.addSpecNames(&pod.Spec)
	for i := range seen.Containers {
		rec := &seen.Containers[i]
		was, why := created[rec.ID], stops[rec.ID]
		if why == "" || was.Name == "" || why == WhySpecChanged && !n.isSpecUnchanged(pod, &was) {
			continue
		}
		if diff, ok := differenceForReason(why, was, rec); ok {
			diff.Container = was.Name
			all = append(all, diff)
		}
	}
	return all
}

// replacementReason returns the reason of the first step that stops the whole pod or creates a sandbox. It
// returns "" if the decision has no such step.
func (d *Decision) replacementReason() Why {
	for i := range d.Steps {
		if op := d.Steps[i].Op; op == StopPod || op == CreateSandbox {
			return d.Steps[i].Reason
		}
	}
	return ""
}

// creationsByID returns the values that were requested when the newest attempt of each container was created,
// by container ID. It skips containers that this process has not created.
func (m *Memory) creationsByID() map[string]creation {
	byID := make(map[string]creation)
	m.containers.forEach(func(_ string, p *compactMemory) bool {
		if p.created.Name != "" && p.start.id != "" {
			byID[p.start.id] = p.created
		}
		return true
	})
	return byID
}

// isSandboxContradicted reports whether the reason to replace the sandbox is a value that the runtime reports
// wrongly, and not the death of the sandbox. It is true for a wrong network mode and a missing address. A
// missing or unready sandbox counts only if this process created it, and either a replacement has been delayed
// before or the runtime reports the sandbox under another incarnation.
func (m *Memory) isSandboxContradicted(why Why, sandbox *runtime.SandboxStatus) bool {
	switch why {
	case WhyNetworkMode, WhyNoAddress:
		return true
	case WhyNoSandbox, WhySandboxNotReady:
		return m.sandbox.id != "" && (m.sandbox.backoff.Delay > 0 || why == WhyNoSandbox && sandbox != nil)
	}
	return false
}

// reportedSandbox returns the runtime's record of the sandbox that this process created last. If the runtime
// does not report that sandbox, it returns the first record. If there is no record, or why is WhyNoSandbox, it
// then returns nil.
func (m *Memory) reportedSandbox(seen *runtime.PodStatus, why Why) *runtime.SandboxStatus {
	for i := range seen.Sandboxes {
		if sandbox := &seen.Sandboxes[i]; sandbox.ID == m.sandbox.id {
			return sandbox
		}
	}
	if why == WhyNoSandbox || len(seen.Sandboxes) == 0 {
		return nil
	}
	return &seen.Sandboxes[0] // An earlier agent created it.
}

// isSpecUnchanged reports whether the pod spec still has an init or regular container with the requested name
// and hash.
func (n *nameIndex) isSpecUnchanged(pod *v1.Pod, requested *creation) bool {
	i := n.indexOf(requested.Name)
	return i >= 0 && i < len(pod.Spec.InitContainers)+len(pod.Spec.Containers) && SpecHash(specContainerAt(&pod.Spec, i)) == requested.Hash
}

// differenceForReason returns the field that belongs to a stop reason, with its requested and its reported
// value. The requested state is always running. differs is false if both values are equal, or if the reason
// belongs to no field.
func differenceForReason(why Why, requested creation, rec *runtime.ContainerStatus) (d Difference, differs bool) {
	switch why {
	case WhySpecChanged:
		d.Field, d.Wanted, d.Seen = "Annotations["+HashAnnotation+"]", requested.Hash, rec.Annotations[HashAnnotation]
	case WhyUnknownState:
		d.Field, d.Wanted, d.Seen = "State", runtime.StateRunning.String(), rec.State.String()
	case WhyOtherSandbox:
		d.Field, d.Wanted, d.Seen = "SandboxID", requested.SandboxID, rec.SandboxID
	case WhyOlderAttempt:
		d.Field, d.Wanted, d.Seen = "Attempt", fmt.Sprint(requested.Attempt), fmt.Sprint(rec.Attempt)
	case WhyPreviousIncarnation:
		d.Field, d.Wanted, d.Seen = "Incarnation", fmt.Sprint(requested.Incarnation), fmt.Sprint(rec.Incarnation)
	case WhyNotInSpec:
		d.Field, d.Wanted, d.Seen = "Name", requested.Name, rec.Name
	}
	return d, d.Wanted != d.Seen
}

// findSandboxDifference returns the field whose reported value caused the replacement of the sandbox for the
// reason why. sandbox is nil if the runtime does not report it. differs is false if the reason does not come
// from a field.
func findSandboxDifference(why Why, pod *v1.Pod, incarnation uint64, sandbox *runtime.SandboxStatus) (d Difference, differs bool) {
	switch {
	case sandbox == nil && why == WhyNoSandbox:
		d.Field, d.Wanted, d.Seen = "Sandboxes", "the sandbox", "none"
	case sandbox == nil:
	case why == WhyNoSandbox:
		d.Field, d.Wanted, d.Seen = "Incarnation", fmt.Sprint(incarnation), fmt.Sprint(sandbox.Incarnation)
	case why == WhyNetworkMode:
		d.Field, d.Wanted, d.Seen = "HostNetwork", fmt.Sprint(pod.Spec.HostNetwork), fmt.Sprint(sandbox.HostNetwork)
	case why == WhyNoAddress:
		d.Field, d.Wanted, d.Seen = "IPs", "an address", "none"
	case why == WhySandboxNotReady:
		d.Field, d.Wanted, d.Seen = "Ready", "true", "false"
	}
	return d, d.Wanted != d.Seen
}
