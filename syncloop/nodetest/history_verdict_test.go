package nodetest_test

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime/memory"
)

// verdict is a small model of the state that a pod must reach when the node is idle. It is computed
// from the spec and from the actions of the test, and not from the node's decisions. It returns the
// errors.
type verdict struct {
	pod     *v1.Pod // as it is desired
	status  *v1.PodStatus
	runs    []string
	evicted bool // it was, perhaps by an agent that has crashed since
	forgot  bool // an agent has crashed since the eviction
	crowded bool // the node may refuse pods
	deleted bool // it has a deletion timestamp
	before  bool // its UID was evicted at some time, and that is kept
	overdue bool // its UID had a deadline at some time, and that is kept
	faults  []string
}

func (v *verdict) wrong(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

func (v *verdict) judge() []string {
	switch s := v.status; {
	case s.Phase == v1.PodSucceeded || s.Phase == v1.PodFailed:
		v.over()
	case v.deleted:
		v.wrong("it is %s, and was deleted", s.Phase)
	default:
		v.living()
	}
	return v.faults
}

// over judges a pod that has ended.
func (v *verdict) over() {
	s := v.status
	if len(v.runs) > 0 {
		v.wrong("it has %s and %v run", s.Phase, v.runs)
	}
	if v.deleted {
		return // A container of it is ended whatever its policy says, or it never began.
	}
	switch s.Reason {
	case "Evicted":
		if !v.evicted && !v.before || s.Phase != v1.PodFailed {
			v.wrong("it has %s, by an eviction that was not", s.Phase)
		}
		return
	case "DeadlineExceeded":
		if v.pod.Spec.ActiveDeadlineSeconds == nil && !v.overdue || s.Phase != v1.PodFailed {
			v.wrong("it has %s, by a deadline that it has not", s.Phase)
		}
		return
	case "OutOfpods":
		if !v.crowded {
			v.wrong("it was refused without a reason")
		}
		return
	}
	v.ended()
}

// ended judges a pod that has ended by itself: none of its containers may run
// again, or an init container has failed for good.
func (v *verdict) ended() {
	s, success := v.status, true
	for i := range v.pod.Spec.InitContainers {
		c := &v.pod.Spec.InitContainers[i]
		if end := lastEnd(findContainer(s.InitContainerStatuses, c.Name)); !restartable(c) && end != nil && end.ExitCode != 0 && !again(v.pod, c, end.ExitCode) {
			if s.Phase != v1.PodFailed {
				v.wrong("init container %s has failed and the pod has %s", c.Name, s.Phase)
			}
			return
		}
	}
	for i := range v.pod.Spec.Containers {
		c := &v.pod.Spec.Containers[i]
		end := lastEnd(findContainer(s.ContainerStatuses, c.Name))
		switch {
		case end == nil && s.Reason == "SandboxLost" && policyOf(v.pod, c) == "Never":
			success = false
		case end == nil:
			v.wrong("it has %s and %s never ran", s.Phase, c.Name)
		case again(v.pod, c, end.ExitCode):
			v.wrong("it has %s and %s, which ended with %d, is to run again", s.Phase, c.Name, end.ExitCode)
		default:
			success = success && end.ExitCode == 0
		}
	}
	if success != (s.Phase == v1.PodSucceeded) {
		v.wrong("it has %s", s.Phase)
	}
}

// living judges a pod that has not ended: it must not have to, and everything
// runs that has a reason to.
func (v *verdict) living() {
	if v.pod.Spec.ActiveDeadlineSeconds != nil {
		v.wrong("its deadline is over")
	}
	if v.evicted && !v.forgot {
		v.wrong("it was evicted")
	}
	for i := range v.pod.Spec.InitContainers {
		c := &v.pod.Spec.InitContainers[i]
		st := findContainer(v.status.InitContainerStatuses, c.Name)
		if restartable(c) {
			v.must(c, st)
		} else if end := lastEnd(st); (end == nil || end.ExitCode != 0) && v.reached(c) {
			v.wrong("init container %s has not succeeded: %v", c.Name, said(st))
		}
	}
	// In a new sandbox the policy of the pod decides which containers run again, and not
	// theirs: it begins with its init containers for the sake of one under Never too, and
	// may never be done with them. A container that the node has stopped for that waits.
	open := false
	for i := range v.pod.Spec.Containers {
		c := &v.pod.Spec.Containers[i]
		st := findContainer(v.status.ContainerStatuses, c.Name)
		if end := lastEnd(st); slices.Contains(v.runs, c.Name) || end == nil || again(v.pod, c, end.ExitCode) || wasTold(c, st) || end.Reason == "RestartingAllContainers" ||
			!v.reached(c) && (st.State.Waiting != nil || againInNewSandbox(v.pod, end.ExitCode)) {
			open = true
			v.must(c, st)
		}
	}
	if !open {
		v.wrong("it is %s and has nothing left to do", v.status.Phase)
	}
	for i := range v.pod.Spec.EphemeralContainers {
		name := v.pod.Spec.EphemeralContainers[i].Name
		if st := findContainer(v.status.EphemeralContainerStatuses, name); !slices.Contains(v.runs, name) && lastEnd(st) == nil {
			v.wrong("%s has neither run nor ended: %v", name, said(st))
		}
	}
}

// wasTold reports whether this node may have stopped a container that waits for its
// restart, so that its exit code says nothing about the container.
func wasTold(c *v1.Container, st *v1.ContainerStatus) bool {
	stoppable := c.LivenessProbe != nil || c.StartupProbe != nil || c.Lifecycle != nil && c.Lifecycle.PostStart != nil
	return stoppable && st.State.Waiting != nil && st.State.Waiting.Reason == "CrashLoopBackOff"
}

// must judges a container that has a reason to run: it does, or waits because it
// fails again and again; and it is ready then, as all probes succeed in the end.
func (v *verdict) must(c *v1.Container, st *v1.ContainerStatus) {
	steady := v.steady(c)
	switch runs := slices.Contains(v.runs, c.Name); {
	case !runs && steady:
		v.wrong("%s does not run: %v", c.Name, said(st))
	case runs && steady && (st == nil || !st.Ready):
		v.wrong("%s runs and is not ready: %v", c.Name, said(st))
	}
}

// steady reports whether a container, started often enough, goes on for ever.
func (v *verdict) steady(c *v1.Container) bool {
	script := v.pod.Annotations[memory.AnnotationPrefix+c.Name]
	runs := strings.Split(script, ";")
	if !strings.Contains(runs[len(runs)-1], "run=forever") {
		return false
	}
	if c.Lifecycle != nil && c.Lifecycle.PostStart != nil && strings.Trim(v.says(c, "post-start"), "ok") != "" {
		return false
	}
	if p := c.StartupProbe; p != nil && v.says(c, "startup") != "ok" {
		if p.PeriodSeconds*(p.FailureThreshold-1) < 12 {
			return false // It is killed before it says yes.
		}
	}
	if c.LivenessProbe != nil && v.says(c, "liveness") != "ok" {
		return false
	}
	// The whole pod may be restarted again and again because of another container.
	for i := range v.pod.Spec.Containers {
		o := &v.pod.Spec.Containers[i]
		if len(o.RestartPolicyRules) > 0 && o.RestartPolicyRules[0].Action == v1.ContainerRestartRuleActionRestartAllContainers {
			return false
		}
	}
	return v.reached(c)
}

// reached: everything that a container waits for comes about.
func (v *verdict) reached(c *v1.Container) bool {
	for i := range v.pod.Spec.InitContainers {
		before := &v.pod.Spec.InitContainers[i]
		if before.Name == c.Name {
			break
		}
		if restartable(before) && before.StartupProbe != nil && !v.steady(before) {
			return false
		}
		if before.Lifecycle != nil && before.Lifecycle.PostStart != nil && !v.steady(before) {
			return false
		}
	}
	for i := range v.pod.Spec.Containers {
		before := &v.pod.Spec.Containers[i]
		if before.Name == c.Name {
			break
		}
		if v.says(before, "post-start") == "hang" && before.Lifecycle.PostStart != nil {
			return false // It holds up those behind it, again and again.
		}
	}
	return true
}

func (v *verdict) says(c *v1.Container, purpose string) string {
	return v.pod.Annotations[memory.AnnotationPrefix+c.Name+"."+purpose]
}

func restartable(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// policyOf is the policy of a container in a word.
func policyOf(pod *v1.Pod, c *v1.Container) string {
	if c.RestartPolicy != nil {
		return string(*c.RestartPolicy)
	}
	return string(pod.Spec.RestartPolicy)
}

// againInNewSandbox: a container that exited with this code runs again in a new sandbox.
func againInNewSandbox(pod *v1.Pod, code int32) bool {
	switch pod.Spec.RestartPolicy {
	case v1.RestartPolicyNever:
		return false
	case v1.RestartPolicyOnFailure:
		return code != 0
	}
	return true
}

// again: a container that ended with a code runs again.
func again(pod *v1.Pod, c *v1.Container, code int32) bool {
	for _, rule := range c.RestartPolicyRules {
		if slices.Contains(rule.ExitCodes.Values, code) {
			return true
		}
	}
	switch policyOf(pod, c) {
	case "Never":
		return false
	case "OnFailure":
		return code != 0
	}
	return true
}

// findContainer returns an init or regular container of the spec, and the number of init containers before it.
// It returns nil if there is no such container.
func findContainer(list []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

func lastEnd(st *v1.ContainerStatus) *v1.ContainerStateTerminated {
	switch {
	case st == nil || st.State.Running != nil:
		return nil
	case st.State.Terminated != nil:
		return st.State.Terminated
	}
	return st.LastTerminationState.Terminated
}

// said is a status in a line.
func said(st *v1.ContainerStatus) string {
	switch {
	case st == nil:
		return "no status"
	case st.State.Waiting != nil:
		return fmt.Sprintf("waiting, %s: %s, ended %v", st.State.Waiting.Reason, st.State.Waiting.Message, lastEnd(st))
	case st.State.Terminated != nil:
		return fmt.Sprintf("terminated with %d, %s", st.State.Terminated.ExitCode, st.State.Terminated.Reason)
	}
	return "running"
}
