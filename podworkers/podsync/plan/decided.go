package plan

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// decided puts what was found into one list, in the order in which it is done.
func (d *decision) decided() Decision {
	answer := Decision{SandboxID: d.sandboxID, Memory: d.Memory, Held: d.held}
	answer.Memory.Initialized = ""
	if d.initialized {
		answer.Memory.Initialized = d.sandboxID
	}
	answer.Steps = d.clearing()
	answer.Memory.forgetStops(answer.Steps)
	if d.createSandbox != "" {
		answer.Steps = append(answer.Steps, Step{Op: CreateSandbox, Reason: d.createSandbox, Attempt: d.sandboxAttempt})
	}
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
	answer.NextAt = d.nextAt(answer.Held)
	return answer
}

// clearing is what has to go before anything is made.
func (d *decision) clearing() []Step {
	var steps []Step
	if d.killPod != "" {
		steps = append(steps, Step{Op: StopPod, Reason: d.killPod})
	}
	for _, more := range [...][]Step{d.kills, d.resetSteps(), d.prunes, d.stopSandboxes, d.removeSandboxes, d.pruneSandboxes} {
		steps = append(steps, more...)
	}
	return steps
}

// nextAt is when to decide again: at once if all containers start over, since nothing else
// makes the pod look changed.
func (d *decision) nextAt(held []Held) time.Time {
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

// Starts are the containers that are being started or are to be, in the order in which they
// are: ephemeral ones, init containers, regular ones. Those that are held are among them,
// and tell so by Until.
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
		var n names
		n.read(&pod.Spec)
		lasting := len(pod.Spec.InitContainers) + len(pod.Spec.Containers)
		slices.SortStableFunc(starts, func(a, b Held) int { return n.rank(a.Name, lasting) - n.rank(b.Name, lasting) })
	}
	return starts
}

// rank is the place of a container among those that are started: ephemeral ones come first.
func (n *names) rank(name string, lasting int) int {
	place := n.find(name)
	if place >= lasting {
		return place - n.count
	}
	return place
}
