package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// recordedCgroups records the calls of Config.Cgroups and of the runtime in one list.
type recordedCgroups struct {
	*memory.Runtime
	calls []string
	err   error // of SetUp
	// limitErr is the error of SetUp if the cgroup exists and keeps a larger limit.
	limitErr error
	onUpdate func() error // called by UpdateContainer; nil: it succeeds
	onSetUp  func()       // called by SetUp, if it is set
	// readStats is called by PodStats; nil: the runtime measures nothing.
	readStats func() (runtime.PodStats, error)
}

func (r *recordedCgroups) SetUp(_ context.Context, pod *v1.Pod) (string, error) {
	text := "SetUp"
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		text += fmt.Sprintf(" %s=%s/%s", c.Name, c.Resources.Requests.Cpu(), c.Resources.Limits.Cpu())
	}
	r.calls = append(r.calls, text)
	if r.onSetUp != nil {
		r.onSetUp()
	}
	if r.err != nil {
		return "", r.err
	}
	return "/pods/a", r.limitErr
}

func (r *recordedCgroups) TearDown(context.Context, types.UID) error {
	r.calls = append(r.calls, "TearDown")
	return nil
}

func (r *recordedCgroups) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	r.calls = append(r.calls, "RunSandbox in "+req.CgroupDir)
	return r.Runtime.RunSandbox(ctx, req)
}

func (r *recordedCgroups) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	r.calls = append(r.calls, fmt.Sprintf("UpdateContainer quota %s", req.Resources.CPUQuota))
	if r.onUpdate != nil {
		return r.onUpdate()
	}
	return r.Runtime.UpdateContainer(ctx, req)
}

func (r *recordedCgroups) PodStats(context.Context, types.UID) (runtime.PodStats, error) {
	return r.readStats()
}

func (r *recordedCgroups) Features() runtime.Features {
	f := r.Runtime.Features()
	f.Updater, f.StatsReader = r, nil
	if r.readStats != nil {
		f.StatsReader = r
	}
	return f
}

// takeCalls returns the calls since the last took.
func (r *recordedCgroups) takeCalls() []string {
	calls := r.calls
	r.calls = nil
	return calls
}

// cpuOf sets the cpu request and limit of a container.
func cpuOf(c *v1.Container, request, limit string) {
	c.Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(request)}
	c.Resources.Limits = v1.ResourceList{}
	if limit != "" {
		c.Resources.Limits[v1.ResourceCPU] = resource.MustParse(limit)
	}
}

// TestSyncPod_RZ35_CgroupBeforeAndAfter: the cgroup of the pod is set up before the sandbox, which is created in it.
// In a resize the cgroup has the larger values while the containers are updated, and then the new ones. It is
// removed in SyncTerminatedPod.
func TestSyncPod_RZ35_CgroupBeforeAndAfter(t *testing.T) {
	rec := &recordedCgroups{Runtime: memory.New(memory.Config{})}
	syncer, _ := newQuietSyncer(t, rec, func(c *podsync.Config) { c.Cgroups = rec })
	pod := plainPod(func(p *v1.Pod) {
		p.Spec.Containers = []v1.Container{{Name: "a", Image: "i"}, {Name: "b", Image: "i"}}
		cpuOf(&p.Spec.Containers[0], "1", "2")
		cpuOf(&p.Spec.Containers[1], "1", "2")
	})
	sync := func() error {
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodUpdate, pod, nil, readPodStatus(t, rec))
		return err
	}
	require.NoError(t, sync())
	assert.Equal(t, []string{"SetUp a=1/2 b=1/2", "RunSandbox in /pods/a"}, rec.takeCalls())
	require.NoError(t, sync())
	assert.Equal(t, []string{"SetUp a=1/2 b=1/2"}, rec.takeCalls(), "a sync without work checks the cgroup too")

	pod = pod.DeepCopy()
	cpuOf(&pod.Spec.Containers[0], "2", "4")
	cpuOf(&pod.Spec.Containers[1], "1", "1")
	require.NoError(t, sync())
	assert.Equal(t, []string{"SetUp a=2/4 b=1/2", "UpdateContainer quota 100ms", "UpdateContainer quota 400ms", "SetUp a=2/4 b=1/1"}, rec.takeCalls())

	pod = pod.DeepCopy()
	cpuOf(&pod.Spec.Containers[0], "2", "3")
	rec.err = errors.New("no room")
	err := sync()
	require.ErrorContains(t, err, "the cgroup of the pod: no room")
	assert.Equal(t, []string{"SetUp a=2/4 b=1/1"}, rec.takeCalls(), "no container is updated after an error")
	rec.err = nil
	require.NoError(t, sync())
	assert.Equal(t, []string{"SetUp a=2/4 b=1/1", "UpdateContainer quota 300ms", "SetUp a=2/3 b=1/1"}, rec.takeCalls())

	require.NoError(t, syncer.SyncTerminatingPod(t.Context(), pod, readPodStatus(t, rec), nil, nil))
	require.NoError(t, syncer.SyncTerminatedPod(t.Context(), pod, readPodStatus(t, rec)))
	assert.Equal(t, []string{"TearDown"}, rec.takeCalls())
}

// TestSyncPod_CG13_CgroupFails: nothing starts without the cgroup of the pod, and an event reports it.
func TestSyncPod_CG13_CgroupFails(t *testing.T) {
	rec := &recordedCgroups{Runtime: memory.New(memory.Config{}), err: errors.New("no room")}
	events := &told{}
	syncer, _ := newQuietSyncer(t, rec, func(c *podsync.Config) { c.Cgroups, c.Recorder = rec, events })
	_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, plainPod(), nil, readPodStatus(t, rec))
	require.ErrorContains(t, err, "no room")
	assert.Empty(t, readPodStatus(t, rec).Sandboxes)
	assert.Equal(t, []string{"The cgroup of the pod cannot be set up: no room"}, events.messagesFor("FailedToCreatePodContainer"))
}

// TestSyncPod_LargerCgroupLimitKept: a pod that uses more memory than its new limit starts nevertheless, in the cgroup
// with the former limit. The error is returned, so that the sync is retried.
func TestSyncPod_LargerCgroupLimitKept(t *testing.T) {
	rec := &recordedCgroups{Runtime: memory.New(memory.Config{}), limitErr: errors.New("memory in use")}
	events := &told{}
	syncer, _ := newQuietSyncer(t, rec, func(c *podsync.Config) { c.Cgroups, c.Recorder = rec, events })
	_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, plainPod(), nil, readPodStatus(t, rec))
	require.ErrorContains(t, err, "the cgroup of the pod keeps a larger limit: memory in use")
	assert.Contains(t, rec.takeCalls(), "RunSandbox in /pods/a")
	assert.Equal(t, []string{"The cgroup of the pod keeps a larger limit: memory in use"}, events.messagesFor("ResizeError"))
	assert.Empty(t, events.messagesFor("FailedToCreatePodContainer"))
	_, err = syncer.SyncPod(t.Context(), podworkers.SyncPodUpdate, plainPod(), nil, readPodStatus(t, rec))
	require.ErrorContains(t, err, "memory in use", "a sync without work returns it too")
	rec.limitErr = nil
	_, err = syncer.SyncPod(t.Context(), podworkers.SyncPodUpdate, plainPod(), nil, readPodStatus(t, rec))
	require.NoError(t, err)
}

// resizedAndSynced returns a syncer whose pod has run with a limit of 2 cpus and 200Mi, and a function that syncs the pod
// with other limits.
func resizedAndSynced(t *testing.T, rec *recordedCgroups, events *told) (sync func(ctx context.Context, cpu, memory string) error) {
	syncer, _ := newQuietSyncer(t, rec, func(c *podsync.Config) { c.Cgroups, c.Recorder = rec, events })
	sync = func(ctx context.Context, cpu, memory string) error {
		pod := plainPod(func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
		})
		_, err := syncer.SyncPod(ctx, podworkers.SyncPodUpdate, pod, nil, readPodStatus(t, rec))
		return err
	}
	require.NoError(t, sync(t.Context(), "2", "200Mi"))
	require.NoError(t, sync(t.Context(), "2", "200Mi"))
	rec.takeCalls()
	return sync
}

// TestSyncPod_RZ43_StatsFail: a memory limit is not decreased while the memory in use cannot be read, and is decreased
// in a later sync.
func TestSyncPod_RZ43_StatsFail(t *testing.T) {
	rec, events := &recordedCgroups{Runtime: memory.New(memory.Config{})}, &told{}
	sync := resizedAndSynced(t, rec, events)
	rec.readStats = func() (runtime.PodStats, error) { return runtime.PodStats{}, errors.New("no figures") }
	require.EqualError(t, sync(t.Context(), "2", "100Mi"), "podsync: cannot resize container a: cannot decrease memory limits: the memory in use is not known: no figures")
	assert.NotContains(t, rec.takeCalls(), "UpdateContainer quota 0s")
	assert.Len(t, events.messagesFor("ResizeError"), 1)
	rec.readStats = nil
	require.NoError(t, sync(t.Context(), "2", "100Mi"))
	assert.Contains(t, rec.takeCalls(), "UpdateContainer quota 0s")
}

// TestSyncPod_RZ47_ErrorEventOnce: a resize that fails again in each retried sync is one event, also while the memory in
// use changes. Another limit, another generation, another error, and a failure after a success are new events.
func TestSyncPod_RZ47_ErrorEventOnce(t *testing.T) {
	rec, events := &recordedCgroups{Runtime: memory.New(memory.Config{})}, &told{}
	syncer, _ := newQuietSyncer(t, rec, func(c *podsync.Config) { c.Cgroups, c.Recorder = rec, events })
	used, generation := uint64(150<<20), int64(1)
	sync := func(memory string) error {
		pod := plainPod(func(p *v1.Pod) {
			p.Generation = generation
			p.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)}
		})
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodUpdate, pod, nil, readPodStatus(t, rec))
		return err
	}
	require.NoError(t, sync("200Mi"))
	rec.readStats = func() (runtime.PodStats, error) {
		used++
		return runtime.PodStats{Containers: []runtime.ContainerStats{{ContainerID: readPodStatus(t, rec).Containers[0].ID, Memory: &runtime.MemoryStats{WorkingSetBytes: &used}}}}, nil
	}
	for _, step := range []struct {
		memory string
		change func()
		events int
	}{
		{"100Mi", nil, 1}, {"100Mi", nil, 1}, {"100Mi", nil, 1},
		{"90Mi", nil, 2}, {"90Mi", nil, 2},
		{"90Mi", func() { generation++ }, 3}, {"90Mi", nil, 3},
		{"90Mi", func() { rec.readStats, rec.onUpdate = nil, func() error { return errors.New("busy") } }, 4}, {"90Mi", nil, 4},
	} {
		if step.change != nil {
			step.change()
		}
		require.Error(t, sync(step.memory))
		require.Len(t, events.messagesFor("ResizeError"), step.events, "%+v", step)
	}
	busy := rec.onUpdate
	rec.onUpdate = nil
	require.NoError(t, sync("90Mi"))
	rec.onUpdate = busy
	require.Error(t, sync("80Mi"))
	require.Len(t, events.messagesFor("ResizeError"), 5, "the error after a success has the same text and generation")
}

// TestSyncPod_RZ47_CgroupErrorEventOnce: the same for a limit that the cgroup of the pod does not get.
func TestSyncPod_RZ47_CgroupErrorEventOnce(t *testing.T) {
	rec, events := &recordedCgroups{Runtime: memory.New(memory.Config{})}, &told{}
	sync := resizedAndSynced(t, rec, events)
	rec.limitErr = errors.New("memory in use")
	for range 3 {
		require.Error(t, sync(t.Context(), "3", "200Mi"))
	}
	assert.Equal(t, []string{"The cgroup of the pod keeps a larger limit: memory in use"}, events.messagesFor("ResizeError"))
	rec.limitErr = nil
	require.NoError(t, sync(t.Context(), "3", "200Mi"))
	rec.limitErr = errors.New("memory in use")
	require.Error(t, sync(t.Context(), "3", "200Mi"))
	assert.Len(t, events.messagesFor("ResizeError"), 2)
}

// TestSyncPod_ResizeCancelled: a cancelled update is neither an error of the resize nor a success. The next sync sends it
// again.
func TestSyncPod_ResizeCancelled(t *testing.T) {
	rec, events := &recordedCgroups{Runtime: memory.New(memory.Config{})}, &told{}
	sync := resizedAndSynced(t, rec, events)
	ctx, cancel := context.WithCancel(t.Context())
	rec.onUpdate = func() error {
		cancel()
		return errors.New("broken off")
	}
	require.ErrorIs(t, sync(ctx, "3", "200Mi"), context.Canceled)
	assert.Empty(t, events.messagesFor("ResizeError"))
	rec.onUpdate = nil
	rec.takeCalls()
	require.NoError(t, sync(t.Context(), "3", "200Mi"))
	assert.Contains(t, rec.takeCalls(), "UpdateContainer quota 300ms")
}

// TestSyncPod_CgroupPanics: a panic of Cgroups.SetUp in the middle of a resize prevents starts, as any other error that is
// not about a larger limit.
func TestSyncPod_CgroupPanics(t *testing.T) {
	rec, events := &recordedCgroups{Runtime: memory.New(memory.Config{})}, &told{}
	sync := resizedAndSynced(t, rec, events)
	calls := 0
	rec.onSetUp = func() {
		if calls++; calls == 2 {
			panic("oh")
		}
	}
	err := sync(t.Context(), "3", "200Mi")
	require.ErrorContains(t, err, "podsync: the cgroup of the pod: ")
	assert.Len(t, events.messagesFor("FailedToCreatePodContainer"), 1)
	assert.Empty(t, events.messagesFor("ResizeError"))
}
