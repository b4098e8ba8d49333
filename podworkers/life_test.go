package podworkers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
	"github.com/podkeel/podkeel/runtime"
)

const (
	syncPod            = lifecycle.SyncPod
	syncTerminatingPod = lifecycle.SyncTerminatingPod
	syncRuntimePod     = lifecycle.SyncTerminatingRuntimePod
	syncTerminatedPod  = lifecycle.SyncTerminatedPod
)

func TestLife_B092_CompletedPod(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("job", syncPod, Reply{Ends: true})
	node.Create(Pod("job", Grace(30)))
	node.RunUntilIdle()
	requireTranscript(t, node, `
		0s       job  create
		0s       job  SyncPod create: ok, completed
		0s       job  is terminating
		0s       job  SyncTerminatingPod: ok
		0s       job  is terminated
		0s       job  SyncTerminatedPod: ok
		0s       job  is finished
	`)
}

func TestLife_B005_FirstUpdateTerminalNothingRuns(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Create(Pod("job", Phase(v1.PodSucceeded)))
	assert.True(t, node.Workers.View("job").IsPodKnownTerminated(), "B-008: at once")
	node.RunUntilIdle()
	requireTranscript(t, node, `
		0s       job  create
		0s       job  is terminated
		0s       job  SyncTerminatedPod: ok
		0s       job  is finished
	`)
}

func TestLife_B007_FirstUpdateTerminalContainerRuns(t *testing.T) {
	for name, prepare := range map[string]func(c *Cache){
		"running": func(c *Cache) { c.Set(RunningStatus("job")) },
		"ready sandbox": func(c *Cache) {
			c.Set(&runtime.PodStatus{UID: "job", Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{Ready: true}}}})
		},
		"not known": func(c *Cache) { c.Fail("job", errors.New("runtime is down")) },
	} {
		t.Run(name, func(t *testing.T) {
			node := newSimulation(t, Config{})
			prepare(node.Cache)
			node.Create(Pod("job", Phase(v1.PodFailed)))
			assert.False(t, node.Workers.View("job").IsPodKnownTerminated())
			node.Cache.Fail("job", nil)
			node.RunUntilIdle()
			assert.Equal(t, 0, countInTranscript(node, "SyncPod"))
			assert.Equal(t, 1, countInTranscript(node, "SyncTerminatingPod within 1s: ok"))
			assert.Equal(t, 1, countInTranscript(node, "SyncTerminatedPod: ok"))
		})
	}
}

func TestLife_B012_B017_RuntimeOnlyPod(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("ghost", syncRuntimePod, Reply{Err: errors.New("busy")}, Reply{})
	killed := node.KillRunning(Running("ghost"))
	node.Advance(time.Minute)
	require.NoError(t, killed.Err())
	// The workers retry themselves. In the kubelet housekeeping does it.
	requireTranscript(t, node, `
		0s       ghost  kill running pod
		0s       ghost  is terminating
		0s       ghost  SyncTerminatingRuntimePod: busy
		10s      ghost  SyncTerminatingRuntimePod: ok
		10s      ghost  is forgotten
	`)
	assert.False(t, node.Workers.View("ghost").Known)
}

func TestUpdate_B001_RunningPodNeedsKill(t *testing.T) {
	node := newSimulation(t, Config{})
	require.NoError(t, node.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodUpdate, RunningPod: Running("ghost")}))
	node.RunUntilIdle()
	requireTranscript(t, node, `0s       ghost  update running pod`)
}

func TestUpdate_B002_ThePodWins(t *testing.T) {
	node := newSimulation(t, Config{})
	var got *v1.Pod
	node.Syncer.Script("a", syncPod, Reply{Do: func(_ context.Context, c Call) { got = c.Pod }})
	pod := Pod("a")
	require.NoError(t, node.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: pod, RunningPod: Running("b")}))
	node.RunUntilIdle()
	assert.Same(t, pod, got)
	assert.False(t, node.Workers.View("b").Known)
	node.Kill(pod)
	node.RunUntilIdle()
	assert.Equal(t, 0, countInTranscript(node, "Runtime"))
}

// A kill of a running pod that is based on a list older than the desired state must not kill a pod
// that has become desired since.
func TestKill_DesiredPodIsNotKilled(t *testing.T) {
	node := newSimulation(t, Config{})
	before := node.Workers.Generation()
	node.Create(Pod("a"))
	node.RunUntilIdle()
	killed := node.KillPod(podworkers.UpdatePodOptions{RunningPod: Running("a"), Generation: before})
	node.RunUntilIdle()
	require.ErrorIs(t, killed.Err(), podworkers.ErrPodDesired)
	assert.False(t, node.Workers.View("a").IsPodTerminationRequested())
}

func TestReuse_F15_NextIncarnationStartsAfterTheOldOne(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncTerminatingPod, Reply{Takes: 5 * time.Second}, Reply{})
	node.Create(Pod("a", Version(1)))
	node.RunUntilIdle()
	node.Update(Pod("a", Version(1), Deleted(30)))
	node.Advance(time.Second)
	node.Create(Pod("a", Version(2)))
	node.Advance(5 * time.Second)
	requireTranscript(t, node, `
		0s       a    create v1
		0s       a    SyncPod create v1: ok
		0s       a    update v1
		0s       a    is terminating
		0s       a    SyncTerminatingPod v1 within 30s ...
		1s       a    create v2
		5s       a    ... SyncTerminatingPod v1 within 30s: ok, after 5s
		5s       a    is terminated
		5s       a    SyncTerminatedPod v1: ok
		5s       a    is finished
		5s       a#2  SyncPod create v2: ok
	`)
}

func TestReuse_F16_ThreeTimesInARow(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncTerminatingPod, Reply{Takes: 5 * time.Second}, Reply{})
	node.Create(Pod("a", Version(1)))
	node.RunUntilIdle()
	node.Kill(Pod("a", Version(1)))
	node.RunUntilIdle()
	for version := int64(2); version <= 4; version++ {
		node.Create(Pod("a", Version(version)))
		node.Advance(time.Second)
	}
	node.Advance(time.Minute)
	assert.Equal(t, 1, countInTranscript(node, "SyncPod create v1: ok"))
	assert.Equal(t, 0, countInTranscript(node, "SyncPod create v2")+countInTranscript(node, "SyncPod create v3"))
	assert.Equal(t, 1, countInTranscript(node, "a#2  SyncPod create v4: ok"), node.Transcript())
}

func TestReuse_KillDropsTheWaitingIncarnation(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncTerminatingPod, Reply{Takes: 5 * time.Second})
	node.Create(Pod("a", Version(1)))
	node.RunUntilIdle()
	first := node.Kill(Pod("a", Version(1)))
	node.RunUntilIdle()
	node.Create(Pod("a", Version(2)))
	second := node.Kill(Pod("a", Version(2)))
	node.Advance(time.Minute)
	assert.NoError(t, first.Err())
	assert.NoError(t, second.Err())
	assertResolved(t, first, second)
	assert.Equal(t, 0, countInTranscript(node, "#2"), node.Transcript())
}

func TestStatic_F17_OneFullNameThreeHundredTimes(t *testing.T) {
	node := newSimulation(t, Config{Seed: 17})
	node.Syncer.Script("", syncTerminatingPod, Reply{Takes: 150 * time.Millisecond})
	var last *v1.Pod
	for i := range 300 {
		next := Pod("web", Static(), UID(types.UID(fmt.Sprint("web-", i))))
		node.Create(next)
		if last != nil {
			node.Kill(last)
		}
		last = next
		node.Advance(100 * time.Millisecond)
	}
	node.Advance(time.Minute)
	node.SyncKnown(last)
	assert.Equal(t, 1, countInTranscript(node, "web-299  SyncPod create: ok"))
	for i := range 299 {
		assert.False(t, node.Workers.View(types.UID(fmt.Sprint("web-", i))).Known)
	}
	assert.Equal(t, lifecycle.Syncing, node.Workers.View(last.UID).Phase())
	require.Equal(t, 1, node.Coroutines(), "only Run is left")
}

// Static pods with one name in two namespaces do not wait for each other.
func TestStatic_I12_FullNameHasTheNamespace(t *testing.T) {
	node := newSimulation(t, Config{})
	here, there := Pod("web", Static(), UID("here")), Pod("web", Static(), Namespace("other"), UID("there"))
	node.Create(here, there)
	node.Advance(time.Second)
	assert.Equal(t, 1, countInTranscript(node, "here  SyncPod create: ok"), node.Transcript())
	assert.Equal(t, 1, countInTranscript(node, "there  SyncPod create: ok"), node.Transcript())
	node.Syncer.Script("there", syncTerminatingPod, Reply{Blocks: true})
	node.Kill(there)
	node.RunUntilIdle()
	assert.True(t, node.Workers.IsPodForMirrorPodTerminatingByFullName("web_other"))
	assert.False(t, node.Workers.IsPodForMirrorPodTerminatingByFullName("web_default"))
}

// The next one starts when the name becomes free, without polling.
func TestStatic_I12_DirectHandOver(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("old", syncTerminatingPod, Reply{Takes: 5 * time.Second})
	node.Syncer.Script("old", syncTerminatedPod, Reply{Blocks: true})
	node.Create(Pod("web", Static(), UID("old")), Pod("web", Static(), UID("new")))
	node.RunUntilIdle()
	node.Kill(Pod("web", Static(), UID("old")))
	assert.True(t, node.Workers.IsPodForMirrorPodTerminatingByFullName("web_default"), "B-123")
	node.Advance(10 * time.Second)
	assert.False(t, node.Workers.IsPodForMirrorPodTerminatingByFullName("web_default"))
	requireTranscript(t, node, `
		0s       old  create
		0s       new  create
		0s       old  SyncPod create: ok
		0s       old  kill
		0s       old  is terminating
		0s       old  SyncTerminatingPod within 1s ...
		5s       old  ... SyncTerminatingPod within 1s: ok, after 5s
		5s       old  is terminated
		5s       new  SyncPod create: ok
		5s       old  SyncTerminatedPod ...
	`)
}

func TestSyncKnown_B109_B112_OrphansEndAndAreForgotten(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Create(Pod("kept"), Pod("gone"))
	node.RunUntilIdle()
	states := node.SyncKnown(Pod("kept"))
	assert.Equal(t, map[types.UID]podworkers.PodWorkerSync{
		"kept": {State: lifecycle.Syncing, HasConfig: true},
		"gone": {State: lifecycle.Terminating, HasConfig: true, Orphan: true},
	}, states)
	node.RunUntilIdle()
	states = node.SyncKnown(Pod("kept"), nil) // A nil pod is ignored.
	assert.Len(t, states, 1)
	assert.False(t, node.Workers.View("gone").Known)
}

// A pod that an incomplete source lacks is not terminated.
func TestSyncKnown_I47_IncompleteSourceTerminatesNothing(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Create(Pod("a", Source("file")), Pod("b"))
	node.RunUntilIdle()
	states := node.Workers.SyncKnownPods(podworkers.KnownPods{
		Generation:    node.Workers.Generation(),
		Authoritative: func(source string) bool { return source == "api" },
	})
	assert.Equal(t, lifecycle.Syncing, states["a"].State)
	assert.Equal(t, lifecycle.Terminating, states["b"].State)
	assert.True(t, node.Workers.View("unknown").CouldHaveRunningContainers(), "not every source was heard")
}

// A pod that was created after the snapshot is not terminated.
func TestSyncKnown_SparesWhatIsNewer(t *testing.T) {
	node := newSimulation(t, Config{})
	snapshot := podworkers.KnownPods{Generation: node.Workers.Generation(), AllSources: true}
	node.Create(Pod("a"))
	node.RunUntilIdle()
	assert.Equal(t, lifecycle.Syncing, node.Workers.SyncKnownPods(snapshot)["a"].State)
}

func assertResolved(t *testing.T, handles ...*podworkers.Completion) {
	t.Helper()
	for i, h := range handles {
		select {
		case <-h.Done():
		default:
			t.Errorf("kill %d is not resolved", i)
		}
	}
}
