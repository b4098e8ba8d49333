package nodetest_test

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// states are the container states of the node that runs, and how often it wrote.
type states struct {
	*checkpoint.Containers
	saves int
	said  []string // each save, with its time, if now is set
	now   func() time.Duration
	full  func() bool // nil: there is room
}

func (s *states) SaveContainers(pod *v1.Pod, all []podsync.ContainerState) error {
	s.saves++
	full := s.full != nil && s.full()
	if s.now != nil {
		line := fmt.Sprintf("%s full=%t", s.now().Truncate(time.Second), full)
		for _, c := range all {
			line += fmt.Sprintf(" %s started=%t ready=%t", c.Name, c.Started, c.Ready)
		}
		s.said = append(s.said, line)
	}
	if full {
		return errors.New("no space")
	}
	return s.Containers.SaveContainers(pod, all)
}

// keeping is a simulation whose nodes keep container states on a disk.
type keeping struct {
	*nodetest.Simulation
	t    *testing.T
	root string
	next *states
}

func newKeeping(t *testing.T, seed uint64) *keeping {
	k := &keeping{t: t, root: filepath.Join(t.TempDir(), "containers"), next: &states{}}
	k.openCheckpoint()
	k.Simulation = nodetest.New(t, nodetest.Config{Seed: seed, Node: node.Config{
		Pods: node.PodsConfig{ContainerStates: k.next}, Jitter: func() float64 { return 0.9 }, // Probes of an older container begin late.
	}})
	return k
}

func (k *keeping) openCheckpoint() {
	k.t.Helper()
	c, err := checkpoint.NewContainers(checkpoint.Config{Root: k.root, Log: slog.New(slog.NewTextHandler(k.t.Output(), nil))})
	require.NoError(k.t, err)
	k.next.Containers = c
}

// restartAgent crashes the agent and starts another one.
func (k *keeping) restartAgent() {
	k.t.Helper()
	k.Crash()
	k.openCheckpoint()
	k.Start()
}

// firstStatus returns the status of the only pod.
func (k *keeping) firstStatus() v1.PodStatus {
	k.t.Helper()
	pods := k.Node().Pods()
	require.Len(k.t, pods, 1)
	return pods[0].Status
}

// podFailingLiveness returns a job whose liveness probe fails again and again after some seconds. It exits with 0 when
// the node stops it.
func podFailingLiveness() *v1.Pod {
	p := newPod("job", []string{"work"})
	p.Annotations = map[string]string{
		"memory.podkeel.dev/c0":          "run=forever exit=0",
		"memory.podkeel.dev/c0.liveness": "ok for=3s; fail",
	}
	p.Spec.RestartPolicy = v1.RestartPolicyOnFailure
	p.Spec.Containers[0].LivenessProbe = &v1.Probe{
		ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}, PeriodSeconds: 1, FailureThreshold: 1, TimeoutSeconds: 1, SuccessThreshold: 1,
	}
	return p
}

// A container that exits with 0 because the node stopped it after a failed probe has not
// succeeded: its crash loop goes on.
func TestReasons_OurKillIsNoSuccess(t *testing.T) {
	k := newKeeping(t, 1)
	k.Apply(podFailingLiveness())
	var said []string
	for range 300 {
		k.Run(time.Second)
		status := k.firstStatus()
		require.Equal(t, v1.PodRunning, status.Phase, "%+v", status.ContainerStatuses)
		c := status.ContainerStatuses[0]
		require.Nil(t, c.State.Terminated)
		word := "running"
		if c.State.Waiting != nil {
			word = c.State.Waiting.Reason
		}
		if line := fmt.Sprint(word, " ", c.RestartCount); len(said) == 0 || said[len(said)-1] != line {
			said = append(said, line)
		}
	}
	assert.Equal(t, []string{
		"running 0", "running 1", "CrashLoopBackOff 1", "running 2", "CrashLoopBackOff 2", "running 3", "CrashLoopBackOff 3",
		"running 4", "CrashLoopBackOff 4", "running 5", "CrashLoopBackOff 5",
	}, said)
	k.Stop()
}

// ... also if the agent is killed at any moment between the kill and what follows.
func TestReasons_OurKillIsNoSuccessAfterACrash(t *testing.T) {
	stops := 0
	for after := range 80 {
		k := newKeeping(t, 1)
		k.Apply(podFailingLiveness())
		k.Run(5 * time.Second) // The second attempt runs, and will be held after its end.
		for range after {
			k.StepUntil(k.Now().Add(100 * time.Millisecond))
		}
		before := k.Transcript()
		k.restartAgent()
		k.Run(2 * time.Minute)
		status := k.firstStatus()
		require.Equal(t, v1.PodRunning, status.Phase, "crashed after %d steps", after)
		require.Greater(t, status.ContainerStatuses[0].RestartCount, int32(2))
		if strings.Count(before, "StopContainer c0") == 2 && !strings.Contains(before, "attempt=2") {
			stops++
		}
		k.Stop()
	}
	assert.Greater(t, stops, 3, "the crash has to come between")
}

func (k *keeping) describeReadiness() string {
	c := k.firstStatus().ContainerStatuses[0]
	return fmt.Sprintf("started=%t ready=%t", *c.Started, c.Ready)
}

// What goes on running is started, and ready, in the first status that an agent
// publishes which was started again.
func TestContainerStates_ReadyAfterARestart(t *testing.T) {
	k := newKeeping(t, 1)
	k.Apply(slowPod("etcd"))
	k.Run(5 * time.Second)
	require.Equal(t, "started=false ready=false", k.describeReadiness())
	k.Run(time.Minute)
	require.Equal(t, "started=true ready=true", k.describeReadiness())
	for range 3 {
		k.restartAgent()
		var all []string
		for range 40 {
			k.Run(100 * time.Millisecond)
			if pods := k.Node().Pods(); len(pods) == 1 && len(pods[0].Status.ContainerStatuses) == 1 {
				if s := k.describeReadiness(); len(all) == 0 || all[len(all)-1] != s {
					all = append(all, s)
				}
			}
		}
		assert.Equal(t, []string{"started=true ready=true"}, all)
	}
	k.Stop()
}

// It is believed until its probe says otherwise, and no longer.
func TestContainerStates_TheProbeVerifiesAgain(t *testing.T) {
	k := newKeeping(t, 1)
	p := slowPod("etcd")
	p.Annotations["memory.podkeel.dev/c0.readiness"] = "ok for=60s; fail"
	k.Apply(p)
	k.Run(50 * time.Second)
	require.Equal(t, "started=true ready=true", k.describeReadiness())
	k.Crash()
	k.Run(30 * time.Second) // It fails meanwhile.
	k.openCheckpoint()
	k.Start()
	k.Run(time.Second)
	assert.Equal(t, "started=true ready=true", k.describeReadiness())
	k.Run(20 * time.Second)
	assert.Equal(t, "started=true ready=false", k.describeReadiness())
	k.restartAgent()
	k.Run(time.Second)
	assert.Equal(t, "started=true ready=false", k.describeReadiness(), "what had become worse is known")
	k.Stop()
}

// Another container inherits nothing: neither one with another ID nor one of the
// same pod that was made while no agent was there.
func TestContainerStates_AnotherContainer(t *testing.T) {
	k := newKeeping(t, 1)
	k.Apply(slowPod("etcd"))
	k.Run(time.Minute)
	require.Equal(t, "started=true ready=true", k.describeReadiness())
	require.NoError(t, k.Machine().ExitContainer(newestContainer(t, k, "etcd", "c0"), 1))
	k.restartAgent()
	k.Run(5 * time.Second)
	assert.Equal(t, "started=false ready=false", k.describeReadiness())
	k.Stop()
}

// waveringPod returns a pod that is ready, then not ready, and then ready until its end.
func waveringPod() *v1.Pod {
	p := newPod("web", []string{"serve"})
	p.Annotations = map[string]string{"memory.podkeel.dev/c0.readiness": "ok for=3s; fail for=3s; ok"}
	p.Spec.Containers[0].ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}, PeriodSeconds: 1, FailureThreshold: 1, SuccessThreshold: 1, TimeoutSeconds: 1}
	return p
}

// TestContainerStates_WhatIsPutOffIsMadeUpFor: a state that has become better shortly after the
// last save is saved when its time has come, and one that could not be saved is saved when
// there is room: no sync of the pod is needed for that. An agent that is started again then
// knows it.
func TestContainerStates_WhatIsPutOffIsMadeUpFor(t *testing.T) {
	for name, test := range map[string]struct {
		full func(now time.Duration) bool
		want []string
	}{
		"better within ten seconds": {
			full: func(time.Duration) bool { return false },
			want: []string{"0s full=false c0 started=true ready=false", "10s full=false c0 started=true ready=true"},
		},
		"no room": {
			full: func(now time.Duration) bool { return now > time.Second && now < 25*time.Second },
			want: []string{
				"0s full=false c0 started=true ready=false", "10s full=true c0 started=true ready=true",
				"20s full=true c0 started=true ready=true", "40s full=false c0 started=true ready=true",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeping(t, 1)
			k.next.now = func() time.Duration { return k.Now().Sub(nodetest.Epoch) }
			k.next.full = func() bool { return test.full(k.next.now()) }
			k.Apply(waveringPod())
			k.Run(45 * time.Second)
			require.Equal(t, "started=true ready=true", k.describeReadiness())
			assert.Equal(t, test.want, k.next.said)
			k.restartAgent()
			assert.Equal(t, []string{"started=true ready=true"}, k.conditionsFor(2*time.Second))
			k.Stop()
		})
	}
}

// A probe that wavers does not wear the disk down.
func TestContainerStates_WritesAreBounded(t *testing.T) {
	k := newKeeping(t, 1)
	p := newPod("web", []string{"serve"})
	var script []string
	for range 150 {
		script = append(script, "ok for=2s", "fail for=2s")
	}
	p.Annotations = map[string]string{"memory.podkeel.dev/c0.readiness": strings.Join(script, "; ")}
	p.Spec.Containers[0].ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}, PeriodSeconds: 1, FailureThreshold: 1, SuccessThreshold: 1, TimeoutSeconds: 1}
	k.Apply(p)
	k.Run(10 * time.Minute)
	assert.Greater(t, strings.Count(k.Transcript(), "Readiness probe"), 100, "it wavers")
	assert.Less(t, k.next.saves, 2*60+2, "two a period of ten seconds")
	saves := k.next.saves
	k.Run(10 * time.Minute) // It has failed for good.
	assert.LessOrEqual(t, k.next.saves, saves+1)
	k.Stop()
}

// The stored container states are removed with the pod, and when the pod has terminated.
func TestContainerStates_GoWithThePod(t *testing.T) {
	k := newKeeping(t, 1)
	p := slowPod("etcd")
	k.Apply(p)
	k.Run(time.Minute)
	uids, err := k.next.Pods(func(types.UID) bool { return true }, 10)
	require.NoError(t, err)
	require.Len(t, uids, 1)
	k.Crash()
	k.Delete(p.UID)
	k.openCheckpoint()
	k.Start()
	k.Run(5 * time.Minute)
	uids, err = k.next.Pods(func(types.UID) bool { return true }, 10)
	require.NoError(t, err)
	assert.Empty(t, uids)
	k.Stop()
}
