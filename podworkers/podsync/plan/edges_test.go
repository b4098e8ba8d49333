package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

func TestOp_String(t *testing.T) {
	assert.Equal(t, "StopPod", plan.StopPod.String())
	assert.Equal(t, "StartContainer", plan.StartContainer.String())
	assert.Equal(t, "unknown", plan.Op(0).String())
	assert.Equal(t, "unknown", (plan.UpdateContainer + 1).String())
}

func TestWhy_Replaces(t *testing.T) {
	for why, want := range map[plan.Why]bool{
		plan.WhyLiveness: true, plan.WhyStartup: true, plan.WhySpecChanged: true, plan.WhyResize: true, plan.WhyNotInSpec: false, "": false,
	} {
		assert.Equal(t, want, why.StopsForNextAttempt(), why)
	}
}

// It matters who stopped a regular container only where a success is its end.
func TestRestartsOnlyOnFailure(t *testing.T) {
	pod := newHarness(t, "pod init=i main=a,b,c policy=Never\nspec b policy=OnFailure\nspec c policy=Always").pod
	assert.False(t, plan.RestartsOnlyOnFailure(pod, "a"))
	assert.True(t, plan.RestartsOnlyOnFailure(pod, "b"))
	assert.False(t, plan.RestartsOnlyOnFailure(pod, "c"))
	pod.Spec.RestartPolicy = v1.RestartPolicyOnFailure
	assert.True(t, plan.RestartsOnlyOnFailure(pod, "a"))
	assert.False(t, plan.RestartsOnlyOnFailure(pod, "i"))
	assert.False(t, plan.RestartsOnlyOnFailure(pod, "x"))
}

// Of records with one number and one time the greater ID is the newer, in whatever order.
func TestNewer_ByID(t *testing.T) {
	for _, ids := range [][2]string{{"x", "y"}, {"y", "x"}} {
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}}}}
		seen := &runtime.PodStatus{}
		for _, id := range ids {
			seen.Sandboxes = append(seen.Sandboxes, runtime.SandboxStatus{Sandbox: runtime.Sandbox{ID: id, Ready: true}, IPs: []string{"10.0.0.1"}})
			seen.Containers = append(seen.Containers, runtime.ContainerStatus{Container: runtime.Container{ID: id, Name: "a", SandboxID: "y", State: runtime.StateRunning}})
		}
		d := plan.Decide(pod, seen, plan.Input{})
		assert.Equal(t, "y", d.SandboxID)
		assert.Equal(t, []plan.Step{
			{Op: plan.StopContainer, ID: "x", Name: "a", Reason: plan.WhyOlderAttempt}, {Op: plan.RemoveSandbox, ID: "x", Reason: plan.WhyDuplicateSandbox},
		}, d.Steps)
	}
}

// A pod may have more containers, or a container more records, than the inline arrays hold. Its names
// may be invalid, because no API server has validated them.
func TestDecide_Sizes(t *testing.T) {
	for _, n := range [][3]int{{0, 16, 0}, {9, 9, 0}, {0, 8, 9}, {0, 17, 0}, {20, 20, 20}} {
		pod := &v1.Pod{}
		seen := &runtime.PodStatus{Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s", Ready: true}, IPs: []string{"10.0.0.1"}}}}
		add := func(name string, state runtime.State) v1.Container {
			rec := runtime.ContainerStatus{Container: runtime.Container{ID: name, Name: name, SandboxID: "s", State: state}}
			seen.Containers = append(seen.Containers, rec)
			return v1.Container{Name: name}
		}
		for i := range n[0] {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, add(fmt.Sprint("i", i), runtime.StateExited))
		}
		for i := range n[1] {
			pod.Spec.Containers = append(pod.Spec.Containers, add(fmt.Sprint("a", i), runtime.StateRunning))
		}
		for i := range n[2] {
			c := add(fmt.Sprint("e", i), runtime.StateRunning)
			pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon(c)})
		}
		for i := range seen.Containers {
			if c := podContainer(pod, seen.Containers[i].Name); c != nil {
				seen.Containers[i].Annotations = map[string]string{plan.HashAnnotation: plan.SpecHash(c)}
			}
		}
		assert.Empty(t, plan.Decide(pod, seen, plan.Input{}).Steps, n)
		status := plan.Status(plan.StatusInput{Pod: pod, Runtime: seen})
		assert.Equal(t, v1.PodRunning, status.Phase, n)
		assert.Len(t, status.ContainerStatuses, n[1])
		add("x", runtime.StateRunning)
		assert.Equal(t, []plan.Step{{Op: plan.StopContainer, ID: "x", Name: "x", Reason: plan.WhyNotInSpec}}, plan.Decide(pod, seen, plan.Input{}).Steps, n)

		pod.Spec.Containers[0].RestartPolicy = new(v1.ContainerRestartPolicyNever)
		pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
			Action: v1.ContainerRestartRuleActionRestartAllContainers, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: "In", Values: []int32{42}},
		}}
		rec := &seen.Containers[n[0]]
		rec.State, rec.ExitCode = runtime.StateExited, 42
		steps := plan.Decide(pod, seen, plan.Input{}).Steps
		assert.Equal(t, plan.Step{Op: plan.RemoveContainer, ID: "a0", Name: "a0", Reason: plan.WhyRestartsAll}, steps[len(steps)-1], n)
	}
}

func podContainer(pod *v1.Pod, name string) *v1.Container {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

func TestDecide_ManyRecords(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: ""}}}}
	for _, n := range []int{1, 31, 32, 33, 100} {
		seen := &runtime.PodStatus{Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s", Ready: true}, IPs: []string{"10.0.0.1"}}}}
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprint(i))
			seen.Containers = append(seen.Containers, runtime.ContainerStatus{Container: runtime.Container{ID: ids[i], SandboxID: "s", State: runtime.StateCreated}})
		}
		steps := plan.Decide(pod, seen, plan.Input{}).Steps
		require.Len(t, steps, 1)
		assert.Equal(t, ids, steps[0].Created)
	}
}

// Another end with the number of the last one is another end: the delay begins there.
func TestDecide_AnotherEndOfOneNumber(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}}}}
	seen := func(id string, at time.Duration) *runtime.PodStatus {
		return &runtime.PodStatus{
			Sandboxes:  []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s", Ready: true}, IPs: []string{"10.0.0.1"}}},
			Containers: []runtime.ContainerStatus{{Container: runtime.Container{ID: id, Name: "a", SandboxID: "s", State: runtime.StateExited}, ExitCode: 1, FinishedAt: epoch.Add(at)}},
		}
	}
	d := plan.Decide(pod, seen("a0", 0), plan.Input{Now: epoch})
	m := d.Memory.RecordAttempt(d.Steps[0], epoch)
	d = plan.Decide(pod, seen("b0", 5*time.Second), plan.Input{Now: epoch.Add(5 * time.Second), Memory: m})
	assert.Equal(t, epoch.Add(15*time.Second), d.NextAt)
}

// A running container keeps its published resources. A new container has the resources in the spec.
func TestStatus_ResourcesOfAContainerThatGoesOn(t *testing.T) {
	cpu := func(q string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(q)} }
	w := newHarness(t, "pod main=a\nsandbox 0 ready\na 0 running")
	w.pod.Spec.Containers[0].Resources.Requests = cpu("1")
	first := plan.Status(w.statusInput(false))
	assert.Equal(t, cpu("1"), first.ContainerStatuses[0].AllocatedResources)
	w.pod.Spec.Containers[0].Resources.Requests = cpu("2")
	old := *first.DeepCopy()
	w.old = &old
	assert.Equal(t, cpu("1"), plan.Status(w.statusInput(false)).ContainerStatuses[0].AllocatedResources)
	w.st.Containers[0].ID = "a1"
	assert.Equal(t, cpu("2"), plan.Status(w.statusInput(false)).ContainerStatuses[0].AllocatedResources)
	w.st.Containers = nil
	old = v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "a", AllocatedResources: cpu("1")}}}
	assert.Equal(t, cpu("2"), plan.Status(w.statusInput(false)).ContainerStatuses[0].AllocatedResources, "there is none")
}

// A list that was published and says the same is used again, whatever the state of its
// containers.
func TestStatus_PublishedServesAgain(t *testing.T) {
	for _, text := range []string{
		"sandbox 0 ready",
		"sandbox 0 ready\ni 0 running",
		"sandbox 0 ready\ni 0 exited=0\ns 0 running\np 0 running\n0 0 running\ne 0 running",
		"sandbox 0 ready\ni 0 exited=0\ns 0 running\np 0 exited=1\np 1 exited=2\n0 0 exited=0\ne 0 exited=0",
		"sandbox 0 ready\ni 0 exited=1\ni 1 running\nreason i X",
		"sandbox 0 ready\ni 0 exited=1\nreason i X",
	} {
		w := newHarness(t, "pod init=i,s* main=0,p ephemeral=e\n"+text)
		w.pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{}
		w.pod.Spec.Containers[1].Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
		first := plan.Status(w.statusInput(false))
		old := *first.DeepCopy()
		w.old = &old
		second := plan.Status(w.statusInput(false))
		assert.Same(t, &old.InitContainerStatuses[0], &second.InitContainerStatuses[0], text)
		assert.Same(t, &old.ContainerStatuses[0], &second.ContainerStatuses[0], text)
		assert.Same(t, &old.EphemeralContainerStatuses[0], &second.EphemeralContainerStatuses[0], text)
		assert.Equal(t, first, second, text)
		for i := range old.InitContainerStatuses { // A missing field is set again.
			old.InitContainerStatuses[i].Started = nil
		}
		old.EphemeralContainerStatuses[0].Started = new(true)
		for i := range old.ContainerStatuses {
			if waiting := old.ContainerStatuses[i].State.Waiting; waiting != nil {
				waiting.Reason = "other"
			}
		}
		assert.Equal(t, first, plan.Status(w.statusInput(false)), text)
	}
}

// The status has the current addresses of the node. The addresses of the sandbox stand in the order
// of the node's address families.
func TestStatus_Addresses(t *testing.T) {
	w := newHarness(t, "pod main=a\nsandbox 0 ready")
	w.old = &v1.PodStatus{HostIPs: []v1.HostIP{{IP: "192.0.2.9"}}}
	w.st.Sandboxes[0].IPs = []string{"fd00::1", "10.0.0.1"}
	status := plan.Status(w.statusInput(false))
	assert.Equal(t, []v1.HostIP{{IP: "192.0.2.1"}}, status.HostIPs)
	assert.Equal(t, []v1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}, status.PodIPs)
	in := w.statusInput(false)
	in.HostIPs = []string{"fd00::9", "192.0.2.1"}
	assert.Equal(t, []v1.PodIP{{IP: "fd00::1"}, {IP: "10.0.0.1"}}, plan.Status(in).PodIPs)
	w.st.Sandboxes[0].IPs = []string{"10.0.0.1", "10.0.0.2"}
	assert.Equal(t, []v1.PodIP{{IP: "10.0.0.1"}}, plan.Status(w.statusInput(false)).PodIPs)
}

// While a container that has ended for good by its policy is being started again, its pod
// has not ended.
func TestStatus_StartingIsNoEnd(t *testing.T) {
	w := newHarness(t, "pod main=a policy=OnFailure\nsandbox 0 ready\na 0 exited=0")
	assert.Equal(t, v1.PodSucceeded, plan.Status(w.statusInput(false)).Phase)
	w.readLine("starting", strings.Fields("a 1"))
	assert.Equal(t, v1.PodRunning, plan.Status(w.statusInput(false)).Phase)
}
