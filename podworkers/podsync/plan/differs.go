package plan

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// creation is what the runtime was asked to create a container with, as far as it reports that.
type creation struct {
	Name, SandboxID, Hash string
	Attempt               uint32
	Incarnation           uint64
}

// Difference is a field of a container or sandbox that the runtime reports otherwise than it
// was asked for.
type Difference struct {
	Field, Wanted, Seen string
	// Container is the name of the container. Empty: it is the sandbox.
	Container string
}

// Contradictions are what the steps of the decision stop or replace because the runtime
// reports it otherwise than it was asked for, as far as the memory of the decision tells.
// The pod, seen and incarnation are those that Decide was given.
func (d *Decision) Contradictions(pod *v1.Pod, seen *runtime.PodStatus, incarnation uint64) []Difference {
	if len(d.Steps) == 0 || pod == nil || seen == nil {
		return nil
	}
	var all []Difference
	why := d.replaces()
	made := d.Memory.madeSandbox(seen, why)
	if diff, ok := sandboxDiffers(why, pod, incarnation, made); ok && d.Memory.contradicted(why, made) {
		all = append(all, diff)
	}
	stops := make(map[string]Why)
	for i := range d.Steps {
		if k := &d.Steps[i]; k.Op == StopContainer {
			stops[k.ID] = k.Reason
		}
	}
	created := d.Memory.byID()
	var n names
	n.read(&pod.Spec)
	for i := range seen.Containers {
		rec := &seen.Containers[i]
		was, why := created[rec.ID], stops[rec.ID]
		if why == "" || was.Name == "" || why == WhySpecChanged && !n.stillWants(pod, &was) {
			continue
		}
		if diff, ok := differs(why, was, rec); ok {
			diff.Container = was.Name
			all = append(all, diff)
		}
	}
	return all
}

// replaces is why the pod is stopped or its sandbox replaced. Empty: neither is.
func (d *Decision) replaces() Why {
	for i := range d.Steps {
		if op := d.Steps[i].Op; op == StopPod || op == CreateSandbox {
			return d.Steps[i].Reason
		}
	}
	return ""
}

// byID has what the newest containers were created with, by their IDs.
func (m *Memory) byID() map[string]creation {
	made := make(map[string]creation)
	m.pasts.each(func(_ string, p *stored) bool {
		if p.created.Name != "" && p.start.id != "" {
			made[p.start.id] = p.created
		}
		return true
	})
	return made
}

// contradicted reports whether a sandbox is replaced for what the runtime reports
// of it, and not because it died: one that is not ready may have, once.
func (m *Memory) contradicted(why Why, made *runtime.SandboxStatus) bool {
	switch why {
	case WhyNetworkMode, WhyNoAddress:
		return true
	case WhyNoSandbox, WhySandboxNotReady:
		return m.sandbox.id != "" && (m.sandbox.backoff.Delay > 0 || why == WhyNoSandbox && made != nil)
	}
	return false
}

// madeSandbox is the sandbox that is replaced, as the runtime reports it; nil if it
// does not.
func (m *Memory) madeSandbox(seen *runtime.PodStatus, why Why) *runtime.SandboxStatus {
	for i := range seen.Sandboxes {
		if sandbox := &seen.Sandboxes[i]; sandbox.ID == m.sandbox.id {
			return sandbox
		}
	}
	if why == WhyNoSandbox || len(seen.Sandboxes) == 0 {
		return nil
	}
	return &seen.Sandboxes[0] // Made by an agent before this one.
}

// stillWants reports whether a container is desired as it was made.
func (n *names) stillWants(pod *v1.Pod, made *creation) bool {
	i := n.find(made.Name)
	return i >= 0 && i < len(pod.Spec.InitContainers)+len(pod.Spec.Containers) && SpecHash(containerAt(&pod.Spec, i)) == made.Hash
}

// differs names the field of a record for which a container is killed, if that is
// not as the container was made. False: it is, and the reason lies elsewhere.
func differs(why Why, made creation, rec *runtime.ContainerStatus) (Difference, bool) {
	var d Difference
	switch why {
	case WhySpecChanged:
		d.Field, d.Wanted, d.Seen = "Annotations["+HashAnnotation+"]", made.Hash, rec.Annotations[HashAnnotation]
	case WhyUnknownState:
		d.Field, d.Wanted, d.Seen = "State", runtime.StateRunning.String(), rec.State.String()
	case WhyOtherSandbox:
		d.Field, d.Wanted, d.Seen = "SandboxID", made.SandboxID, rec.SandboxID
	case WhyOlderAttempt:
		d.Field, d.Wanted, d.Seen = "Attempt", fmt.Sprint(made.Attempt), fmt.Sprint(rec.Attempt)
	case WhyPreviousIncarnation:
		d.Field, d.Wanted, d.Seen = "Incarnation", fmt.Sprint(made.Incarnation), fmt.Sprint(rec.Incarnation)
	case WhyNotInSpec:
		d.Field, d.Wanted, d.Seen = "Name", made.Name, rec.Name
	}
	return d, d.Wanted != d.Seen
}

// sandboxDiffers is differs for the newest sandbox of an incarnation: the one that was made
// last, or nil if the runtime does not show that.
func sandboxDiffers(why Why, pod *v1.Pod, incarnation uint64, made *runtime.SandboxStatus) (Difference, bool) {
	var d Difference
	switch {
	case made == nil && why == WhyNoSandbox:
		d.Field, d.Wanted, d.Seen = "Sandboxes", "the sandbox", "none"
	case made == nil:
	case why == WhyNoSandbox:
		d.Field, d.Wanted, d.Seen = "Incarnation", fmt.Sprint(incarnation), fmt.Sprint(made.Incarnation)
	case why == WhyNetworkMode:
		d.Field, d.Wanted, d.Seen = "HostNetwork", fmt.Sprint(pod.Spec.HostNetwork), fmt.Sprint(made.HostNetwork)
	case why == WhyNoAddress:
		d.Field, d.Wanted, d.Seen = "IPs", "an address", "none"
	case why == WhySandboxNotReady:
		d.Field, d.Wanted, d.Seen = "Ready", "true", "false"
	}
	return d, d.Wanted != d.Seen
}
