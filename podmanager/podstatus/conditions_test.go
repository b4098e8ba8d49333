package podstatus_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// newPod returns a pod with an ordinary init container, a sidecar, and two regular containers that are not in the order
// of their names.
func newPod() *v1.Pod {
	always := v1.ContainerRestartPolicyAlways
	return &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "i"}, {Name: "s", RestartPolicy: &always}},
		Containers:     []v1.Container{{Name: "b"}, {Name: "a"}},
	}}
}

func containerStatus(name string, started, ready bool) v1.ContainerStatus {
	return v1.ContainerStatus{Name: name, Started: &started, Ready: ready}
}

func withTermination(c v1.ContainerStatus) v1.ContainerStatus {
	c.LastTerminationState.Terminated = &v1.ContainerStateTerminated{}
	return c
}

func formatCondition(c v1.PodCondition) string {
	return fmt.Sprintf("%s=%s/%s/%s", c.Type, c.Status, c.Reason, c.Message)
}

type list = []v1.ContainerStatus

func TestInitialized(t *testing.T) {
	for name, tc := range map[string]struct {
		phase      v1.PodPhase
		init, main list
		want       string
	}{
		"P1 nothing done":           {"", list{containerStatus("i", false, false), containerStatus("s", false, false)}, list{}, "False/ContainersNotInitialized/containers with incomplete status: [i s]"},
		"P4 init is running":        {"", list{containerStatus("i", true, false), containerStatus("s", false, false)}, list{}, "False/ContainersNotInitialized/containers with incomplete status: [i s]"},
		"P7 sidecar not started":    {"", list{containerStatus("i", false, true), containerStatus("s", false, true)}, list{}, "False/ContainersNotInitialized/containers with incomplete status: [s]"},
		"sidecar need not be ready": {"", list{containerStatus("i", false, true), containerStatus("s", true, false)}, list{}, "True//"},
		"no word of started":        {"", list{containerStatus("i", false, true), {Name: "s", Ready: true}}, list{}, "False/ContainersNotInitialized/containers with incomplete status: [s]"},
		"no status of one":          {"", list{containerStatus("s", false, false)}, list{}, "False/ContainersNotInitialized/containers with unknown status: [i], containers with incomplete status: [s]"},
		"P8 a regular one ran":      {"", list{containerStatus("i", false, true), containerStatus("s", false, false)}, list{withTermination(containerStatus("a", false, false))}, "True//"},
		"P16 over":                  {v1.PodSucceeded, nil, nil, "True/PodCompleted/"},
		"P6 failed":                 {v1.PodFailed, list{containerStatus("i", false, false), containerStatus("s", false, false)}, list{}, "False/ContainersNotInitialized/containers with incomplete status: [i s]"},
		"P33 no statuses":           {"", nil, nil, "False/UnknownContainerStatuses/"},
	} {
		s := &v1.PodStatus{Phase: tc.phase, InitContainerStatuses: tc.init, ContainerStatuses: tc.main}
		assert.Equal(t, "Initialized="+tc.want, formatCondition(podstatus.InitializedCondition(newPod(), s)), name)
	}
	assert.Equal(t, "Initialized=True//", formatCondition(podstatus.InitializedCondition(&v1.Pod{}, &v1.PodStatus{})), "nothing to initialize")
}

func TestContainersReady(t *testing.T) {
	ready := list{containerStatus("a", true, true), containerStatus("b", true, true)}
	sidecar := list{containerStatus("i", false, false), containerStatus("s", true, true)}
	for name, tc := range map[string]struct {
		phase      v1.PodPhase
		init, main list
		want       string
	}{
		"P9 all ready, init does not count": {v1.PodRunning, sidecar, ready, "True//"},
		"P8 sidecar not ready":              {v1.PodRunning, list{containerStatus("i", false, true), containerStatus("s", false, false)}, ready, "False/ContainersNotReady/containers with unready status: [s]"},
		"order of the spec":                 {v1.PodRunning, sidecar, list{containerStatus("a", true, false), containerStatus("b", true, false)}, "False/ContainersNotReady/containers with unready status: [b a]"},
		"no status of one":                  {v1.PodRunning, sidecar, list{containerStatus("a", true, false)}, "False/ContainersNotReady/containers with unknown status: [b], containers with unready status: [a]"},
		"P33 no statuses":                   {v1.PodPending, nil, nil, "False/UnknownContainerStatuses/"},
		"ST-18 Succeeded":                   {v1.PodSucceeded, sidecar, ready, "False/PodCompleted/"},
		"ST-18 Failed":                      {v1.PodFailed, nil, nil, "False/PodFailed/"},
	} {
		s := &v1.PodStatus{Phase: tc.phase, InitContainerStatuses: tc.init, ContainerStatuses: tc.main}
		assert.Equal(t, "ContainersReady="+tc.want, formatCondition(podstatus.ContainersReadyCondition(newPod(), s)), name)
	}
}

func TestReady_P12(t *testing.T) {
	p := newPod()
	p.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "one"}, {ConditionType: "two"}, {ConditionType: "three"}}
	all := v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionTrue}
	others := []v1.PodCondition{{Type: "three", Status: v1.ConditionTrue}, {Type: "two", Status: v1.ConditionUnknown}}
	assert.Equal(t, `Ready=False/ReadinessGatesNotReady/corresponding condition of pod readiness gate "one" does not exist., the status of pod readiness gate "two" is not "True", but Unknown`,
		formatCondition(podstatus.ReadyCondition(p, others, all)))
	others[1].Status = v1.ConditionTrue
	others = append(others, v1.PodCondition{Type: "one", Status: v1.ConditionTrue})
	assert.Equal(t, "Ready=True//", formatCondition(podstatus.ReadyCondition(p, others, all)))
	not := v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionFalse, Reason: "R", Message: "m"}
	assert.Equal(t, "Ready=False/R/m", formatCondition(podstatus.ReadyCondition(p, nil, not)), "gates are asked when all else is ready")
}

// The owner of a condition: the node owns the conditions that it computes and the conditions that are set on the node.
// Only the rest is copied from other writers.
func TestIsNodeCondition(t *testing.T) {
	for _, c := range []v1.PodConditionType{
		v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled,
		v1.AllContainersRestarting, v1.PodResizePending, v1.PodResizeInProgress, v1.DisruptionTarget,
	} {
		assert.True(t, podstatus.IsNodeCondition(c), c)
	}
	assert.False(t, podstatus.IsNodeCondition("example.com/gate"))
}

// Each field that others write is taken as it is, and nothing else.
func TestTakeForeign(t *testing.T) {
	theirs := v1.PodStatus{
		Phase: v1.PodFailed, NominatedNodeName: "n", ResourceClaimStatuses: []v1.PodResourceClaimStatus{{Name: "a"}},
		ExtendedResourceClaimStatus:          &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "b"},
		NodeAllocatableResourceClaimStatuses: []v1.NodeAllocatableResourceClaimStatus{{}},
	}
	status := v1.PodStatus{Phase: v1.PodRunning}
	podstatus.CopyForeignFields(&status, &theirs)
	theirs.Phase = v1.PodRunning
	assert.Equal(t, theirs, status)
	podstatus.CopyForeignFields(&status, &v1.PodStatus{})
	assert.Equal(t, v1.PodStatus{Phase: v1.PodRunning}, status)
}

// As many conditions of others as there are come with the pod.
func TestConclude_ManyForeignConditions(t *testing.T) {
	p := newPod()
	for i := range 20 {
		p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: v1.PodConditionType(fmt.Sprint("example.com/", i))})
	}
	got := podstatus.Conclude(p, v1.PodStatus{}, podstatus.Observed{}).Conditions
	assert.Equal(t, p.Status.Conditions, got[len(got)-20:])
}
