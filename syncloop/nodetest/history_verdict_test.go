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

func (v *verdict) addFault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

func (v *verdict) findFaults() []string {
	switch s := v.status; {
	case s.Phase == v1.PodSucceeded || s.Phase == v1.PodFailed:
		v.checkTerminal()
	case v.deleted:
		v.addFault("it is %s, and was deleted", s.Phase)
	default:
		v.checkActive()
	}
	return v.faults
}

// checkTerminal checks a pod in phase Succeeded or Failed.
func (v *verdict) checkTerminal() {
	s := v.status
	if len(v.runs) > 0 {
		v.addFault("it has %s and %v run", s.Phase, v.runs)
	}
	if v.deleted {
		return // A container of it is ended whatever its policy says, or it never began.
	}
	switch s.Reason {
	case "Evicted":
		if !v.evicted && !v.before || s.Phase != v1.PodFailed {
			v.addFault("it has %s, by an eviction that was not", s.Phase)
		}
		return
	case "DeadlineExceeded":
		if v.pod.Spec.ActiveDeadlineSeconds == nil && !v.overdue || s.Phase != v1.PodFailed {
			v.addFault("it has %s, by a deadline that it has not", s.Phase)
		}
		return
	case "OutOfpods":
		if !v.crowded {
			v.addFault("it was refused without a reason")
		}
		return
	}
	v.checkCompleted()
}

// checkCompleted checks a pod that has terminated by itself. None of its containers may run again, or an init container
// has failed for good.
func (v *verdict) checkCompleted() {
	s, success := v.status, true
	for i := range v.pod.Spec.InitContainers {
		c := &v.pod.Spec.InitContainers[i]
		if end := lastEnd(findContainer(s.InitContainerStatuses, c.Name)); !isRestartable(c) && end != nil && end.ExitCode != 0 && !restartsAfter(v.pod, c, end.ExitCode) {
			if s.Phase != v1.PodFailed {
				v.addFault("init container %s has failed and the pod has %s", c.Name, s.Phase)
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
			v.addFault("it has %s and %s never ran", s.Phase, c.Name)
		case restartsAfter(v.pod, c, end.ExitCode):
			v.addFault("it has %s and %s, which ended with %d, is to run again", s.Phase, c.Name, end.ExitCode)
		default:
			success = success && end.ExitCode == 0
		}
	}
	if success != (s.Phase == v1.PodSucceeded) {
		v.addFault("it has %s", s.Phase)
	}
}

// checkActive checks a pod that has not terminated. Nothing may require it to terminate, and every container that has a
// reason to run must run.
func (v *verdict) checkActive() {
	if v.pod.Spec.ActiveDeadlineSeconds != nil {
		v.addFault("its deadline is over")
	}
	if v.evicted && !v.forgot {
		v.addFault("it was evicted")
	}
	for i := range v.pod.Spec.InitContainers {
		c := &v.pod.Spec.InitContainers[i]
		st := findContainer(v.status.InitContainerStatuses, c.Name)
		if isRestartable(c) {
			v.checkMustRun(c, st)
		} else if end := lastEnd(st); (end == nil || end.ExitCode != 0) && v.isReached(c) {
			v.addFault("init container %s has not succeeded: %v", c.Name, describeStatus(st))
		}
	}
	// In a new sandbox the policy of the pod decides which containers run again, and not
	// theirs: it begins with its init containers for the sake of one under Never too, and
	// may never be done with them. A container that the node has stopped for that waits.
	open := false
	for i := range v.pod.Spec.Containers {
		c := &v.pod.Spec.Containers[i]
		st := findContainer(v.status.ContainerStatuses, c.Name)
		if end := lastEnd(st); slices.Contains(v.runs, c.Name) || end == nil || restartsAfter(v.pod, c, end.ExitCode) || wasTold(c, st) || end.Reason == "RestartingAllContainers" ||
			!v.isReached(c) && (st.State.Waiting != nil || againInNewSandbox(v.pod, end.ExitCode)) {
			open = true
			v.checkMustRun(c, st)
		}
	}
	if !open {
		v.addFault("it is %s and has nothing left to do", v.status.Phase)
	}
	for i := range v.pod.Spec.EphemeralContainers {
		name := v.pod.Spec.EphemeralContainers[i].Name
		if st := findContainer(v.status.EphemeralContainerStatuses, name); !slices.Contains(v.runs, name) && lastEnd(st) == nil {
			v.addFault("%s has neither run nor ended: %v", name, describeStatus(st))
		}
	}
}

// wasTold reports whether this node may have stopped a container that waits for its
// restart, so that its exit code says nothing about the container.
func wasTold(c *v1.Container, st *v1.ContainerStatus) bool {
	stoppable := c.LivenessProbe != nil || c.StartupProbe != nil || c.Lifecycle != nil && c.Lifecycle.PostStart != nil
	return stoppable && st.State.Waiting != nil && st.State.Waiting.Reason == "CrashLoopBackOff"
}

// checkMustRun checks a container that has a reason to run. It runs, or waits because it fails repeatedly. If it runs,
// it must be ready, because all probes succeed in the end.
func (v *verdict) checkMustRun(c *v1.Container, st *v1.ContainerStatus) {
	steady := v.runsForever(c)
	switch runs := slices.Contains(v.runs, c.Name); {
	case !runs && steady:
		v.addFault("%s does not run: %v", c.Name, describeStatus(st))
	case runs && steady && (st == nil || !st.Ready):
		v.addFault("%s runs and is not ready: %v", c.Name, describeStatus(st))
	}
}

// runsForever reports whether a container runs until it is stopped after enough starts.
func (v *verdict) runsForever(c *v1.Container) bool {
	script := v.pod.Annotations[memory.AnnotationPrefix+c.Name]
	runs := strings.Split(script, ";")
	if !strings.Contains(runs[len(runs)-1], "run=forever") {
		return false
	}
	if c.Lifecycle != nil && c.Lifecycle.PostStart != nil && strings.Trim(v.scriptOf(c, "post-start"), "ok") != "" {
		return false
	}
	if p := c.StartupProbe; p != nil && v.scriptOf(c, "startup") != "ok" {
		if p.PeriodSeconds*(p.FailureThreshold-1) < 12 {
			return false // It is killed before it says yes.
		}
	}
	if c.LivenessProbe != nil && v.scriptOf(c, "liveness") != "ok" {
		return false
	}
	// The whole pod may be restarted again and again because of another container.
	for i := range v.pod.Spec.Containers {
		o := &v.pod.Spec.Containers[i]
		if len(o.RestartPolicyRules) > 0 && o.RestartPolicyRules[0].Action == v1.ContainerRestartRuleActionRestartAllContainers {
			return false
		}
	}
	return v.isReached(c)
}

// isReached reports whether a container starts in the end, because everything before it completes or starts.
func (v *verdict) isReached(c *v1.Container) bool {
	for i := range v.pod.Spec.InitContainers {
		before := &v.pod.Spec.InitContainers[i]
		if before.Name == c.Name {
			break
		}
		if isRestartable(before) && before.StartupProbe != nil && !v.runsForever(before) {
			return false
		}
		if before.Lifecycle != nil && before.Lifecycle.PostStart != nil && !v.runsForever(before) {
			return false
		}
	}
	for i := range v.pod.Spec.Containers {
		before := &v.pod.Spec.Containers[i]
		if before.Name == c.Name {
			break
		}
		if v.scriptOf(before, "post-start") == "hang" && before.Lifecycle.PostStart != nil {
			return false // It holds up those behind it, again and again.
		}
	}
	return true
}

func (v *verdict) scriptOf(c *v1.Container, purpose string) string {
	return v.pod.Annotations[memory.AnnotationPrefix+c.Name+"."+purpose]
}

func isRestartable(c *v1.Container) bool {
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

// restartsAfter reports whether a container restarts after this exit code.
func restartsAfter(pod *v1.Pod, c *v1.Container, code int32) bool {
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

// describeStatus returns a container status in one line.
func describeStatus(st *v1.ContainerStatus) string {
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
