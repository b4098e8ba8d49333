package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// notedVolumes records the calls of Volumes, and fails when the test sets an error.
type notedVolumes struct {
	*inmemory.Volumes
	log []string
	err error
}

func (v *notedVolumes) SetUp(ctx context.Context, pod *v1.Pod) error {
	v.log = append(v.log, "SetUp")
	return errors.Join(v.err, v.Volumes.SetUp(ctx, pod))
}

func (v *notedVolumes) TearDown(ctx context.Context, uid types.UID) error {
	v.log = append(v.log, "TearDown")
	return errors.Join(v.err, v.Volumes.TearDown(ctx, uid))
}

func (v *notedVolumes) Hosts(pod *v1.Pod, ips, names []string) (string, error) {
	v.log = append(v.log, fmt.Sprintf("Hosts %q %q", ips, names))
	return v.Volumes.Hosts(pod, ips, names)
}

// SP-8, SP-22: the volumes of a pod are updated in each sync, also in a sync that has nothing else to
// do, and their error is the error of the sync. SyncTerminatedPod removes them, and fails until that
// succeeds.
func TestSyncer_SP8_SP22_Volumes(t *testing.T) {
	mem := memory.New(memory.Config{})
	volumes := &notedVolumes{Volumes: inmemory.New(inmemory.Config{})}
	syncer, st := newQuietSyncer(t, mem, func(c *podsync.Config) { c.Volumes = volumes })
	pod := plainPod(func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	})
	sync := func() error {
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, mem))
		return err
	}
	volumes.err = errors.New("no disk")
	require.ErrorIs(t, sync(), volumes.err)
	assert.Empty(t, readPodStatus(t, mem).Sandboxes, "nothing is started")
	volumes.err = nil
	require.NoError(t, sync())
	require.Equal(t, runtime.StateRunning, readPodStatus(t, mem).Containers[0].State)
	assert.Equal(t, []string{"SetUp", "SetUp"}, volumes.log)

	running := readPodStatus(t, mem)
	require.NoError(t, sync())
	volumes.err = errors.New("the disk is full")
	require.ErrorIs(t, sync(), volumes.err)
	assert.Equal(t, []string{"SetUp", "SetUp", "SetUp", "SetUp"}, volumes.log)
	assert.Equal(t, running, readPodStatus(t, mem), "running containers keep running")

	volumes.log = nil
	require.NoError(t, syncer.SyncTerminatingPod(t.Context(), pod, readPodStatus(t, mem), nil, nil))
	assert.Empty(t, volumes.log)
	finished := false
	st.write = func(line string) { finished = finished || line == "status finished" }
	require.ErrorIs(t, syncer.SyncTerminatedPod(t.Context(), pod, readPodStatus(t, mem)), volumes.err)
	assert.False(t, finished)
	volumes.err = nil
	require.NoError(t, syncer.SyncTerminatedPod(t.Context(), pod, readPodStatus(t, mem)))
	assert.True(t, finished)
	assert.Equal(t, []string{"TearDown", "TearDown"}, volumes.log)
}

// SP-8: after a first success, a failed update of the volumes does not keep a container from its next start, as when a
// ConfigMap was deleted. It is the error of the sync, with an event. A new process has to set the volumes up first.
func TestSyncPod_SP8_FailedUpdate(t *testing.T) {
	mem := memory.New(memory.Config{})
	volumes := &notedVolumes{Volumes: inmemory.New(inmemory.Config{})}
	heard := &told{}
	newSyncer := func() *podsync.Syncer {
		syncer, _ := newQuietSyncer(t, mem, func(c *podsync.Config) { c.Volumes, c.Recorder = volumes, heard })
		return syncer
	}
	syncer := newSyncer()
	pod := plainPod(func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	})
	sync := func() error {
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, mem))
		return err
	}
	attempts := func() (all []string) {
		for _, c := range readPodStatus(t, mem).Containers {
			all = append(all, fmt.Sprint(c.Attempt, " ", c.State))
		}
		return all
	}
	require.NoError(t, sync())
	notUpdated := fmt.Errorf("volumes: %w", &volume.SetUpError{Volume: "v", Err: &volume.NotUpdatedError{Err: errors.New("the ConfigMap is missing")}})
	volumes.err = notUpdated
	require.NoError(t, mem.ExitContainer(readPodStatus(t, mem).Containers[0].ID, 1))
	heard.list = nil
	require.ErrorIs(t, sync(), volumes.err)
	assert.Equal(t, []string{"1 running", "0 exited"}, attempts())
	assert.Equal(t, [2]string{"FailedMount", `MountVolume.SetUp failed for volume "v" : the ConfigMap is missing`}, heard.list[0])

	require.NoError(t, mem.ExitContainer(readPodStatus(t, mem).Containers[0].ID, 1))
	for _, volumes.err = range []error{podsync.ErrVolumesOfAnotherPod, errors.Join(notUpdated, errors.New("the disk is gone"))} {
		require.ErrorIs(t, sync(), volumes.err)
	}
	syncer = newSyncer()
	volumes.err = notUpdated
	require.ErrorIs(t, sync(), volumes.err)
	assert.Equal(t, []string{"1 exited", "0 exited"}, attempts())

	mem.LoseAll()
	syncer = newSyncer()
	volumes.err = nil
	require.NoError(t, sync())
	mem.LoseAll()
	volumes.err = notUpdated
	require.ErrorIs(t, sync(), volumes.err)
	assert.Equal(t, []string{"1 running"}, attempts(), "in a new sandbox")
}

// cancellingVolumes cancel the sync in their SetUp, as if the pod had to terminate.
type cancellingVolumes struct {
	*inmemory.Volumes
	end context.CancelFunc
}

func (v *cancellingVolumes) SetUp(ctx context.Context, pod *v1.Pod) error {
	defer v.end()
	return v.Volumes.SetUp(ctx, pod)
}

// RS-5: a pod that is to end after all is ready for its sandbox gets none.
func TestSyncPod_RS5_EndsBeforeItsSandbox(t *testing.T) {
	mem := memory.New(memory.Config{})
	ctx, end := context.WithCancel(t.Context())
	syncer, _ := newQuietSyncer(t, mem, func(c *podsync.Config) {
		c.Volumes = &cancellingVolumes{inmemory.New(inmemory.Config{}), end}
	})
	pod := plainPod(func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	})
	_, err := syncer.SyncPod(ctx, podworkers.SyncPodCreate, pod, nil, nil)
	require.Equal(t, context.Canceled, err)
	assert.Empty(t, readPodStatus(t, mem).Sandboxes)
}

// The hosts file has the addresses of the sandbox that was made in the same sync.
// If it cannot be looked at nothing is started.
func TestSyncPod_HostsOfNewSandbox(t *testing.T) {
	mem := memory.New(memory.Config{})
	volumes := &notedVolumes{Volumes: inmemory.New(inmemory.Config{})}
	blind := &blindTap{Runtime: mem, err: errors.New("cannot see")}
	syncer, _ := newQuietSyncer(t, blind, func(c *podsync.Config) { c.Files = volumes })
	sync := func() error {
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, plainPod(), nil, readPodStatus(t, mem))
		return err
	}
	require.ErrorIs(t, sync(), blind.err)
	require.Len(t, readPodStatus(t, mem).Sandboxes, 1)
	assert.Empty(t, readPodStatus(t, mem).Containers)
	mem.LoseAll()

	blind.err = nil
	require.NoError(t, sync())
	address := readPodStatus(t, mem).Sandboxes[0].IPs[0]
	assert.Equal(t, []string{fmt.Sprintf(`Hosts [%q] ["web"]`, address)}, volumes.log)
}
