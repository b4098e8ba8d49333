package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// TestResizes runs testdata/resize/resize.txt. Each block is the story of one pod in the sandbox s0. The first lines
// describe the pod, the other lines are commands:
//
//	limits cpu=4 memory=8Gi           the limits of the pod as a whole
//	unsupported                       the runtime cannot update a running container
//	not-initialized | deleted         the state of the pod
//	announced                         the pod has the condition PodResizeInProgress with generation 3
//	a [sidecar|init] cpu=1/2 memory=1Gi/ has-cpu=1/1 restart=cpu [startup] [exited|failed|none]
//	                                  a container: its request and limit in the spec, then those that it has;
//	                                  restart names the resource whose resize requires a restart; startup means
//	                                  that its startup probe has not succeeded
//	decide                            the steps
//	update [error]                    performs the steps UpdateContainer up to an error
//	status                            the resources in the status, also of a pod with limits, and the condition PodResizeInProgress
//	spec a cpu=2/2                    the spec changes
func TestResizes(t *testing.T) {
	datadriven.RunTest(t, "testdata/resize/resize.txt", func(t *testing.T, d *datadriven.TestData) string {
		s := &resizeStory{t: t, supported: true, pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Name: "p", Namespace: "ns", Generation: 7}}}
		s.memory.Initialized = "s0"
		s.records = &runtime.PodStatus{UID: "u", Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s0", Incarnation: 1, Ready: true}, IPs: []string{"10.0.0.1"}}}}
		var b strings.Builder
		for line := range strings.Lines(d.Input) {
			if text := s.runCommand(strings.Fields(line)); text != "" {
				fmt.Fprintf(&b, "%s\n%s", strings.TrimSpace(line), text)
			}
		}
		return b.String()
	})
}

// resizeStory is one pod with its records and its published status.
type resizeStory struct {
	t         *testing.T
	pod       *v1.Pod
	records   *runtime.PodStatus
	published v1.PodStatus
	memory    plan.Memory
	supported bool
	updates   []plan.Step
	podValues *podresources.PodValues
}

func (s *resizeStory) runCommand(words []string) string {
	switch words[0] {
	case "limits":
		s.pod.Spec.Resources = &v1.ResourceRequirements{Limits: v1.ResourceList{}}
		for _, word := range words[1:] {
			name, value, _ := strings.Cut(word, "=")
			s.pod.Spec.Resources.Limits[v1.ResourceName(name)] = resource.MustParse(value)
		}
	case "unsupported":
		s.supported = false
	case "not-initialized":
		s.memory.Initialized = ""
	case "deleted":
		s.pod.DeletionTimestamp = &metav1.Time{Time: epoch}
	case "announced":
		s.pod.Status.Conditions = append(s.pod.Status.Conditions, v1.PodCondition{
			Type: v1.PodResizeInProgress, Status: v1.ConditionTrue, ObservedGeneration: 3, LastTransitionTime: metav1.Time{Time: epoch},
		})
	case "decide":
		return s.describeDecision()
	case "update":
		for _, step := range s.updates {
			message := ""
			if len(words) > 1 {
				message = "refused"
			}
			if s.memory = s.memory.RecordUpdate(step, message); message != "" {
				break
			}
		}
	case "status":
		return s.describeStatus()
	case "spec":
		for _, list := range [][]v1.Container{s.pod.Spec.InitContainers, s.pod.Spec.Containers} {
			for i := range list {
				if list[i].Name == words[1] {
					list[i].Resources, _ = s.parseResources(words[2:])
				}
			}
		}
	default:
		s.addContainer(words)
	}
	return ""
}

// parseResources parses "cpu=1/2 has-cpu=1/1".
func (s *resizeStory) parseResources(words []string) (want, have v1.ResourceRequirements) {
	has := false
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		request, limit, _ := strings.Cut(value, "/")
		name, own := strings.CutPrefix(name, "has-")
		has = has || own
		if name != "cpu" && name != "memory" {
			continue
		}
		r := &want
		if own {
			r = &have
		}
		for list, amount := range map[*v1.ResourceList]string{&r.Requests: request, &r.Limits: limit} {
			if amount == "" {
				continue
			}
			if *list == nil {
				*list = v1.ResourceList{}
			}
			(*list)[v1.ResourceName(name)] = resource.MustParse(amount)
		}
	}
	if !has {
		have = want
	}
	return want, have
}

func (s *resizeStory) addContainer(words []string) {
	c := v1.Container{Name: words[0], Image: "img"}
	init, state, code := false, runtime.StateRunning, int32(0)
	for _, word := range words[1:] {
		switch {
		case word == "sidecar":
			init, c.RestartPolicy = true, new(v1.ContainerRestartPolicyAlways)
		case word == "init":
			init = true
		case word == "exited":
			state = runtime.StateExited
		case word == "failed":
			state, code = runtime.StateExited, 1
		case word == "startup":
			c.StartupProbe = &v1.Probe{}
		case word == "none":
			state = runtime.StateUnknown
		case strings.HasPrefix(word, "restart="):
			c.ResizePolicy = append(c.ResizePolicy, v1.ContainerResizePolicy{ResourceName: v1.ResourceName(word[8:]), RestartPolicy: v1.RestartContainer})
		}
	}
	want, have := s.parseResources(words[1:])
	c.Resources = want
	rec := runtime.ContainerStatus{Container: runtime.Container{ID: c.Name + "0", Name: c.Name, SandboxID: "s0", Incarnation: 1, State: state}, StartedAt: epoch}
	rec.Annotations = map[string]string{plan.HashAnnotation: plan.SpecHash(&c)}
	status := v1.ContainerStatus{Name: c.Name, ContainerID: "test://" + rec.ID, AllocatedResources: have.Requests, Resources: &have}
	status.State.Running = &v1.ContainerStateRunning{StartedAt: metav1.Time{Time: epoch}}
	if state == runtime.StateExited {
		rec.FinishedAt, rec.ExitCode = epoch.Add(59*time.Second), code
	}
	if state != runtime.StateUnknown {
		s.records.Containers = append(s.records.Containers, rec)
	}
	if init {
		s.pod.Spec.InitContainers = append(s.pod.Spec.InitContainers, c)
		s.published.InitContainerStatuses = append(s.published.InitContainerStatuses, status)
		return
	}
	s.pod.Spec.Containers = append(s.pod.Spec.Containers, c)
	s.published.ContainerStatuses = append(s.published.ContainerStatuses, status)
}

func (s *resizeStory) describeDecision() string {
	d := plan.Decide(s.pod, s.records, plan.Input{Incarnation: 1, Addresses: true, Resizes: s.supported, Now: epoch.Add(time.Minute), Memory: s.memory, Published: &s.published})
	s.memory, s.updates = d.Memory, nil
	var b strings.Builder
	for _, step := range d.Steps {
		fmt.Fprintf(&b, "  %s %s: %s", step.Op, step.Name, step.Reason)
		if step.Op == plan.UpdateContainer {
			s.updates = append(s.updates, step)
			limit, found := step.Limit()
			fmt.Fprintf(&b, ", %s, decrease %t", step.Resource, step.Decrease)
			if found {
				fmt.Fprintf(&b, ", limit %s", limit.String())
			}
		}
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return "  nothing\n"
	}
	return b.String()
}

func (s *resizeStory) describeStatus() string {
	status := plan.Status(plan.StatusInput{
		Pod: s.pod, Runtime: s.records, Incarnation: 1, Addresses: true, Resizes: s.supported, Old: s.published.DeepCopy(), Memory: s.memory, PodValues: s.podValues, RuntimeName: "test",
	})
	var b strings.Builder
	for _, list := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			c := &list[i]
			fmt.Fprintf(&b, "  %s allocated %s has %s\n", c.Name, describeList(c.AllocatedResources), describeRequirements(c.Resources))
		}
	}
	if status.Resources != nil {
		fmt.Fprintf(&b, "  pod allocated %s has %s\n", describeList(status.AllocatedResources), describeRequirements(status.Resources))
	}
	for _, c := range status.Conditions {
		if c.Type == v1.PodResizeInProgress {
			fmt.Fprintf(&b, "  %s generation %d %s %s\n", c.Type, c.ObservedGeneration, c.Reason, c.Message)
		}
	}
	var completed bool
	if s.memory, completed = s.memory.RecordResizeCompleted(s.pod, &status); completed {
		b.WriteString("  completed\n")
	}
	s.published = status
	return b.String()
}

func describeList(list v1.ResourceList) string {
	var words []string
	for _, name := range []v1.ResourceName{"cpu", "memory"} {
		if amount, found := list[name]; found {
			words = append(words, amount.String())
		}
	}
	return "[" + strings.Join(words, " ") + "]"
}

func describeRequirements(r *v1.ResourceRequirements) string {
	if r == nil {
		return "nothing"
	}
	return describeList(r.Requests) + describeList(r.Limits)
}

// TestMemory_RecordUpdate_Value: a copy of a Memory does not change.
func TestMemory_RecordUpdate_Value(t *testing.T) {
	s := &resizeStory{t: t, supported: true, pod: &v1.Pod{}}
	s.memory.Initialized = "s0"
	s.records = &runtime.PodStatus{Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s0", Incarnation: 1, Ready: true}, IPs: []string{"1"}}}}
	s.addContainer([]string{"a", "cpu=2/2", "has-cpu=1/1"})
	s.describeDecision()
	require.Len(t, s.updates, 1)
	failed := s.memory.RecordUpdate(s.updates[0], "x")
	before := s.memory
	done := failed.RecordUpdate(s.updates[0], "")
	assert.Equal(t, before, s.memory)
	s.memory = failed
	assert.Contains(t, s.describeStatus(), "Error x")
	s.memory = done
	assert.NotContains(t, s.describeStatus(), "PodResizeInProgress")
}

// RZ-32, RZ-50: a container that no published status shows has the resources that the runtime reports, whether an
// earlier agent has started it or has only created it before a resize. The first decision after its start updates it.
// A container that has exited shows the resources of its spec.
func TestStatus_RZ32_RZ50_ReportedResources(t *testing.T) {
	for state, want := range map[runtime.State]string{runtime.StateCreated: "3", runtime.StateRunning: "3", runtime.StateExited: "2"} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Name: "p", Namespace: "ns"}}
		pod.Spec.Containers = []v1.Container{{Name: "a", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}}}}
		records := &runtime.PodStatus{UID: "u", Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s0", Incarnation: 1, Ready: true}, IPs: []string{"10.0.0.1"}}}}
		records.Containers = []runtime.ContainerStatus{{
			Container: runtime.Container{ID: "c1", Name: "a", SandboxID: "s0", Incarnation: 1, State: state}, Resources: &runtime.Resources{CPUShares: 3072},
		}}
		status := plan.Status(plan.StatusInput{Pod: pod, Runtime: records, Incarnation: 1, Addresses: true, Resizes: true, RuntimeName: "test"})
		c := status.ContainerStatuses[0]
		require.NotNil(t, c.Resources, state)
		assert.Equal(t, want, c.Resources.Requests.Cpu().String(), "%s", state)
		assert.Equal(t, "2", c.AllocatedResources.Cpu().String(), "%s", state)
	}
}

// RZ-47: a resize is not complete while the cgroup of the pod keeps a larger limit, or has other resources than a pod with
// resources of its own. Without an announced resize such a difference is no resize.
func TestStatus_RZ47_CgroupOfPod(t *testing.T) {
	s := &resizeStory{t: t, supported: true, pod: &v1.Pod{}}
	s.records = &runtime.PodStatus{Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s0", Incarnation: 1, Ready: true}, IPs: []string{"1"}}}}
	s.addContainer([]string{"a", "cpu=1/1"})
	s.memory = s.memory.RecordCgroupLimit("in use")
	assert.NotContains(t, s.describeStatus(), "PodResizeInProgress", "no resize is announced")
	s.runCommand([]string{"announced"})
	assert.Contains(t, s.describeStatus(), "PodResizeInProgress generation 3 Error in use")
	assert.Equal(t, "in use", s.memory.ResizeError())
	s.memory = s.memory.RecordCgroupLimit("")
	assert.Contains(t, s.describeStatus(), "completed")
	s.memory = s.memory.RecordCgroupLimit("in use")
	assert.NotContains(t, s.describeStatus(), "PodResizeInProgress", "the resize was complete")

	s.runCommand([]string{"limits", "cpu=2"})
	s.pod.Status.Conditions[0].LastTransitionTime = metav1.Time{Time: epoch.Add(time.Second)}
	s.memory = s.memory.RecordCgroupLimit("")
	values := podresources.ValuesForPod(s.pod, podresources.Policy{})
	s.podValues = &podresources.PodValues{CPUQuota: podresources.Finite(400000), CPUPeriod: values.CPUPeriod}
	assert.Contains(t, s.describeStatus(), "pod allocated [1] has [][4]\n  PodResizeInProgress generation 3")
	s.podValues = &values
	assert.Contains(t, s.describeStatus(), "pod allocated [1] has [][2]\n  completed")
}
