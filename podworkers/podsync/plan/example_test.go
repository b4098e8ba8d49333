package plan_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// A pod without records gets a sandbox and its first containers.
func ExampleDecide() {
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "init", Image: "img"}},
		Containers:     []v1.Container{{Name: "web", Image: "img"}},
	}}
	for _, step := range plan.Decide(pod, nil, plan.Input{Incarnation: 1}).Steps {
		fmt.Println(step.Op, step.Name, step.Attempt, step.Reason)
	}
	// Output:
	// CreateSandbox  0 no sandbox
	// StartContainer init 0 sandbox is new
}

// An executor does the steps in their order. It stops at the first that fails, unless the step is
// Independent, and at a step that it does not know. This one is a machine without sandboxes of its
// own, addresses or incarnations, on which each container succeeds at once.
func ExampleDecision() {
	pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "job", Image: "img"}}}}
	seen := &runtime.PodStatus{}
	do := func(step plan.Step, made func(id string)) error {
		switch step.Op {
		case plan.CreateSandbox:
			seen.Sandboxes = []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "machine", Ready: true}}}
			made("machine")
		case plan.StartContainer:
			made(step.Name)
			c := runtime.Container{ID: step.Name, Name: step.Name, SandboxID: "machine", Attempt: step.Attempt, State: runtime.StateExited}
			seen.Containers = append(seen.Containers, runtime.ContainerStatus{Container: c})
		case plan.StopPod:
			seen.Sandboxes[0].Ready = false
		default:
			return fmt.Errorf("unknown step %s", step.Op)
		}
		return nil
	}
	var memory plan.Memory
	now := time.Unix(0, 0)
	for range 2 {
		d := plan.Decide(pod, seen, plan.Input{Incarnation: 1, Now: now, Memory: memory.RecordObservation()})
		memory = d.Memory
		for _, step := range d.Steps {
			fmt.Printf("%s: %s\n", step.Op, step.Reason)
			memory = memory.RecordAttempt(step, now)
			err := do(step, func(id string) { memory = memory.RecordStage(step, plan.StageCreated, id, now) })
			if err == nil {
				continue
			}
			memory = memory.RecordStage(step, plan.StageFailed, "", now)
			if !step.Independent {
				break
			}
		}
	}
	fmt.Println(plan.Status(plan.StatusInput{Pod: pod, Runtime: seen, Incarnation: 1, Terminal: true}).Phase)
	// Output:
	// CreateSandbox: no sandbox
	// StartContainer: sandbox is new
	// StopPod: nothing is left to run
	// Succeeded
}

// A table test compares the steps and the phase after the exit of a container.
func ExampleDecide_table() {
	for _, policy := range []v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever} {
		pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: policy, Containers: []v1.Container{{Name: "job"}}}}
		seen := &runtime.PodStatus{
			Sandboxes:  []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s", Ready: true}, IPs: []string{"10.0.0.1"}}},
			Containers: []runtime.ContainerStatus{{Container: runtime.Container{ID: "c", Name: "job", SandboxID: "s", State: runtime.StateExited}}},
		}
		end := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}
		status := v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "job", State: end}}}
		step := plan.Decide(pod, seen, plan.Input{}).Steps[0]
		fmt.Println(policy, podstatus.Conclude(pod, status, podstatus.Observed{SandboxReady: true}).Phase, step.Op, step.Reason)
	}
	// Output:
	// Always Running StartContainer has exited
	// OnFailure Succeeded StopPod nothing is left to run
	// Never Succeeded StopPod nothing is left to run
}

// Each decision gets the Memory of the last one. The delay grows with each attempt.
func ExampleMemory() {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "web"}}}}
	seen := &runtime.PodStatus{Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s", Ready: true}, IPs: []string{"10.0.0.1"}}}}
	var memory plan.Memory
	now := time.Unix(0, 0)
	for attempt := range uint32(4) {
		end := runtime.Container{ID: fmt.Sprint(attempt), Name: "web", SandboxID: "s", Attempt: attempt, State: runtime.StateExited}
		seen.Containers = []runtime.ContainerStatus{{Container: end, ExitCode: 1, FinishedAt: now}}
		d := plan.Decide(pod, seen, plan.Input{Now: now, Memory: memory})
		for len(d.Held) > 0 {
			fmt.Println("waits", d.NextAt.Sub(now))
			now = d.NextAt
			d = plan.Decide(pod, seen, plan.Input{Now: now, Memory: d.Memory})
		}
		memory = d.Memory.RecordAttempt(d.Steps[0], now)
	}
	// Output:
	// waits 10s
	// waits 20s
	// waits 40s
}
