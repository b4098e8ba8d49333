package plan

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// buildDecision returns the Decision with the steps in the order of execution, the delayed steps, and the new
// memory. The memory stores whether the pod is initialized, and no longer has the deadlines of stops that this
// decision does not continue.
func (d *decision) buildDecision() Decision {
	answer := Decision{SandboxID: d.sandboxID, Memory: d.Memory, Held: d.held, differences: d.differences}
	answer.Memory.Initialized = ""
	if d.initialized {
		answer.Memory.Initialized = d.sandboxID
	}
	answer.Steps = d.cleanupSteps()
	answer.Memory.resetStopsExcept(answer.Steps)
	if d.createSandbox != "" {
		answer.Steps = append(answer.Steps, Step{Op: CreateSandbox, Reason: d.createSandbox, Attempt: d.sandboxAttempt})
	}
	answer.Steps = append(answer.Steps, d.updates...)
	for _, starts := range [...][]Held{d.ephemeral, d.init, d.containers} {
		for i := range starts {
			starts[i].SandboxID = d.sandboxID
			if starts[i].Until.IsZero() {
				answer.Steps = append(answer.Steps, starts[i].Step)
			} else {
				answer.Held = append(answer.Held, starts[i])
			}
		}
	}
	answer.NextAt = d.nextDecisionTime(answer.Held)
	return answer
}

// cleanupSteps returns the stop and removal steps, in the order of execution. They come before all steps that
// create or start something.
func (d *decision) cleanupSteps() []Step {
	var steps []Step
	if d.stopPodReason != "" {
		steps = append(steps, Step{Op: StopPod, Reason: d.stopPodReason})
	}
	for _, more := range [...][]Step{d.containerStops, d.resetSteps(), d.prunes, d.stopSandboxes, d.removeSandboxes, d.pruneSandboxes} {
		steps = append(steps, more...)
	}
	return steps
}

// nextDecisionTime returns when the caller must decide again: at the earliest end of a delay, or the zero time
// if nothing is delayed. It returns the current time if all containers restart, because no other change would
// trigger that decision.
func (d *decision) nextDecisionTime(held []Held) time.Time {
	if len(d.causes) > 0 {
		return d.Now
	}
	var next time.Time
	for i := range held {
		if until := held[i].Until; next.IsZero() || until.Before(next) {
			next = until
		}
	}
	return next
}

// Starts returns the containers to start, in this order: ephemeral, init, regular. It includes the
// delayed ones, whose Until is set.
func (d *Decision) Starts(pod *v1.Pod) []Held {
	var starts []Held
	for i := range d.Steps {
		if d.Steps[i].Op == StartContainer {
			starts = append(starts, Held{Step: d.Steps[i]})
		}
	}
	for i := range d.Held {
		if d.Held[i].Op == StartContainer {
			starts = append(starts, d.Held[i])
		}
	}
	if len(starts) > 1 && pod != nil {
		var n nameIndex
		n.addSpecNames(&pod.Spec)
		lasting := len(pod.Spec.InitContainers) + len(pod.Spec.Containers)
		slices.SortStableFunc(starts, func(a, b Held) int { return n.startOrder(a.Name, lasting) - n.startOrder(b.Name, lasting) })
	}
	return starts
}

// startOrder returns a sort key for the order of starts. Ephemeral containers, at the positions from
// firstEphemeral on, come first; then all others in the order of the spec.
func (n *nameIndex) startOrder(name string, firstEphemeral int) int {
	place := n.indexOf(name)
	if place >= firstEphemeral {
		return place - n.count
	}
	return place
}
