package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// countingCgroups has counters of killed processes, which a test changes.
type countingCgroups struct {
	recordedCgroups
	counters plan.OOMSnapshot
	reads    int
	readErr  error
	panics   bool
}

func (c *countingCgroups) ReadOOM(types.UID) (plan.OOMSnapshot, error) {
	if c.reads++; c.panics {
		panic("boom")
	}
	return c.counters, c.readErr
}

// oomScene is a pod with the containers a and b, which have memory limits, on a node that counts killed processes.
type oomScene struct {
	t       *testing.T
	cgroups *countingCgroups
	rt      runtime.Runtime
	store   *store
	syncer  *podsync.Syncer
	pod     *v1.Pod
	status  *runtime.PodStatus
	reports []string
}

func newOOMScene(t *testing.T) *oomScene {
	s := &oomScene{t: t, cgroups: &countingCgroups{recordedCgroups: recordedCgroups{Runtime: memory.New(memory.Config{})}}}
	s.rt = s.cgroups.Runtime
	s.store = &store{write: func(string) {}, statuses: map[types.UID]v1.PodStatus{}}
	limits := v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse("64Mi")}}
	s.pod = plainPod(func(p *v1.Pod) {
		p.Spec.RestartPolicy = v1.RestartPolicyNever
		p.Spec.Containers = []v1.Container{{Name: "a", Image: "img:1", Resources: limits}, {Name: "b", Image: "img:1", Resources: limits}}
	})
	s.setPodCounters(-1, 0)
	s.setContainer("a", runtime.StateRunning, 0, "")
	s.setContainer("b", runtime.StateRunning, 0, "")
	s.restartAgent()
	return s
}

// setPodCounters sets the counters of the pod. -1 kills are unset, as on cgroup v1.
func (s *oomScene) setPodCounters(kills, limit int64) {
	s.cgroups.counters.Pod = plan.OOMCounters{LimitReached: podresources.Finite(limit)}
	if kills >= 0 {
		s.cgroups.counters.Pod.Kills = podresources.Finite(kills)
	}
}

// setContainer replaces the record of a container, whose ID is its name.
func (s *oomScene) setContainer(name string, state runtime.State, code int32, reason string) {
	next := &runtime.PodStatus{UID: "u", Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s", Incarnation: 1, Ready: true}, IPs: []string{"10.0.0.1"}}}}
	if s.status != nil {
		for _, c := range s.status.Containers {
			if c.Name != name {
				next.Containers = append(next.Containers, c)
			}
		}
	}
	next.Containers = append(next.Containers, runtime.ContainerStatus{
		Container: runtime.Container{ID: name, Name: name, SandboxID: "s", Incarnation: 1, State: state},
		StartedAt: time.Unix(1, 0), FinishedAt: time.Unix(2, 0), ExitCode: code, Reason: reason,
	})
	s.status = next
}

// restartAgent replaces the syncer as after a restart of the agent.
func (s *oomScene) restartAgent() {
	syncer, err := podsync.New(podsync.Config{Runtime: s.rt, Status: s.store, Cgroups: s.cgroups, Hooks: podsync.Hooks{
		OOMKilled: func(r podsync.OOMReport) {
			s.reports = append(s.reports, fmt.Sprintf("%s %s lost %d, limit %q", r.UID, r.Container, r.Kills, r.Limit))
		},
	}})
	require.NoError(s.t, err)
	s.syncer = syncer
}

// syncPod runs SyncPod and returns the reports of the hook.
func (s *oomScene) syncPod() []string {
	s.t.Helper()
	s.reports = nil
	_, err := s.syncer.SyncPod(s.t.Context(), podworkers.SyncPodUpdate, s.pod, nil, s.status)
	require.NoError(s.t, err)
	return s.reports
}

// publishedExit returns reason and message of the published exit of a container.
func (s *oomScene) publishedExit(name string) (reason, message string) {
	s.t.Helper()
	for _, c := range s.store.statuses["u"].ContainerStatuses {
		if c.Name == name {
			require.NotNil(s.t, c.State.Terminated)
			return c.State.Terminated.Reason, c.State.Terminated.Message
		}
	}
	s.t.Fatalf("no container %s", name)
	return "", ""
}

// J.1 line 15, OM-4, OM-7: the limit of the pod was reached, and the runtime gives both containers the reason OOMKilled.
// The hook and the message blame only the container that was killed. The reason in the status does not change.
func TestOOM_OM4_OM7_OnlyTheVictim(t *testing.T) {
	s := newOOMScene(t)
	assert.Empty(t, s.syncPod())
	assert.Equal(t, 1, s.cgroups.reads)

	s.setPodCounters(-1, 4)
	s.cgroups.counters.Containers = map[string]plan.OOMCounters{"b": {Kills: podresources.Finite(0), LimitReached: podresources.Finite(0)}}
	s.setContainer("a", runtime.StateExited, 137, "OOMKilled")
	assert.Equal(t, []string{`u a lost 0, limit "pod"`}, s.syncPod())
	assert.Empty(t, s.syncPod(), "the report is not repeated")
	assert.Equal(t, 2, s.cgroups.reads, "the counters are read when a container has exited")

	s.cgroups.counters.Containers = nil
	s.setContainer("b", runtime.StateExited, 7, "OOMKilled")
	assert.Empty(t, s.syncPod())
	reason, message := s.publishedExit("a")
	assert.Equal(t, "OOMKilled", reason)
	assert.Equal(t, "the kernel killed processes of the container, because the memory limit of the pod was reached", message)
	reason, message = s.publishedExit("b")
	assert.Equal(t, "OOMKilled", reason)
	assert.Empty(t, message)
}

// OM-3, OM-7: a child process of a running container was killed. That is reported while the container runs, from the
// reason of the runtime, and later its exit with code 0 has the sum in the message before the container's own message.
func TestOOM_OM3_ChildKilled(t *testing.T) {
	s := newOOMScene(t)
	s.syncPod()
	counters := plan.OOMCounters{Kills: podresources.Finite(1), LimitReached: podresources.Finite(3)}
	s.cgroups.counters.Containers = map[string]plan.OOMCounters{"a": counters}
	s.setContainer("a", runtime.StateRunning, 0, "OOMKilled")
	assert.Equal(t, []string{`u a lost 1, limit "container"`}, s.syncPod())
	assert.Empty(t, s.syncPod())

	s.setContainer("a", runtime.StateExited, 0, "OOMKilled")
	s.status.Containers[1].Message = "of the runtime"
	counters = plan.OOMCounters{Kills: podresources.Finite(3), LimitReached: podresources.Finite(9)}
	s.cgroups.counters.Containers = map[string]plan.OOMCounters{"a": counters}
	assert.Equal(t, []string{`u a lost 2, limit "container"`}, s.syncPod())
	_, message := s.publishedExit("a")
	assert.Equal(t, "of the runtime: the kernel killed 3 processes of the container, because the memory limit of the container was reached", message)
}

// J.1 line 15, OM-5, XB-28: on cgroup v2 the counter of the pod shows kills of a container whose cgroup was removed, also if
// the runtime does not report them.
func TestOOM_OM5_XB28_RemovedCgroup(t *testing.T) {
	s := newOOMScene(t)
	s.setPodCounters(0, 0)
	s.syncPod()
	s.setPodCounters(1, 0)
	s.cgroups.counters.Containers = map[string]plan.OOMCounters{"b": {Kills: podresources.Finite(0)}}
	s.setContainer("a", runtime.StateExited, 0, "Completed")
	assert.Equal(t, []string{`u a lost 1, limit "container"`}, s.syncPod())
	_, message := s.publishedExit("a")
	assert.Equal(t, "the kernel killed 1 process of the container, because the memory limit of the container was reached", message)
}

// OM-5: an agent that has restarted keeps the text that was published, and reports nothing again.
func TestOOM_OM5_Restart(t *testing.T) {
	s := newOOMScene(t)
	s.syncPod()
	s.setPodCounters(-1, 4)
	s.setContainer("a", runtime.StateExited, 137, "OOMKilled")
	s.syncPod()
	_, before := s.publishedExit("a")
	assert.NotEmpty(t, before)
	s.restartAgent()
	assert.Empty(t, s.syncPod())
	_, after := s.publishedExit("a")
	assert.Equal(t, before, after)
}

// OM-5: after an error, and after a panic, the next pass reads the counters again. Until then the pod is not stable.
func TestOOM_OM5_ReadAgain(t *testing.T) {
	s := newOOMScene(t)
	s.syncPod()
	s.setPodCounters(-1, 4)
	s.setContainer("a", runtime.StateExited, 137, "OOMKilled")
	s.cgroups.readErr = errors.New("broken")
	assert.Empty(t, s.syncPod())
	s.cgroups.panics = true
	assert.Empty(t, s.syncPod())
	assert.False(t, s.syncer.IsStable(t.Context(), s.pod, s.status))
	s.cgroups.readErr, s.cgroups.panics = nil, false
	assert.Equal(t, []string{`u a lost 0, limit "pod"`}, s.syncPod())
}

// reasonRuntime gives the reason OOMKilled to each container that was killed by SIGKILL, as containerd does after the limit
// of the pod was reached.
type reasonRuntime struct{ runtime.Runtime }

func (r reasonRuntime) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	status, err := r.Runtime.PodStatus(ctx, uid)
	if err == nil {
		status = new(*status)
		status.Containers = append([]runtime.ContainerStatus(nil), status.Containers...)
		for i := range status.Containers {
			if c := &status.Containers[i]; c.ExitCode == 137 {
				c.Reason = "OOMKilled"
			}
		}
	}
	return status, err
}

// OM-12: a container that this node has stopped by SIGKILL is not reported as killed by the kernel.
func TestOOM_OM12_StoppedByTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOOMScene(t)
		s.rt = reasonRuntime{s.rt}
		s.restartAgent()
		s.pod.Annotations = map[string]string{memory.AnnotationPrefix + "a": "run=forever ignore-term", memory.AnnotationPrefix + "b": "run=forever"}
		s.status = readPodStatus(t, s.rt)
		s.syncPod()
		s.status = readPodStatus(t, s.rt)
		require.Len(t, s.status.Containers, 2)
		s.setPodCounters(-1, 4)
		require.NoError(t, s.syncer.SyncTerminatingPod(t.Context(), s.pod, s.status, new(int64(0)), nil))
		reason, _ := s.publishedExit("a")
		assert.Equal(t, "OOMKilled", reason)
		assert.Empty(t, s.reports)
		assert.Equal(t, 3, s.cgroups.reads, "in the first pass, before the stops, and after the exits")
	})
}

// cgroupRemover is a runtime that removes the cgroup of each container that it stops.
type cgroupRemover struct {
	runtime.Runtime
	remove func()
}

func (r cgroupRemover) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	r.remove()
	return r.Runtime.StopContainer(ctx, req)
}

// OM-5: the kill of a child process that the runtime does not report is read before this node stops the container, because
// the runtime removes the cgroup with the container. The message of the exit has it.
func TestOOM_OM5_ReadBeforeStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOOMScene(t)
		s.rt = cgroupRemover{s.rt, func() { s.cgroups.counters.Containers = nil }}
		s.restartAgent()
		s.pod.Annotations = map[string]string{memory.AnnotationPrefix + "a": "run=forever", memory.AnnotationPrefix + "b": "run=forever"}
		s.status = readPodStatus(t, s.rt)
		s.syncPod()
		s.status = readPodStatus(t, s.rt)
		s.syncPod()
		require.Len(t, s.status.Containers, 2)
		var a string
		for _, c := range s.status.Containers {
			if c.Name == "a" {
				a = c.ID
			}
		}
		s.cgroups.counters.Containers = map[string]plan.OOMCounters{a: {Kills: podresources.Finite(1), LimitReached: podresources.Finite(2)}}
		require.NoError(t, s.syncer.SyncTerminatingPod(t.Context(), s.pod, s.status, nil, nil))
		assert.Equal(t, []string{`u a lost 1, limit "container"`}, s.reports)
		s.status = readPodStatus(t, s.rt)
		require.NoError(t, s.syncer.SyncTerminatedPod(t.Context(), s.pod, s.status))
		_, message := s.publishedExit("a")
		assert.Equal(t, "the kernel killed 1 process of the container, because the memory limit of the container was reached", message)
	})
}

// OM-5: a container of a former pod with the same UID is not reported.
func TestOOM_OM5_FormerPod(t *testing.T) {
	s := newOOMScene(t)
	s.syncPod()
	s.setPodCounters(-1, 4)
	s.setContainer("b", runtime.StateExited, 137, "OOMKilled")
	s.status.Containers[1].Incarnation = 0
	assert.Empty(t, s.syncPod())
	assert.Equal(t, 1, s.cgroups.reads)
}
