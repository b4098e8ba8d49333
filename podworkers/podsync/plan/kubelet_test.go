package plan_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// The states of a container that the kubelet tells apart.
type smallState int

const (
	isNew smallState = iota // there is no record of it
	isCreated
	runs
	isPublishedSuccess
	failed
	smallStates
)

// smallContainer is a container of a small pod.
type smallContainer struct {
	name    string
	sidecar bool
	smallState
}

// smallPod is a pod with at most two init and two regular containers in a sandbox that is
// ready, without probes, hooks and rules of its own.
type smallPod struct {
	policy        v1.RestartPolicy
	init, regular []smallContainer
}

// restartsAfterExit reports whether the restart policy restarts an exited container.
func (p *smallPod) restartsAfterExit(c smallContainer) bool {
	return p.policy == v1.RestartPolicyAlways || p.policy == v1.RestartPolicyOnFailure && c.smallState == failed
}

// expectedStarts restates what the kubelet does with such a pod: the containers that it starts, in
// order, or that it stops the pod.
func (p *smallPod) expectedStarts() (starts []string, stops bool) {
	// Initialization is as far as the last init container that has a record, or past all of
	// them if a regular container has.
	at := -1
	for i := range p.init {
		if p.init[i].smallState != isNew {
			at = i
		}
	}
	initialized := len(p.init) == 0
	for _, c := range p.regular {
		initialized = initialized || c.smallState != isNew
	}
	if initialized {
		at = len(p.init)
	}
	// Before that point sidecars are kept running, and ordinary init containers count no more.
	for i, c := range p.init {
		if i < at && c.sidecar && c.smallState != runs {
			starts = append(starts, c.name)
		}
	}
	if at < len(p.init) {
		var next bool
		starts, next, stops = p.atInit(at, starts)
		if stops || !next {
			return starts, stops
		}
		if at+1 < len(p.init) {
			return append(starts, p.init[at+1].name), false
		}
	}
	// The pod is initialized: regular containers start, and again as their policy says.
	kept := 0
	for _, c := range p.regular {
		switch {
		case c.smallState == isNew, c.smallState == isCreated, c.smallState >= isPublishedSuccess && p.restartsAfterExit(c):
			starts = append(starts, c.name)
			kept++
		case c.smallState == runs:
			kept++
		}
	}
	if kept == 0 {
		return nil, true
	}
	return starts, false
}

// atInit is what becomes of the init container at which initialization is: whether the next
// one may start.
func (p *smallPod) atInit(at int, starts []string) (_ []string, next, stops bool) {
	if at < 0 {
		return starts, true, false
	}
	switch c := p.init[at]; {
	case c.smallState == runs:
		return starts, c.sidecar, false
	case c.smallState == isCreated || c.sidecar:
		return append(starts, c.name), false, false
	case c.smallState == isPublishedSuccess:
		return starts, true, false
	case p.policy == v1.RestartPolicyNever:
		return nil, false, true
	default:
		return append(starts, c.name), false, false
	}
}

// expectedPhase restates the kubelet's phase of such a pod.
func (p *smallPod) expectedPhase() v1.PodPhase {
	var initPending, sidecarPending, ran, waiting, running, stopped, wells int
	for _, c := range p.regular {
		switch {
		case c.smallState <= isCreated:
			waiting++
		case c.smallState == runs:
			running++
		default:
			stopped++
		}
		if c.smallState == isPublishedSuccess {
			wells++
		}
		if c.smallState >= runs {
			ran++
		}
	}
	for _, c := range p.init {
		switch {
		case c.sidecar && c.smallState <= isCreated:
			sidecarPending++
		case c.sidecar && c.smallState == runs:
			running++
		case c.sidecar:
		case c.smallState == failed && p.policy == v1.RestartPolicyNever:
			return v1.PodFailed
		case c.smallState <= runs:
			initPending++
		}
	}
	switch {
	case initPending > 0, ran == 0 && sidecarPending > 0, waiting > 0:
		return v1.PodPending
	case running > 0 || p.policy == v1.RestartPolicyAlways:
		return v1.PodRunning
	case stopped == wells:
		return v1.PodSucceeded
	case p.policy == v1.RestartPolicyNever:
		return v1.PodFailed
	}
	return v1.PodRunning
}

// makePod returns the pod, its records in the runtime, and its status as the kubelet computes it.
func (p *smallPod) makePod() (pod *v1.Pod, seen *runtime.PodStatus, status v1.PodStatus) {
	pod, seen = &v1.Pod{}, &runtime.PodStatus{}
	pod.Spec.RestartPolicy = p.policy
	seen.Sandboxes = []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s", Ready: true}, IPs: []string{"10.0.0.1"}}}
	add := func(list []smallContainer, spec *[]v1.Container, statuses *[]v1.ContainerStatus) {
		for _, c := range list {
			container, s := v1.Container{Name: c.name}, v1.ContainerStatus{Name: c.name, Started: new(c.smallState == runs), Ready: c.smallState == runs}
			if c.sidecar {
				container.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
			}
			rec := runtime.ContainerStatus{
				Container:   runtime.Container{ID: c.name, Name: c.name, SandboxID: "s", State: runtime.StateExited},
				Annotations: map[string]string{plan.HashAnnotation: plan.SpecHash(&container)},
			}
			switch c.smallState {
			case isNew, isCreated:
				rec.State, s.State.Waiting = runtime.StateCreated, &v1.ContainerStateWaiting{Reason: "ContainerCreating"}
			case runs:
				rec.State, s.State.Running = runtime.StateRunning, &v1.ContainerStateRunning{}
			default:
				rec.ExitCode = int32(c.smallState - isPublishedSuccess)
				s.State.Terminated = &v1.ContainerStateTerminated{ExitCode: rec.ExitCode}
			}
			*spec, *statuses = append(*spec, container), append(*statuses, s)
			if c.smallState != isNew {
				seen.Containers = append(seen.Containers, rec)
			}
		}
	}
	add(p.init, &pod.Spec.InitContainers, &status.InitContainerStatuses)
	add(p.regular, &pod.Spec.Containers, &status.ContainerStatuses)
	return pod, seen, status
}

// checkAgainstKubelet compares the decision and the status with the kubelet's rules.
func (p *smallPod) checkAgainstKubelet(t *testing.T) {
	pod, seen, status := p.makePod()
	d := plan.Decide(pod, seen, plan.Input{Now: epoch})
	var starts []string
	stops := false
	for _, s := range d.Steps {
		switch s.Op {
		case plan.StartContainer:
			starts = append(starts, s.Name)
		case plan.StopPod:
			stops = true
		default:
			require.Fail(t, "it does more than that", "%+v: %+v", p, s)
		}
	}
	wantStarts, wantStops := p.expectedStarts()
	if fmt.Sprint(wantStarts, wantStops) != fmt.Sprint(starts, stops) {
		require.Equal(t, fmt.Sprint(wantStarts, wantStops), fmt.Sprint(starts, stops), "%+v", p)
	}
	if got := podstatus.Conclude(pod, status, podstatus.Observed{SandboxReady: true}); got.Phase != p.expectedPhase() {
		require.Equal(t, p.expectedPhase(), got.Phase, "%+v", p)
	}
}

// Every small pod is decided and concluded as the kubelet does.
func TestKubelet_SmallPods(t *testing.T) {
	pods := 0
	for _, policy := range []v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever} {
		for _, init := range containerLists("i", 2, true) {
			for _, regular := range containerLists("c", 2, false) {
				if len(regular) > 0 {
					p := smallPod{policy, init, regular}
					p.checkAgainstKubelet(t)
					pods++
				}
			}
		}
	}
	require.Equal(t, 3*(1+10+100)*(5+25), pods)
}

// containerLists returns all lists of at most n containers in all states, with or without sidecars.
func containerLists(name string, n int, sidecars bool) [][]smallContainer {
	if n == 0 {
		return [][]smallContainer{nil}
	}
	shorter := containerLists(name, n-1, sidecars)
	all := shorter
	for _, list := range shorter {
		for state := range smallStates {
			if len(list) != n-1 {
				continue
			}
			c := smallContainer{fmt.Sprint(name, n), false, state}
			all = append(all, append(list[:len(list):len(list)], c))
			if c.sidecar = true; sidecars {
				all = append(all, append(list[:len(list):len(list)], c))
			}
		}
	}
	return all
}
