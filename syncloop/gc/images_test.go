package gc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// shelf is a simulation with Images. An image has a megabyte; the disk has ten.
type shelf struct {
	*simulation
	manager *images.Manager
	images  *gc.Images
	told    []string
}

const megabyte = 1 << 20

// Event records the event.
func (s *shelf) Event(_ k8sruntime.Object, _, reason, message string) {
	s.told = append(s.told, reason+": "+message)
}

func (s *shelf) Eventf(object k8sruntime.Object, eventtype, reason, format string, args ...any) {
	s.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

func newShelf(t *testing.T, limits policy.Images) *shelf {
	b := &simulation{Scheduler: executor.NewScheduler(1, start)}
	b.process = b.NewProcess()
	own := b.process.Clock()
	b.bench = newBench(b.NewProcess().Clock(), own)
	b.machine.SetImageFilesystem(10*megabyte, 0)
	rt := b.faults.Wrap(b.machine.WithClock(own), own)
	s := &shelf{simulation: b}
	var err error
	s.manager, err = images.New(images.Config{Images: rt, Clock: own})
	require.NoError(t, err)
	s.images, err = gc.NewImages(gc.ImagesConfig{
		Runtime: rt, Images: s.manager, Seen: snapshot{bench: b.bench}, Policy: limits, Recorder: s, Clock: own, Delay: 1,
	})
	require.NoError(t, err)
	var ctx context.Context
	ctx, b.end = executor.WithCancel(t.Context())
	b.process.Go(func() { assert.NoError(t, s.images.Run(ctx)) })
	b.RunUntilIdle()
	t.Cleanup(func() {
		b.end()
		b.RunUntil(b.Now().Add(time.Hour))
		assert.Zero(t, b.process.Running())
	})
	return s
}

func (s *shelf) pullImages(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := s.machine.PullImage(context.Background(), runtime.PullImageRequest{Image: name})
		require.NoError(t, err)
	}
}

// presentImages returns the names of the present images.
func (s *shelf) presentImages() string {
	list, _ := s.machine.ListImages(context.Background())
	var names []string
	for _, image := range list {
		names = append(names, image.Tags[0])
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}

func (s *shelf) requireNoTimer(t *testing.T) {
	t.Helper()
	_, armed := s.NextTimer()
	assert.False(t, armed, "no timer is set")
}

// IG-1, IG-3: images are removed from 85 % down to 80 %. An image with a container, running or not,
// a leased image and a young image stay.
func TestImages_IG1_IG3_Threshold(t *testing.T) {
	s := newShelf(t, policy.Images{})
	s.createStopped(t, "a", 1) // of image i
	s.pullImages(t, "b:1", "c:1", "d:1", "e:1", "f:1", "g:1")
	s.images.Changed()
	s.runUntilSecond(1)
	assert.Equal(t, "[b:1 c:1 d:1 e:1 f:1 g:1 i:latest]", s.presentImages(), "70 %")
	s.requireNoTimer(t)
	var lease *images.Lease
	s.process.Go(func() { lease, _ = s.manager.Lease(context.Background(), "b:1") })
	s.pullImages(t, "young:1", "young:2")
	s.images.Changed()
	s.runUntilSecond(2)
	assert.Len(t, strings.Fields(s.presentImages()), 8, "one of nine was enough")
	assert.Len(t, s.images.Known(), 9)
	assert.Contains(t, s.presentImages(), "b:1")
	assert.Contains(t, s.presentImages(), "young:1")
	assert.Contains(t, s.presentImages(), "young:2")
	assert.Empty(t, s.told)
	lease.Release()
}

// IG-4: an image that cannot be removed does not stop the round, and an event reports too little
// freed space. The round is repeated, and every 5 min while the disk is above the low threshold.
func TestImages_IG4_TooLittle(t *testing.T) {
	s := newShelf(t, policy.Images{})
	s.machine.SetImageFilesystem(10*megabyte, 8*megabyte)
	s.pullImages(t, "b:1", "c:1")
	heal := s.addFault(t, faulty.Rule{Verb: faulty.RemoveImage, Do: faulty.Fail, Times: 1})
	s.runUntilSecond(1) // The first look is the collector's own.
	assert.Len(t, s.told, 1)
	assert.Contains(t, s.told[0], "FreeDiskSpaceFailed: ")
	assert.Len(t, s.presentImages(), len("[b:1]"))
	heal()
	s.runUntilSecond(20)
	assert.Equal(t, "[]", s.presentImages())
	s.runUntilSecond(1000)
	assert.Equal(t, 1, len(s.told))
	_, armed := s.NextTimer()
	assert.True(t, armed, "80 %: the disk is watched")
	s.machine.SetImageFilesystem(10*megabyte, 0)
	s.runUntilSecond(2000)
	s.requireNoTimer(t)
}

// If the runtime cannot list the images in use, no image is removed.
func TestImages_NothingConcluded(t *testing.T) {
	for _, verb := range []string{faulty.PodStatus, faulty.ListPods, faulty.ListImages, faulty.ImageFilesystem} {
		s := newShelf(t, policy.Images{})
		s.createStopped(t, "a", 1)
		s.pullImages(t, "b:1")
		s.machine.SetImageFilesystem(10*megabyte, 8*megabyte)
		heal := s.addFault(t, faulty.Rule{Verb: verb, Do: faulty.Fail})
		s.images.Changed()
		s.runUntilSecond(9)
		assert.Equal(t, "[b:1 i:latest]", s.presentImages(), verb)
		heal()
		s.runUntilSecond(60)
		assert.Equal(t, "[i:latest]", s.presentImages(), verb)
	}
}

// IG-6: images that were not used for MaxAge, counted from the first list.
func TestImages_IG6_MaxAge(t *testing.T) {
	s := newShelf(t, policy.Images{MaxAge: time.Hour})
	s.machine.SetImageFilesystem(0, 0)
	s.createStopped(t, "a", 1)
	s.pullImages(t, "b:1")
	s.images.Changed()
	s.runUntilSecond(3500)
	assert.Equal(t, "[b:1 i:latest]", s.presentImages())
	s.runUntilSecond(4000)
	assert.Equal(t, "[i:latest]", s.presentImages())
	s.images.Changed()
	s.runUntilSecond(40000)
	assert.Equal(t, "[i:latest]", s.presentImages(), "it is in use all the time")
}

// IG-5: all unused images, except those that are younger than MinAge.
func TestImages_IG5_DeleteUnused(t *testing.T) {
	s := newShelf(t, policy.Images{})
	s.createStopped(t, "a", 1)
	s.pullImages(t, "b:1", "c:1")
	deleteUnused := func(want uint64) func() {
		return func() {
			freed, err := s.images.DeleteUnusedImages(context.Background())
			assert.NoError(t, err)
			assert.Equal(t, want, freed)
		}
	}
	s.process.Go(deleteUnused(2 * megabyte))
	s.runUntilSecond(1)
	assert.Equal(t, "[i:latest]", s.presentImages())
	s.pullImages(t, "young:1")
	s.process.Go(deleteUnused(0))
	s.runUntilSecond(2)
	assert.Equal(t, "[i:latest young:1]", s.presentImages())
	s.runUntilSecond(150)
	s.process.Go(deleteUnused(megabyte))
	s.runUntilSecond(151)
	assert.Equal(t, "[i:latest]", s.presentImages())
}

// For a runtime without capacity, and without MaxAge, images are not even listed.
func TestImages_NoReason(t *testing.T) {
	s := newShelf(t, policy.Images{})
	s.machine.SetImageFilesystem(0, 0)
	s.addFault(t, faulty.Rule{Verb: faulty.ListImages, Do: faulty.Fail})
	s.images.Changed()
	s.runUntilSecond(100)
	s.requireNoTimer(t)
}

func TestNewImages_NamesEveryFault(t *testing.T) {
	_, err := gc.NewImages(gc.ImagesConfig{Policy: policy.Images{HighThresholdPercent: 101, LowThresholdPercent: -1, MinAge: -1, MaxAge: -1}, Delay: -1, Period: -1, CallTimeout: -1})
	require.EqualError(t, err, "gc: ImagesConfig.Runtime is missing\ngc: ImagesConfig.Images is missing\ngc: ImagesConfig.Seen is missing\n"+
		"gc: ImagesConfig.Policy.HighThresholdPercent is not a percentage\ngc: ImagesConfig.Policy.LowThresholdPercent is not a percentage\n"+
		"gc: ImagesConfig.Policy.MinAge is negative\ngc: ImagesConfig.Policy.MaxAge is negative\ngc: ImagesConfig.Delay is negative\n"+
		"gc: ImagesConfig.Period is negative\ngc: ImagesConfig.CallTimeout is negative")
}

// pinning is a runtime with one pinned image.
type pinning struct {
	runtime.Runtime
	name string
}

func (p pinning) ListImages(ctx context.Context) ([]runtime.Image, error) {
	list, err := p.Runtime.ListImages(ctx)
	for i := range list {
		list[i].Pinned = list[i].Tags[0] == p.name
	}
	return list, err
}

// IG-1: a pinned image always stays. A leased image stays too, and that is no error.
func TestImages_IG1_PinnedAndLeased(t *testing.T) {
	s := newShelf(t, policy.Images{})
	s.pullImages(t, "pause:1", "leased:1", "b:1")
	rt := pinning{s.machine, "pause:1"}
	manager, err := images.New(images.Config{Images: rt})
	require.NoError(t, err)
	collector, err := gc.NewImages(gc.ImagesConfig{Runtime: rt, Images: manager, Seen: snapshot{bench: s.bench}})
	require.NoError(t, err)
	lease, err := manager.Lease(t.Context(), "leased:1")
	require.NoError(t, err)
	freed, err := collector.DeleteUnusedImages(t.Context())
	require.NoError(t, err)
	assert.Equal(t, uint64(megabyte), freed)
	assert.Equal(t, "[leased:1 pause:1]", s.presentImages())
	lease.Release()
}

// shared is a runtime whose images others use as well.
type shared struct {
	runtime.Runtime
	used  []string
	err   error
	asked int
}

func (s *shared) Features() runtime.Features {
	f := runtime.FeaturesOf(s.Runtime)
	f.UsedImageLister = s
	return f
}

func (s *shared) ListUsedImages(context.Context) ([]string, error) {
	s.asked++
	return s.used, s.err
}

// IG-1: a leased image is in use, so its age causes no call for the images in use. After the lease
// it is removed.
func TestImages_IG1_ALeaseIsUse(t *testing.T) {
	s := newShelf(t, policy.Images{})
	s.pullImages(t, "b:1")
	own := s.process.Clock()
	rt := &shared{Runtime: s.machine.WithClock(own)}
	collector, err := gc.NewImages(gc.ImagesConfig{
		Runtime: rt, Images: s.manager, Seen: snapshot{bench: s.bench}, Policy: policy.Images{MaxAge: time.Hour}, Clock: own,
	})
	require.NoError(t, err)
	var lease *images.Lease
	s.process.Go(func() { lease, _ = s.manager.Lease(context.Background(), "b:1") })
	for at := range 5 {
		s.process.Go(func() { _, _ = collector.Step(context.Background()) })
		s.runUntilSecond(float64(4000 * (at + 1)))
	}
	require.NotNil(t, lease)
	assert.Zero(t, rt.asked)
	lease.Release()
	s.process.Go(func() { _, _ = collector.Step(context.Background()) })
	s.runUntilSecond(24000)
	assert.Equal(t, 1, rt.asked)
	assert.Equal(t, "[]", s.presentImages())
}

// IG-1: the image of a container of another agent or a kubelet stays, whether the disk is full, the
// age is reached or all unused images are requested. After an error of ListUsedImages no image is
// removed. A runtime without that role is called for its pods.
func TestImages_IG1_OfOtherAgents(t *testing.T) {
	s := newShelf(t, policy.Images{})
	s.createStopped(t, "a", 1) // of image i
	s.pullImages(t, "theirs:1", "b:1")
	own := s.process.Clock()
	rt := &shared{Runtime: s.machine.WithClock(own), used: []string{"docker.io/library/theirs:1", "i"}, err: errors.New("no answer")}
	collector, err := gc.NewImages(gc.ImagesConfig{
		Runtime: rt, Images: s.manager, Seen: snapshot{bench: s.bench}, Policy: policy.Images{MaxAge: time.Hour}, Clock: own,
	})
	require.NoError(t, err)
	s.process.Go(func() {
		_, err := collector.DeleteUnusedImages(context.Background())
		assert.EqualError(t, err, "gc: list the images in use: no answer")
	})
	s.runUntilSecond(1)
	assert.Equal(t, "[b:1 i:latest theirs:1]", s.presentImages())
	rt.err = nil
	s.process.Go(func() {
		_, err := collector.DeleteUnusedImages(context.Background())
		assert.NoError(t, err)
	})
	s.runUntilSecond(2)
	assert.Equal(t, "[i:latest theirs:1]", s.presentImages())
	for range 3 {
		s.process.Go(func() { _, _ = collector.Step(context.Background()) })
		s.runUntilSecond(4002)
	}
	assert.Equal(t, "[i:latest theirs:1]", s.presentImages(), "its age does not count while it is in use")
	rt.err = runtime.ErrUnsupported
	s.process.Go(func() {
		_, err := collector.DeleteUnusedImages(context.Background())
		assert.NoError(t, err)
	})
	s.runUntilSecond(5000)
	assert.Equal(t, "[i:latest]", s.presentImages(), "the pods that it lists use one")
}

// IG-1: an image that a container mounts stays, whether the container runs or not.
func TestImages_IG1_MountedByAContainer(t *testing.T) {
	s := newShelf(t, policy.Images{})
	s.pullImages(t, "i:latest", "data:1", "b:1")
	ctx, pod := context.Background(), runtime.PodRef{UID: "a", Name: "a", Namespace: "ns"}
	sandbox, err := s.machine.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: pod})
	require.NoError(t, err)
	data, err := s.machine.ImageStatus(ctx, runtime.ImageStatusRequest{Image: "data:1"})
	require.NoError(t, err)
	_, err = s.machine.CreateContainer(ctx, runtime.CreateContainerRequest{
		Pod: pod, SandboxID: sandbox, Name: "c", Image: "i", Mounts: []runtime.Mount{{ContainerPath: "/data", Image: data.ID, ReadOnly: true}},
	})
	require.NoError(t, err)
	s.process.Go(func() {
		_, err := s.images.DeleteUnusedImages(context.Background())
		assert.NoError(t, err)
	})
	s.runUntilSecond(1)
	assert.Equal(t, "[data:1 i:latest]", s.presentImages())
}
