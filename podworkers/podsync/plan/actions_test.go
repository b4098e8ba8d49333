package plan_test

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// actions are the steps of a decision by what they are for, as stories print them and
// properties ask for them.
type actions struct {
	Held                                         []plan.Held
	KillPod                                      plan.Why
	Kill, Reset                                  []plan.Step
	Prune                                        []string
	StopSandboxes, RemoveSandboxes, PruneSandbox []string
	CreateSandbox                                plan.Why
	SandboxAttempt                               uint32
	SandboxID                                    string
	Initialized                                  bool
	Ephemeral, Init, Containers                  []plan.Held
}

// decideActions returns the decision about the described pod, grouped by the purpose of its steps.
func (w *harness) decideActions() actions {
	return groupActions(w.pod, plan.Decide(w.pod, w.st, w.planInput()))
}

func groupActions(pod *v1.Pod, d plan.Decision) actions {
	a := actions{SandboxID: d.SandboxID, Initialized: d.Memory.Initialized != ""}
	for _, s := range d.Steps {
		isReset := s.Reason == plan.WhyAllRestart || s.Reason == plan.WhyRestartsAll
		switch {
		case s.Op == plan.StopPod:
			a.KillPod = s.Reason
		case s.Op == plan.StopContainer && !isReset:
			a.Kill = append(a.Kill, s)
		case s.Op == plan.RemoveContainer && isReset:
			s.Grace = new(int64)
			a.Reset = append(a.Reset, s)
		case s.Op == plan.RemoveContainer:
			a.Prune = append(a.Prune, s.ID)
		case s.Op == plan.StopSandbox:
			a.StopSandboxes = append(a.StopSandboxes, s.ID)
		case s.Op == plan.RemoveSandbox && s.Independent:
			a.PruneSandbox = append(a.PruneSandbox, s.ID)
		case s.Op == plan.RemoveSandbox:
			a.RemoveSandboxes = append(a.RemoveSandboxes, s.ID)
		case s.Op == plan.CreateSandbox:
			a.CreateSandbox, a.SandboxAttempt = s.Reason, s.Attempt
		}
	}
	for _, h := range d.Held {
		if h.Op != plan.StartContainer {
			a.Held = append(a.Held, h)
		}
	}
	for _, s := range d.Starts(pod) {
		a.addStart(pod, s)
	}
	return a
}

func (a *actions) addStart(pod *v1.Pod, s plan.Held) {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == s.Name {
			a.Init = append(a.Init, s)
			return
		}
	}
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == s.Name {
			a.Containers = append(a.Containers, s)
			return
		}
	}
	a.Ephemeral = append(a.Ephemeral, s)
}

// Idle reports whether there is nothing to do.
func (a *actions) Idle() bool {
	return a.KillPod == "" && a.CreateSandbox == "" && len(a.Kill) == 0 && len(a.Init) == 0 &&
		len(a.Containers) == 0 && len(a.Ephemeral) == 0 && len(a.Reset) == 0 &&
		len(a.StopSandboxes) == 0 && len(a.RemoveSandboxes) == 0 && len(a.PruneSandbox) == 0
}
