package nodetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/runtime"
)

// onFailure is a pod with one container that runs again only after a failure.
func onFailure(script string) *v1.Pod {
	p := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyOnFailure, Containers: []v1.Container{{Name: "c", Image: "i"}}}}
	p.UID, p.Name, p.Namespace = "a", "web", "default"
	p.Annotations = map[string]string{"memory.podkeel.dev/c": script}
	return p
}

// findAttempt returns the container of the pod with this attempt, or nil.
func findAttempt(b *Simulation, number uint32) *runtime.ContainerStatus {
	for _, c := range b.Machine().SnapshotStatus("a").Containers {
		if c.Attempt == number {
			return &c
		}
	}
	return nil
}

// TestRules_I30_StoppedBeforeACrash: an agent kills a container whose startup probe
// has failed, makes the next attempt, and crashes before that starts. The container
// ended with 0, but not by itself: the next agent starts what it finds made, and no
// rule is broken.
func TestRules_I30_StoppedBeforeACrash(t *testing.T) {
	p := onFailure("run=forever exit=0")
	p.Annotations["memory.podkeel.dev/c.startup"] = "fail for=4s; ok"
	p.Spec.Containers[0].StartupProbe = &v1.Probe{
		PeriodSeconds: 3, FailureThreshold: 2, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}},
	}
	for _, more := range []int{0, 2} { // The node has learned that the attempt is made, or not.
		b := New(t, Config{})
		b.Apply(p)
		for findAttempt(b, 1) == nil {
			require.True(t, b.Step())
		}
		for range more {
			b.Step()
		}
		require.Equal(t, runtime.StateCreated, findAttempt(b, 1).State)
		require.Equal(t, int32(0), findAttempt(b, 0).ExitCode)
		b.Crash()
		require.Equal(t, runtime.StateCreated, findAttempt(b, 1).State)
		b.Start()
		b.Run(time.Second)
		if assert.NotNil(t, findAttempt(b, 1), b.Transcript()) {
			assert.Equal(t, runtime.StateRunning, findAttempt(b, 1).State)
		}
		b.Stop()
	}
}

// TestRules_I30_EndedByItself: what ended well by itself is not to run again, before a
// crash or after it.
func TestRules_I30_EndedByItself(t *testing.T) {
	for _, crash := range []bool{false, true} {
		failed := &recording{TB: t}
		b := New(failed, Config{})
		b.Apply(onFailure("run=1s exit=0"))
		b.Run(10 * time.Second)
		require.Empty(t, failed.failures)
		first := findAttempt(b, 0)
		require.Equal(t, runtime.StateExited, first.State)
		if crash {
			b.Crash()
		}
		ctx := context.Background()
		ref := runtime.PodRef{UID: "a", Name: "web", Namespace: "default", Incarnation: first.Incarnation}
		box, err := b.Machine().RunSandbox(ctx, runtime.RunSandboxRequest{Pod: ref, Attempt: 7})
		require.NoError(t, err)
		id, err := b.Machine().CreateContainer(ctx, runtime.CreateContainerRequest{Pod: ref, SandboxID: box, Name: "c", Image: first.Image, Attempt: 1})
		require.NoError(t, err)
		require.NoError(t, b.Machine().StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id}))
		b.trace.faults.reportAndClear(failed)
		assert.Equal(t, []string{"nodetest: at 10s: pod default/web: container c runs again after a success"}, failed.failures)
		if crash {
			b.Start()
		}
		b.Stop()
	}
}

// TestRules_I30_EndedWhileItWasToStop: the node has decided to stop a container, and the stop has not reached the
// machine. If the container exits with 0 then, that does not count as success.
func TestRules_I30_EndedWhileItWasToStop(t *testing.T) {
	for _, announced := range []bool{false, true} {
		failed := &recording{TB: t}
		b := New(failed, Config{})
		p := onFailure("run=5s exit=0")
		b.Apply(p)
		b.Run(time.Second)
		if announced {
			b.trace.Event(p, v1.EventTypeNormal, "Killing", "Stopping container c: liveness probe failed")
		}
		b.Run(10 * time.Second)
		b.trace.Event(p, v1.EventTypeNormal, "Killing", "Stopping container c: too late to count")
		first := findAttempt(b, 0)
		ctx := context.Background()
		ref := runtime.PodRef{UID: "a", Name: "web", Namespace: "default", Incarnation: first.Incarnation}
		box, err := b.Machine().RunSandbox(ctx, runtime.RunSandboxRequest{Pod: ref, Attempt: 7})
		require.NoError(t, err)
		id, err := b.Machine().CreateContainer(ctx, runtime.CreateContainerRequest{Pod: ref, SandboxID: box, Name: "c", Image: first.Image, Attempt: 1})
		require.NoError(t, err)
		require.NoError(t, b.Machine().StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id}))
		b.trace.faults.reportAndClear(failed)
		assert.Equal(t, announced, len(failed.failures) == 0)
		b.Stop()
	}
}

// TestRules_I30_InitOfWhichNothingIsLeft: an init container under Never runs again where
// the runtime has lost all records that showed how far the pod was, and only there.
func TestRules_I30_InitOfWhichNothingIsLeft(t *testing.T) {
	rec := runtime.ContainerStatus{Container: runtime.Container{ID: "1", Name: "i", SandboxID: "s", Attempt: 1}}
	p := onFailure("run=forever")
	p.Spec.InitContainers = []v1.Container{{Name: "before"}, {Name: "i"}}
	with := func(name, sandbox string) *runtime.PodStatus {
		return &runtime.PodStatus{Containers: []runtime.ContainerStatus{rec, {Container: runtime.Container{ID: "2", Name: name, SandboxID: sandbox}}}}
	}
	assert.False(t, hasOtherContainerFromIndex(p, &runtime.PodStatus{Containers: []runtime.ContainerStatus{rec}}, &rec, 1))
	assert.False(t, hasOtherContainerFromIndex(p, with("before", "s"), &rec, 1))
	assert.False(t, hasOtherContainerFromIndex(p, with("c", "another"), &rec, 1))
	assert.True(t, hasOtherContainerFromIndex(p, with("i", "s"), &rec, 1))
	assert.True(t, hasOtherContainerFromIndex(p, with("c", "s"), &rec, 1))
}

// TestRules_I30_LostWithoutATrace: the next agent cannot know that a container without a record ran in
// a sandbox. A record of an earlier sandbox does not show it.
func TestRules_I30_LostWithoutATrace(t *testing.T) {
	old := runtime.ContainerStatus{
		Container: runtime.Container{ID: "1", Name: "c", SandboxID: "old", State: runtime.StateExited}, StartedAt: Epoch,
	}
	rec := runtime.ContainerStatus{Container: runtime.Container{ID: "2", Name: "c", SandboxID: "new", Attempt: 1}}
	seen := &runtime.PodStatus{Containers: []runtime.ContainerStatus{old, rec}}
	assert.Equal(t, "1", previousExitedContainer(seen, &rec).ID)
	assert.Equal(t, "1", previousExitedContainerInSandbox("old", seen, &rec).ID)
	assert.Nil(t, previousExitedContainerInSandbox("new", seen, &rec))
}
