package nodetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestMuseum_K133072_ASidecarThatStartsLater: a sidecar failed its first startup probe, was started
// again and then started well. The containers after it waited for ever, because the result of the
// first attempt stood for the second. Verdicts belong to the ID of a container.
func TestMuseum_K133072_ASidecarThatStartsLater(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := withInit(newPod("web", []string{"serve"}), "s: run=12s exit=1; run=forever")
	setAnswers(p, "s.startup", "fail for=13s; ok")
	p.Spec.InitContainers[0].StartupProbe = tcpProbe(5)
	p.Spec.InitContainers[0].StartupProbe.FailureThreshold = 10
	b.Apply(p)
	b.Run(time.Minute)
	assert.Equal(t, []string{"0s StartContainer s", "12s StartContainer s", "27s StartContainer c0"}, callLines(b, "StartContainer"))
	b.Stop()
}

// TestMuseum_K122902_ReadinessOfSidecarsCounts: under Never and OnFailure a sidecar that was not ready
// did not keep its pod from being ready, because it was taken for an ordinary init container.
func TestMuseum_K122902_ReadinessOfSidecarsCounts(t *testing.T) {
	for _, policy := range []v1.RestartPolicy{v1.RestartPolicyNever, v1.RestartPolicyOnFailure, v1.RestartPolicyAlways} {
		b := nodetest.New(t, nodetest.Config{Seed: 1})
		p := setAnswers(withInit(newPod("web", []string{"serve"}), "s: run=forever"), "s.readiness", "fail for=8s; ok for=10s; fail")
		p.Spec.RestartPolicy = policy
		p.Spec.InitContainers[0].ReadinessProbe = tcpProbe(5)
		p.Spec.InitContainers[0].ReadinessProbe.FailureThreshold = 1
		b.Apply(p)
		b.Run(time.Minute)
		assert.Equal(t, []string{"0s False", "10s True", "20s False"}, statusLines(b, "web", conditionIs(v1.PodReady)), policy)
		b.Stop()
	}
}

// TestMuseum_K123323_TheStatusFollowsASidecar: a sidecar of a pod with policy Never ended and ran again,
// but its status stayed at the first end, since a status may not leave an end under Never. Sidecars
// always run again, and their status follows the records.
func TestMuseum_K123323_TheStatusFollowsASidecar(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := withInit(newPod("web", []string{"serve"}), "s: run=5s exit=3; run=5s exit=0; run=forever")
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	b.Apply(p)
	b.Run(time.Minute)
	assert.Equal(t, []string{
		"0s running=true restarts=0", "5s running=true restarts=1", "10s running=false restarts=1", "20s running=true restarts=2",
	}, statusLines(b, "web", func(s *v1.PodStatus) string {
		c := s.InitContainerStatuses[0]
		return fmt.Sprintf("running=%t restarts=%d", c.State.Running != nil, c.RestartCount)
	}))
	b.Stop()
}

// TestMuseum_K115817_OneDeadlineForHookAndStop: a preStop hook that hangs took the whole grace period,
// and then the container had all of it again. Hook and stop share one deadline, and two seconds
// are the least that the container has. (Also 116753, 117373.)
func TestMuseum_K115817_OneDeadlineForHookAndStop(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(newPod("web", []string{"serve"}), "c0.pre-stop", "hang")
	setAnswers(p, "c0", "run=forever ignore-term")
	p.Spec.TerminationGracePeriodSeconds = new(int64(20))
	p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"drain"}}}}
	b.Apply(p)
	b.Run(10 * time.Second)
	b.Delete(p.UID)
	b.Run(2 * time.Minute)
	assert.Equal(t, []string{"32s StopContainer c0 grace=2s", "32s StopSandbox"}, callLines(b, "StopContainer", "StopSandbox"))
	b.Stop()
}

// TestMuseum_K119377_TheGraceOfTheProbe: a container that its liveness probe ends had the grace period
// of the pod, though the probe names its own.
func TestMuseum_K119377_TheGraceOfTheProbe(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(newPod("web", []string{"serve"}), "c0.liveness", "fail")
	setAnswers(p, "c0", "run=forever ignore-term")
	p.Spec.TerminationGracePeriodSeconds = new(int64(300))
	p.Spec.Containers[0].LivenessProbe = tcpProbe(5)
	p.Spec.Containers[0].LivenessProbe.TerminationGracePeriodSeconds = new(int64(7))
	b.Apply(p)
	b.Run(18 * time.Second)
	assert.Equal(t, []string{"0s StartContainer c0", "17s StopContainer c0 grace=7s", "17s StartContainer c0"}, callLines(b, "StopContainer", "StartContainer"))
	b.Stop()
}

// TestMuseum_K126543_AnInitContainerThatWasOnlyCreated: the agent ended between the creation of an init
// container and its start. The next agent saw a record, waited for it to end, and the pod stayed
// in Init for ever. A container that was only created is started, or made again.
func TestMuseum_K126543_AnInitContainerThatWasOnlyCreated(t *testing.T) {
	created := 0
	for step := 1; step < 60; step++ {
		b := nodetest.New(t, nodetest.Config{Seed: 1})
		b.Apply(withInit(newPod("web", []string{"serve"}), "i: run=2s exit=0"))
		for b.Steps() < step {
			b.StepUntil(nodetest.Epoch.Add(time.Second))
		}
		b.Crash()
		if look := b.Machine().SnapshotPod("uid-web"); len(look.Containers) == 1 && look.Containers[0].State == runtime.StateCreated {
			created++
		}
		b.Start()
		b.Run(30 * time.Second)
		b.AssertPhase("web", v1.PodRunning)
		b.Stop()
	}
	assert.Positive(t, created, "no crash was between the two calls")
}

// TestMuseum_K90271_InitContainersRunOnce: the records of init containers were removed to make room, and
// the init containers ran again beside the regular ones. A record of a regular container in the
// sandbox says that initialization is over. (Also 29972.)
func TestMuseum_K90271_InitContainersRunOnce(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Apply(withInit(newPod("web", []string{"serve"}), "i: run=2s exit=0", "j: run=2s exit=0"))
	b.Run(10 * time.Second)
	loseNewest(t, b, "web", "i")
	loseNewest(t, b, "web", "j")
	b.Run(time.Minute)
	b.Crash()
	b.Start()
	b.Run(5 * time.Minute)
	assert.Equal(t, []string{"0s StartContainer i", "2s StartContainer j", "4s StartContainer c0"}, callLines(b, "StartContainer"))
	b.AssertStatus("web", "1/1 Running restarts=0")
	b.Stop()
}

// TestMuseum_K110309_ReadinessInTermination: all probes ended when the termination began, so a
// container that could no longer serve stayed an endpoint for its whole grace period. Readiness probes
// continue until the container stops. (Also 140881, 140980.)
func TestMuseum_K110309_ReadinessInTermination(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(newPod("web", []string{"serve"}), "c0.readiness", "ok for=25s; fail")
	setAnswers(p, "c0", "run=forever ignore-term")
	p.Spec.TerminationGracePeriodSeconds = new(int64(60))
	p.Spec.Containers[0].ReadinessProbe = tcpProbe(5)
	b.Apply(p)
	b.Run(10 * time.Second)
	b.Delete(p.UID)
	b.Run(2 * time.Minute)
	assert.Equal(t, []string{"0s True", "35s False"}, statusLines(b, "web", conditionIs(v1.PodReady)))
	b.Stop()
}

// TestMuseum_K141766_ProbesOfSidecarsEnd: liveness and startup probes of sidecars went on in the
// termination, and restarted or killed a sidecar that still served the containers before it.
func TestMuseum_K141766_ProbesOfSidecarsEnd(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(withInit(newPod("web", []string{"serve"}), "s: run=forever"), "s.liveness", "ok for=12s; fail")
	setAnswers(p, "c0", "run=forever ignore-term")
	p.Spec.TerminationGracePeriodSeconds = new(int64(60))
	p.Spec.InitContainers[0].LivenessProbe = tcpProbe(5)
	b.Apply(p)
	b.Run(10 * time.Second)
	b.Delete(p.UID)
	asked := b.Machine().HandlerCalls(p.UID, "s", runtime.LivenessProbe)
	b.Run(2 * time.Minute)
	assert.Equal(t, asked, b.Machine().HandlerCalls(p.UID, "s", runtime.LivenessProbe), "it is not asked any longer")
	assert.Equal(t, []string{
		"10s event Killing: Stopping container c0: the pod ends", "10s event Killing: Stopping container s: the pod ends",
		"1m10s StopContainer c0 grace=1m0s", "1m10s StopContainer s grace=2s",
	}, callLines(b, "StopContainer", "event Killing", "event Unhealthy"))
	b.Stop()
}

// TestMuseum_K130352_TheGenerationThatWasActedUpon: observedGeneration was missing in statuses that did
// not come from a sync, and could belong to a spec that was not synced yet. (Also 130573.)
func TestMuseum_K130352_TheGenerationThatWasActedUpon(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := newPod("web", []string{"serve"})
	p.Generation = 3
	b.Apply(p)
	b.Run(5 * time.Second)
	next := p.DeepCopy()
	next.Generation = 4
	next.Spec.Containers[0].Image = "web:2"
	b.Apply(next)
	b.Run(5 * time.Second)
	b.Delete(p.UID)
	b.Run(time.Minute)
	assert.Equal(t, []string{"0s observed=3", "5s observed=4"}, statusLines(b, "web", func(s *v1.PodStatus) string {
		line := fmt.Sprintf("observed=%d", s.ObservedGeneration)
		for _, c := range s.Conditions {
			if c.ObservedGeneration != s.ObservedGeneration {
				line += fmt.Sprintf(" %s=%d", c.Type, c.ObservedGeneration)
			}
		}
		return line
	}))
	b.Stop()
}

// TestMuseum_K15925_ADeletionDoesNotWaitForAPull: the sync that pulls an image ran to its end before the
// termination began, so that a pull that hangs kept a deleted pod for ever. (Also 121435.)
func TestMuseum_K15925_ADeletionDoesNotWaitForAPull(t *testing.T) {
	faults, err := faulty.New(faulty.Config{Rules: []faulty.Rule{{Verb: faulty.PullImage, Do: faulty.Hang}}})
	require.NoError(t, err)
	b := nodetest.New(t, nodetest.Config{Seed: 1, Wrap: faults.Wrap})
	p := newPod("web", []string{"serve"})
	b.Apply(p)
	b.Run(10 * time.Second)
	b.Delete(p.UID)
	b.Run(5 * time.Second)
	b.AssertStatus("web", "gone")
	b.Stop()
}

// TestMuseum_K101044_TheLastStateAfterARestart: the record of the end before was removed while no agent
// ran, and the last state of a container that crashes was empty.
func TestMuseum_K101044_TheLastStateAfterARestart(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Apply(setAnswers(newPod("web", []string{"serve"}), "c0", "run=5s exit=7; run=forever"))
	b.Run(20 * time.Second)
	b.Crash()
	for _, c := range b.Machine().SnapshotPod("uid-web").Containers {
		if c.Attempt == 0 {
			require.NoError(t, b.Machine().LoseContainer(c.ID))
		}
	}
	b.RestartWithStatuses()
	b.Run(time.Minute)
	c := b.Pod("web").Status.ContainerStatuses[0]
	require.NotNil(t, c.LastTerminationState.Terminated)
	assert.Equal(t, "7 1", fmt.Sprint(c.LastTerminationState.Terminated.ExitCode, " ", c.RestartCount))
	b.Stop()
}

// TestMuseum_K102821_TheRuntimeLostItsState: a runtime that had lost all containers was taken for one on
// which pods had ended, or made them twice. Pods are made again, restart counts go on, and what
// runs at most once does not run twice. (Also 95561.)
func TestMuseum_K102821_TheRuntimeLostItsState(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	job := newPod("job", []string{"serve"})
	job.Spec.RestartPolicy = v1.RestartPolicyNever
	b.Apply(newPod("web", []string{"serve"}))
	b.Apply(job)
	b.Run(10 * time.Second)
	b.Machine().LoseAll()
	b.Run(2 * time.Minute)
	b.AssertStatus("web", "1/1 Running restarts=1")
	b.AssertPhase("job", v1.PodFailed)
	assert.Len(t, callLines(b, "StartContainer"), 3)
	b.Stop()
}

// TestMuseum_K53530_CountersBeginAnew: a container that had failed its liveness probe twice ended by
// itself, and its successor was killed at its first failure. A new ID has counters of its own.
func TestMuseum_K53530_CountersBeginAnew(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(newPod("web", []string{"serve"}), "c0", "run=9s exit=1; run=forever")
	setAnswers(p, "c0.liveness", "fail for=8s; ok")
	p.Spec.Containers[0].LivenessProbe = tcpProbe(5)
	b.Apply(p)
	b.Run(time.Minute)
	assert.Equal(t, []string{"0s StartContainer c0", "9s StartContainer c0"}, callLines(b, "StopContainer", "StartContainer"))
	b.Stop()
}

// TestMuseum_K120449_AForcedDeletion: a deletion with grace 0 came while the container had the grace
// period of its spec, and waited for it. The shorter one takes effect at once. (Also 113717.)
func TestMuseum_K120449_AForcedDeletion(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(newPod("web", []string{"serve"}), "c0", "run=forever ignore-term")
	p.Spec.TerminationGracePeriodSeconds = new(int64(300))
	b.Apply(p)
	b.Run(10 * time.Second)
	for _, grace := range []int64{300, 0} {
		p = p.DeepCopy()
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: b.Now()}, &grace
		b.Apply(p)
		b.Run(5 * time.Second)
	}
	assert.Equal(t, []string{"15s StopContainer c0 grace=5m0s: context canceled", "17s StopContainer c0 grace=2s", "17s StopSandbox"}, callLines(b, "StopContainer", "StopSandbox"))
	b.Stop()
}

// TestMuseum_VK907_TheUIDDecides: a pod was deleted and made again under its name. Its node took it for
// the old one, and ended it, or did not start it. Each UID is a pod of its own. (Also 867.)
func TestMuseum_VK907_TheUIDDecides(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(newPod("web", []string{"serve"}), "c0", "run=forever ignore-term")
	p.Spec.TerminationGracePeriodSeconds = new(int64(20))
	b.Apply(p)
	b.Run(10 * time.Second)
	next := p.DeepCopy()
	next.UID = types.UID("uid-next")
	b.Delete(p.UID)
	b.Apply(next)
	b.Run(time.Minute)
	assert.Empty(t, b.Machine().SnapshotPod(p.UID).Containers)
	require.Len(t, b.Machine().SnapshotPod(next.UID).Containers, 1)
	assert.Equal(t, runtime.StateRunning, b.Machine().SnapshotPod(next.UID).Containers[0].State)
	assert.Equal(t, []string{"30s StopContainer c0 grace=20s"}, callLines(b, "StopContainer"))
	b.Stop()
}
