package podsync_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime/memory"
)

// saidProbes is a prober that records its calls and returns the results that the test sets.
type saidProbes struct {
	log    []string
	added  *v1.Pod
	ready  bool
	failed string // the container that has failed its liveness probe
}

func (p *saidProbes) addLine(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf(format, args...))
}

// takeLines returns the calls since the last take.
func (p *saidProbes) takeLines() []string {
	log := p.log
	p.log = nil
	return log
}

func (p *saidProbes) AddPod(pod *v1.Pod) {
	p.added = pod
	p.addLine("AddPod")
}

func (p *saidProbes) UpdatePodStatus(_ *v1.Pod, status *v1.PodStatus) {
	p.addLine("UpdatePodStatus")
	for _, list := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			list[i].Ready = p.ready
		}
	}
}

func (p *saidProbes) ObserveStatus(_ types.UID, status *v1.PodStatus) {
	p.addLine("ObserveStatus %s %s", status.Phase, briefState(status.ContainerStatuses[0].State))
}

func (p *saidProbes) Failed(_ types.UID, id string) (liveness, startup bool) {
	return p.failed != "" && strings.HasSuffix(id, p.failed), false
}
func (p *saidProbes) Started(types.UID, string) bool   { return true }
func (p *saidProbes) StopLivenessAndStartup(types.UID) { p.addLine("StopLivenessAndStartup") }
func (p *saidProbes) RemovePod(types.UID)              { p.addLine("RemovePod") }

// probedPod returns a pod with probes whose commands refer to a variable.
func probedPod() *v1.Pod {
	return plainPod(func(p *v1.Pod) {
		ask := func() *v1.Probe {
			return &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"ask", "$(WHO)"}}}}
		}
		p.Spec.InitContainers = []v1.Container{{
			Name: "s", Image: "img:1", RestartPolicy: new(v1.ContainerRestartPolicyAlways),
			Env: []v1.EnvVar{{Name: "WHO", Value: "sidecar"}}, StartupProbe: ask(),
		}}
		c := &p.Spec.Containers[0]
		c.Env = []v1.EnvVar{{Name: "WHO", Value: "main"}}
		c.LivenessProbe, c.ReadinessProbe = ask(), ask()
	})
}

// newProbed is a machine, and an agent with a prober, which write down what they do.
func newProbed(t *testing.T) (*memory.Runtime, *podsync.Syncer, *store, *saidProbes) {
	mem, probes := memory.New(memory.Config{}), &saidProbes{}
	syncer, st := newQuietSyncer(t, mem, func(c *podsync.Config) { c.Probes = probes })
	st.write = func(line string) { probes.addLine("%s", line) }
	return mem, syncer, st, probes
}

// PR-4, PR-5, PR-8, SP-15, SP-20: the calls of the prober and their order. The prober updates a status before it is
// published, and observes the published status.
func TestSyncer_PR4_PR8_SP15_Prober(t *testing.T) {
	mem, syncer, _, probes := newProbed(t)
	pod := probedPod()
	sync := func() []string {
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, mem))
		require.NoError(t, err)
		return probes.takeLines()
	}
	assert.Equal(t, []string{
		"AddPod", "UpdatePodStatus", "status Pending s=Waiting(PodInitializing) a=Waiting(PodInitializing)",
		"ObserveStatus Pending Waiting(PodInitializing)",
	}, sync())
	sync()
	assert.Equal(t, []string{
		"AddPod", "UpdatePodStatus", "status Running s=Running a=Running", "ObserveStatus Running Running",
	}, sync())

	require.NoError(t, syncer.SyncTerminatingPod(t.Context(), pod, readPodStatus(t, mem), nil, nil))
	assert.Equal(t, []string{
		"UpdatePodStatus", "status Running s=Running a=Running", "ObserveStatus Running Running",
		"StopLivenessAndStartup", "RemovePod",
		"UpdatePodStatus", "status Failed s=Terminated(143) a=Terminated(143)",
	}, probes.takeLines())
	require.NoError(t, syncer.SyncTerminatedPod(t.Context(), pod, readPodStatus(t, mem)))
	assert.Equal(t, []string{
		"RemovePod", "UpdatePodStatus", "status Failed s=Terminated(143) a=Terminated(143)", "status finished",
	}, probes.takeLines())
}

// PR-5: a restarted agent passes the published status to the prober, once and before it adds the pod.
func TestSyncPod_PR5_AgentRestart(t *testing.T) {
	mem, before, st, _ := newProbed(t)
	pod := probedPod()
	for range 3 {
		_, err := before.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, mem))
		require.NoError(t, err)
	}
	probes := &saidProbes{}
	st.write = func(line string) { probes.addLine("%s", line) }
	after, err := podsync.New(podsync.Config{Runtime: mem, Status: st, Probes: probes})
	require.NoError(t, err)
	for _, want := range [][]string{
		{"ObserveStatus Running Running", "AddPod", "UpdatePodStatus", "status Running s=Running a=Running", "ObserveStatus Running Running"},
		{"AddPod", "UpdatePodStatus", "status Running s=Running a=Running", "ObserveStatus Running Running"},
	} {
		_, err := after.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, mem))
		require.NoError(t, err)
		assert.Equal(t, want, probes.takeLines())
	}
}

// PH-13: what probes say is in a status before its conditions are made from it.
func TestSyncPod_PH13_ConditionsFollowProbes(t *testing.T) {
	mem, syncer, st, probes := newProbed(t)
	for _, probes.ready = range []bool{false, true, false} {
		for range 3 {
			_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, probedPod(), nil, readPodStatus(t, mem))
			require.NoError(t, err)
		}
		status := st.statuses["u"]
		assert.Equal(t, probes.ready, status.ContainerStatuses[0].Ready)
		want := map[bool]v1.ConditionStatus{true: v1.ConditionTrue, false: v1.ConditionFalse}[probes.ready]
		have := map[v1.PodConditionType]v1.ConditionStatus{}
		for _, c := range status.Conditions {
			have[c.Type] = c.Status
		}
		assert.Equal(t, want, have[v1.ContainersReady])
		assert.Equal(t, want, have[v1.PodReady])
	}
}

// A probe's command is run with the values of the spec in it; the pod is left as
// it is.
func TestSyncPod_ProbeCommandsExpanded(t *testing.T) {
	mem, syncer, _, probes := newProbed(t)
	pod := probedPod()
	_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, mem))
	require.NoError(t, err)
	assert.Equal(t, []string{"ask", "sidecar"}, probes.added.Spec.InitContainers[0].StartupProbe.Exec.Command)
	assert.Equal(t, []string{"ask", "main"}, probes.added.Spec.Containers[0].LivenessProbe.Exec.Command)
	assert.Equal(t, []string{"ask", "main"}, probes.added.Spec.Containers[0].ReadinessProbe.Exec.Command)
	assert.Equal(t, probedPod(), pod)
}

// CA-19: a container that has failed its liveness probe is stopped, and started again.
func TestSyncPod_CA19_LivenessFailed(t *testing.T) {
	mem, syncer, _, probes := newProbed(t)
	sync := func() {
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, probedPod(), nil, readPodStatus(t, mem))
		require.NoError(t, err)
	}
	sync()
	sync()
	first := readPodStatus(t, mem).Containers
	require.Len(t, first, 2)
	sync()
	require.Equal(t, first, readPodStatus(t, mem).Containers)
	for i := range first {
		if first[i].Name == "a" {
			probes.failed = first[i].ID
		}
	}
	sync()
	var have []string
	for _, c := range readPodStatus(t, mem).Containers {
		have = append(have, fmt.Sprintf("%s/%d %s", c.Name, c.Attempt, c.State))
	}
	assert.ElementsMatch(t, []string{"s/0 running", "a/0 exited", "a/1 running"}, have)
}
