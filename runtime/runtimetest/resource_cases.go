package runtimetest

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var resourceCases = []Case{
	{"stats/running", "a pod's figures are those of its running containers", statsRunning},
	{"stats/none", "a pod of which nothing runs has no figures, and that is no error", statsNone},
	{"disk/usage", "an ImageFilesystem says how full a disk is, no fuller than it can be, or that it does not know", diskUsage},
	{"disk/used", "a UsedImageLister lists the image of every container, whether it runs or has exited", diskUsed},
	{"disk/pull", "what an ImageFilesystem says has room for the images that are present", diskPull},
	{"update/running", "the resources of a running container can be changed, and it runs on", updateRunning},
	{"update/nothing", "an update that asks for nothing is no error", updateNothing},
	{"update/unknown", "an update of an unknown container is ErrNotFound", updateUnknown},
}

func statsRunning(b *bench) {
	s, ok := feature(b, b.features().StatsReader, "StatsReader")
	if !ok {
		return
	}
	ref, sandbox, id := b.run(b.h.Forever)
	b.create(ref, sandbox, "created", 0, b.h.Forever)
	exited := b.create(ref, sandbox, "exited", 0, b.h.Exit(0, 0))
	b.start(exited)
	b.exited(ref, exited)
	b.run(b.h.Forever) // another pod
	var before runtime.ContainerStats
	for range 2 {
		b.sleep(time.Second)
		stats, err := s.PodStats(b.ctx, ref.UID)
		b.Must(err, "PodStats")
		of := stats.Containers
		b.Check(len(of) == 1 && of[0].ContainerID == id && of[0].Name == "main", "one container runs, the figures are %+v", of)
		before = b.measured(before, of[0])
	}
}

// measured checks the figures of a container against those before, and returns them.
func (b *bench) measured(before, now runtime.ContainerStats) runtime.ContainerStats {
	b.Helper()
	b.Check(now.CPU != nil && now.CPU.UsageCoreNanoSeconds != nil, "the processor time is not known")
	b.Check(now.Memory != nil && now.Memory.WorkingSetBytes != nil && *now.Memory.WorkingSetBytes > 0, "the working set is not known")
	if before.CPU != nil {
		b.Check(now.CPU.At.After(before.CPU.At) && now.Memory.At.After(before.Memory.At), "they were taken at %s, and then at %s", before.CPU.At, now.CPU.At)
		was, is := *before.CPU.UsageCoreNanoSeconds, *now.CPU.UsageCoreNanoSeconds
		b.Check(is >= was, "the processor time was %d, and then %d", was, is)
	}
	return now
}

func statsNone(b *bench) {
	s, ok := feature(b, b.features().StatsReader, "StatsReader")
	if !ok {
		return
	}
	ref := b.pod()
	none := func() {
		b.Helper()
		stats, err := s.PodStats(b.ctx, ref.UID)
		b.Must(err, "PodStats")
		b.Check(reflect.ValueOf(stats).IsZero(), "the figures are %+v", stats)
	}
	none()
	b.create(ref, b.sandbox(ref, 0), "created", 0, b.h.Forever)
	none()
}

func diskUsage(b *bench) {
	f, ok := feature(b, b.features().ImageFilesystem, "ImageFilesystem")
	if !ok {
		return
	}
	usage, err := f.ImageFilesystem(b.ctx)
	b.Must(err, "ImageFilesystem")
	b.Check(usage.CapacityBytes == 0 || usage.UsedBytes <= usage.CapacityBytes, "%d bytes of %d are used", usage.UsedBytes, usage.CapacityBytes)
	again, err := f.ImageFilesystem(b.ctx)
	b.Must(err, "ImageFilesystem")
	b.Check(again.CapacityBytes == usage.CapacityBytes, "the disk has %d bytes, and then %d", usage.CapacityBytes, again.CapacityBytes)
}

func diskPull(b *bench) {
	f, ok := feature(b, b.features().ImageFilesystem, "ImageFilesystem")
	if !ok {
		return
	}
	b.image()
	usage, err := f.ImageFilesystem(b.ctx)
	b.Must(err, "ImageFilesystem")
	if usage.CapacityBytes == 0 {
		b.Skipf("the runtime does not know its disk")
		return
	}
	image, err := b.rt.ImageStatus(b.ctx, runtime.ImageStatusRequest{Image: b.h.Image})
	b.Must(err, "ImageStatus")
	b.Check(usage.UsedBytes > 0 && usage.UsedBytes >= image.SizeBytes, "%d bytes are used, one image has %d", usage.UsedBytes, image.SizeBytes)
}

func updateRunning(b *bench) {
	b.updates(runtime.Resources{MemoryBytes: 256 << 20, CPUShares: 512})
}

func updateNothing(b *bench) { b.updates(runtime.Resources{}) }

func (b *bench) updates(res runtime.Resources) {
	b.Helper()
	u, ok := feature(b, b.features().Updater, "Updater")
	if !ok {
		return
	}
	ref, _, id := b.run(b.h.Forever)
	before := b.container(ref, id)
	b.Must(u.UpdateContainer(b.ctx, runtime.UpdateContainerRequest{ContainerID: id, Resources: res}), "UpdateContainer")
	after := b.container(ref, id)
	b.Check(after.State == runtime.StateRunning && after.StartedAt.Equal(before.StartedAt), "it is %s, started %s and then %s", after.State, before.StartedAt, after.StartedAt)
}

func updateUnknown(b *bench) {
	u, ok := feature(b, b.features().Updater, "Updater")
	if !ok {
		return
	}
	for _, res := range []runtime.Resources{{}, {MemoryBytes: 256 << 20}} {
		err := u.UpdateContainer(b.ctx, runtime.UpdateContainerRequest{ContainerID: b.name + "-no-such-container", Resources: res})
		b.is(err, runtime.ErrNotFound, "UpdateContainer")
	}
}

func diskUsed(b *bench) {
	f, ok := feature(b, b.features().UsedImageLister, "UsedImageLister")
	if !ok {
		return
	}
	_, _, id := b.run(b.h.Forever)
	image, err := b.imageStatus(b.h.Image)
	b.Must(err, "ImageStatus")
	names := append(namesOf(image), b.h.Image)
	for _, state := range []string{"running", "stopped"} {
		if state == "stopped" {
			b.Must(b.rt.StopContainer(b.ctx, runtime.StopContainerRequest{ContainerID: id}), "StopContainer")
		}
		used, err := f.ListUsedImages(b.ctx)
		if errors.Is(err, runtime.ErrUnsupported) {
			b.Skipf("the runtime does not list the images in use: %v", err)
			return
		}
		b.Must(err, "ListUsedImages")
		b.Check(slices.ContainsFunc(used, func(name string) bool { return slices.Contains(names, name) }), "ListUsedImages lacks the image %s of a container that is %s: %q", b.h.Image, state, used)
	}
}

// namesOf are all names of an image.
func namesOf(image runtime.Image) []string {
	return slices.Concat([]string{image.ID}, image.Tags, image.Digests)
}
