package podtest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/runtime/memory"
)

// TestContainer_Scripts: each option is a word of the script of the in-memory runtime, and ParseScript reads the
// same script.
func TestContainer_Scripts(t *testing.T) {
	for _, c := range []struct {
		options []podtest.ContainerOption
		want    string
	}{
		{nil, ""},
		{[]podtest.ContainerOption{podtest.Image("x:2")}, ""},
		{[]podtest.ContainerOption{podtest.Exits(1)}, "run=0s exit=1"},
		{[]podtest.ContainerOption{podtest.Exits(1), podtest.Runs(90 * time.Second)}, "run=1m30s exit=1"},
		{[]podtest.ContainerOption{podtest.Runs(time.Second)}, "run=1s exit=0"},
		{[]podtest.ContainerOption{podtest.RunsForever()}, "run=forever"},
		{[]podtest.ContainerOption{podtest.RunsForever(), podtest.Exits(0)}, "run=forever exit=0"},
		{[]podtest.ContainerOption{podtest.IgnoresTERM(), podtest.StartsAfter(time.Second)}, "run=forever start-delay=1s ignore-term"},
		{[]podtest.ContainerOption{podtest.FailsToPull(), podtest.Then()}, "run=forever fail=image; run=forever"},
		{[]podtest.ContainerOption{podtest.FailsToCreate(), podtest.Then(podtest.FailsToStart()), podtest.Then(podtest.Exits(3))}, "run=forever fail=create; run=forever fail=start; run=0s exit=3"},
		{[]podtest.ContainerOption{podtest.Then(podtest.Exits(3))}, "run=forever; run=0s exit=3"},
		{[]podtest.ContainerOption{podtest.IsOOMKilled(), podtest.Message("used 2 GiB")}, `run=0s exit=137 reason=OOMKilled message="used 2 GiB"`},
		{[]podtest.ContainerOption{podtest.Uses("memory=64Mi,cpu=250m,disk=1Gi"), podtest.Exits(1)}, "run=0s exit=1 cpu=250m memory=64Mi disk=1Gi"},
		{[]podtest.ContainerOption{podtest.UsesMemory(5*time.Second, "1Gi"), podtest.UsesMemory(time.Second, "64Mi"), podtest.Then(podtest.Uses("receive=1k"))}, "run=forever memory@1s=64Mi memory@5s=1Gi; run=forever receive=1k"},
		{[]podtest.ContainerOption{podtest.Prints(time.Second, "b"), podtest.Prints(0, "a a")}, `run=forever print="a a" print@1s="b"`},
	} {
		pod := podtest.Pod("web").Container("c", c.options...).Build(t)
		got := pod.Annotations["memory.podkeel.dev/c"]
		assert.Equal(t, c.want, got)
		if c.want == "" {
			continue
		}
		script, err := memory.ParseScript(got)
		require.NoError(t, err)
		assert.Equal(t, got, script.String())
	}
}

// TestProbe: a probe has its times and its results, and belongs to the last container.
func TestProbe(t *testing.T) {
	pod := podtest.Pod("web").Container("a").Sidecar("s").
		Probe(podtest.Startup, podtest.FailsFor(time.Second), podtest.HangsFor(time.Minute), podtest.Takes(2*time.Second), podtest.Every(5*time.Second), podtest.After(time.Second), podtest.TimesOut(3*time.Second), podtest.Threshold(9)).
		Probe(podtest.Liveness, podtest.SucceedsFor(time.Minute), podtest.Fails()).
		Container("b").Probe(podtest.Readiness).Hook(podtest.PreStop, podtest.Hangs()).Hook(podtest.PostStart).Build(t)
	assert.Equal(t, map[string]string{
		"memory.podkeel.dev/s.startup":  "fail for=1s; hang for=1m0s; ok takes=2s",
		"memory.podkeel.dev/s.liveness": "ok for=1m0s; fail",
		"memory.podkeel.dev/b.pre-stop": "hang",
	}, pod.Annotations)
	s := pod.Spec.InitContainers[0]
	assert.Equal(t, v1.ContainerRestartPolicyAlways, *s.RestartPolicy)
	assert.Equal(t, []int32{5, 1, 3, 9}, []int32{s.StartupProbe.PeriodSeconds, s.StartupProbe.InitialDelaySeconds, s.StartupProbe.TimeoutSeconds, s.StartupProbe.FailureThreshold})
	assert.Nil(t, pod.Spec.Containers[0].ReadinessProbe)
	assert.NotNil(t, pod.Spec.Containers[1].ReadinessProbe)
	assert.NotNil(t, pod.Spec.Containers[1].Lifecycle.PostStart)
	assert.NotNil(t, pod.Spec.Containers[1].Lifecycle.PreStop)
}

// TestObject_Defaults: a pod has a UID that is unique for its name, and an API server accepts the pod.
func TestObject_Defaults(t *testing.T) {
	b := podtest.Pod("web").Label("app", "web").Node("n1").RestartPolicy(v1.RestartPolicyNever).GracePeriod(5*time.Second).
		Container("c", podtest.Requests("cpu=100m,memory=64Mi"), podtest.Limits("cpu=1"), podtest.Command("serve")).
		Edit(func(pod *v1.Pod) { pod.Spec.Hostname = "h" })
	pod := b.Build(t)
	assert.Equal(t, []any{"default", "web", "web", "c:1", "n1", "h"}, []any{pod.Namespace, string(pod.UID), pod.Labels["app"], pod.Spec.Containers[0].Image, pod.Spec.NodeName, pod.Spec.Hostname})
	assert.Equal(t, "64Mi", pod.Spec.Containers[0].Resources.Requests.Memory().String())
	validation.Default(pod)
	assert.Empty(t, validation.Validate(pod))
	assert.NotSame(t, b.Build(t), b.Build(t))
	assert.Equal(t, "team_web", string(podtest.Pod("team/web").Build(t).UID))
	assert.Equal(t, "u", string(podtest.Pod("team/web").UID("u").Build(t).UID))
}

// TestObject_Faults: each fault is one sentence, and all are reported at once.
func TestObject_Faults(t *testing.T) {
	for _, c := range []struct {
		builder *podtest.PodBuilder
		want    string
	}{
		{podtest.Pod("web").Probe(podtest.Readiness).Hook(podtest.PreStop), "podtest: Probe: the pod has no container yet: call Container first\npodtest: Hook: the pod has no container yet: call Container first"},
		{podtest.Pod("web").Container("c").Probe("x").Hook("y"), "podtest: Probe: there is no probe \"x\": expected Readiness, Liveness or Startup\npodtest: Hook: there is no hook \"y\": expected PostStart or PreStop"},
		{podtest.Pod("web").Container("c", podtest.Requests("cpu=much")), `podtest: Requests("cpu=much"): "cpu=much" is not a resource as cpu=100m or memory=64Mi`},
		{podtest.Pod("web").Container("c", podtest.Uses("memory=much"), podtest.Then(podtest.Uses("exit=3"))), "podtest: Uses(\"memory=much\"): expected cpu, memory, disk, receive or transmit, as memory=64Mi,cpu=250m\npodtest: Uses(\"exit=3\"): expected"},
		{podtest.Pod("web").Container("c", podtest.UsesMemory(time.Second, "-1Mi"), podtest.Then(podtest.UsesMemory(-time.Second, "1"))), "podtest: UsesMemory(1s, \"-1Mi\"): expected a time of zero or more, and an amount as 64Mi\npodtest: UsesMemory(-1s, \"1\"): "},
		{podtest.Pod("web").GracePeriod(time.Millisecond), "podtest: GracePeriod(1ms): expected whole seconds"},
		{podtest.Pod("web").Container("c", podtest.Exits(300)), "podtest: pod web: annotation memory.podkeel.dev/c: memory: bad script: run 1: \"exit=300\": not an exit code from 0 to 255"},
		{podtest.FromYAML("{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {memory.podkeel.dev/d: exit=1, memory.podkeel.dev/c.startup: perhaps}}, spec: {containers: [{name: c}]}}"), "podtest: pod a: annotation memory.podkeel.dev/c.startup: memory: bad script: answer 1: \"perhaps\""},
		{podtest.FromYAML("{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, imagee: x}]}}"), "podtest: FromYAML: line 1: "},
		{podtest.FromYAML("{apiVersion: apps/v1, kind: Deployment}"), "podtest: FromYAML: line 1: the document is not a Pod"},
		{podtest.FromYAML(""), "podtest: FromYAML: the text has 0 documents: expected one Pod"},
	} {
		_, err := c.builder.Object()
		require.Error(t, err)
		assert.True(t, strings.HasPrefix(err.Error(), c.want), "%s", err)
	}
}

// failing is a testing.TB that ends a goroutine as a failed test does.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Helper() {}
func (f *failing) Fatal(args ...any) {
	f.message = args[0].(error).Error()
	panic(f)
}

// TestBuild_Fault: a fault ends the test.
func TestBuild_Fault(t *testing.T) {
	f := &failing{}
	assert.Panics(t, func() { podtest.FromYAML("x").Build(f) })
	assert.Contains(t, f.message, "podtest: FromYAML: ")
}

// TestFromYAML_Container: Container changes the container of the manifest, and Probe without Container concerns its
// last container.
func TestFromYAML_Container(t *testing.T) {
	const manifest = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {initContainers: [{name: i, image: i:7}], containers: [{name: c, image: c:7}]}}"
	pod := podtest.FromYAML(manifest).Probe(podtest.Liveness).Container("i", podtest.Exits(1)).Container("d").Build(t)
	assert.Equal(t, map[string]string{"memory.podkeel.dev/i": "run=0s exit=1"}, pod.Annotations)
	require.Len(t, pod.Spec.Containers, 2)
	assert.Equal(t, "c:7", pod.Spec.Containers[0].Image)
	assert.NotNil(t, pod.Spec.Containers[0].LivenessProbe)
	assert.Equal(t, "i:7", pod.Spec.InitContainers[0].Image)
}
