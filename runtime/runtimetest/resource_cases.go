package runtimetest

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var resourceCases = []Case{
	{"stats/running", "PodStats has the figures of the running containers of the pod", checkStatsOfRunning},
	{"stats/none", "PodStats of a pod without running containers is empty and no error", checkStatsOfIdlePod},
	{"disk/usage", "ImageFilesystem returns a constant capacity and a usage that does not exceed it, or a capacity of zero", checkImageFilesystem},
	{"disk/used", "ListUsedImages has the image of every container, running or exited", checkUsedImages},
	{"disk/pull", "UsedBytes of ImageFilesystem is at least the size of a present image", checkImageFilesystemHoldsImage},
	{"update/running", "UpdateContainer of a running container succeeds, and the container runs on", checkUpdateRunning},
	{"update/nothing", "UpdateContainer with zero resources succeeds", checkEmptyUpdate},
	{"update/unknown", "UpdateContainer of an unknown container is ErrNotFound", checkUpdateUnknown},
}

func checkStatsOfRunning(b *bench) {
	s, ok := roleOrSkip(b, b.features().StatsReader, "StatsReader")
	if !ok {
		return
	}
	ref, sandbox, id := b.runContainer(b.h.Forever)
	b.createContainer(ref, sandbox, "created", 0, b.h.Forever)
	exited := b.createContainer(ref, sandbox, "exited", 0, b.h.Exit(0, 0))
	b.startContainer(exited)
	b.waitForExit(ref, exited)
	b.runContainer(b.h.Forever) // another pod
	var before runtime.ContainerStats
	for range 2 {
		b.sleep(time.Second)
		stats, err := s.PodStats(b.ctx, ref.UID)
		b.Must(err, "PodStats")
		containers := stats.Containers
		b.Check(len(containers) == 1 && containers[0].ContainerID == id && containers[0].Name == "main", "PodStats must have only the running container main; it has %+v", containers)
		before = b.requireStatsNotDecreased(before, containers[0])
	}
}

// requireStatsNotDecreased fails the case if now lacks CPU time or memory. If before has CPU stats, it also
// fails the case if now was not measured later, or shows less CPU time. It returns now.
func (b *bench) requireStatsNotDecreased(before, now runtime.ContainerStats) runtime.ContainerStats {
	b.Helper()
	b.Check(now.CPU != nil && now.CPU.UsageCoreNanoSeconds != nil, "PodStats has no CPU time of a running container")
	b.Check(now.Memory != nil && now.Memory.WorkingSetBytes != nil && *now.Memory.WorkingSetBytes > 0, "PodStats has no working set of a running container")
	if before.CPU != nil {
		b.Check(now.CPU.At.After(before.CPU.At) && now.Memory.At.After(before.Memory.At), "two calls of PodStats returned measurements from %s and %s, want a later time in the second", before.CPU.At, now.CPU.At)
		was, is := *before.CPU.UsageCoreNanoSeconds, *now.CPU.UsageCoreNanoSeconds
		b.Check(is >= was, "the CPU time decreased from %d to %d", was, is)
	}
	return now
}

func checkStatsOfIdlePod(b *bench) {
	s, ok := roleOrSkip(b, b.features().StatsReader, "StatsReader")
	if !ok {
		return
	}
	ref := b.newPodToCleanUp()
	none := func() {
		b.Helper()
		stats, err := s.PodStats(b.ctx, ref.UID)
		b.Must(err, "PodStats")
		b.Check(reflect.ValueOf(stats).IsZero(), "PodStats of a pod without running containers must be empty; it is %+v", stats)
	}
	none()
	b.createContainer(ref, b.runSandbox(ref, 0), "created", 0, b.h.Forever)
	none()
}

func checkImageFilesystem(b *bench) {
	f, ok := roleOrSkip(b, b.features().ImageFilesystem, "ImageFilesystem")
	if !ok {
		return
	}
	usage, err := f.ImageFilesystem(b.ctx)
	b.Must(err, "ImageFilesystem")
	b.Check(usage.CapacityBytes == 0 || usage.UsedBytes <= usage.CapacityBytes, "UsedBytes is %d, more than the CapacityBytes %d", usage.UsedBytes, usage.CapacityBytes)
	again, err := f.ImageFilesystem(b.ctx)
	b.Must(err, "ImageFilesystem")
	b.Check(again.CapacityBytes == usage.CapacityBytes, "CapacityBytes changed from %d to %d", usage.CapacityBytes, again.CapacityBytes)
}

func checkImageFilesystemHoldsImage(b *bench) {
	f, ok := roleOrSkip(b, b.features().ImageFilesystem, "ImageFilesystem")
	if !ok {
		return
	}
	b.pullImage()
	usage, err := f.ImageFilesystem(b.ctx)
	b.Must(err, "ImageFilesystem")
	if usage.CapacityBytes == 0 {
		b.Skipf("the runtime reports no capacity")
		return
	}
	image, err := b.rt.ImageStatus(b.ctx, runtime.ImageStatusRequest{Image: b.h.Image})
	b.Must(err, "ImageStatus")
	b.Check(usage.UsedBytes > 0 && usage.UsedBytes >= image.SizeBytes, "UsedBytes is %d, less than the size %d of one present image", usage.UsedBytes, image.SizeBytes)
}

func checkUpdateRunning(b *bench) {
	b.checkUpdateKeepsRunning(runtime.Resources{MemoryBytes: 256 << 20, CPUShares: 512})
}

func checkEmptyUpdate(b *bench) { b.checkUpdateKeepsRunning(runtime.Resources{}) }

// checkUpdateKeepsRunning updates the resources of a running container and fails the case if the container
// stops or restarts, or if PodStatus reports other resources than the updated ones. It skips the case if the runtime is no Updater.
func (b *bench) checkUpdateKeepsRunning(res runtime.Resources) {
	b.Helper()
	u, ok := roleOrSkip(b, b.features().Updater, "Updater")
	if !ok {
		return
	}
	ref, _, id := b.runContainer(b.h.Forever)
	before := b.containerStatus(ref, id)
	b.Must(u.UpdateContainer(b.ctx, runtime.UpdateContainerRequest{ContainerID: id, Resources: res}), "UpdateContainer")
	after := b.containerStatus(ref, id)
	b.Check(after.State == runtime.StateRunning && after.StartedAt.Equal(before.StartedAt), "UpdateContainer must not restart the container; it is %s, and StartedAt changed from %s to %s", after.State, before.StartedAt, after.StartedAt)
	if res.MemoryBytes != 0 && after.Resources != nil {
		b.Check(after.Resources.MemoryBytes == res.MemoryBytes, "PodStatus must report the updated memory limit if it reports resources; it reports %+v", *after.Resources)
	}
}

func checkUpdateUnknown(b *bench) {
	u, ok := roleOrSkip(b, b.features().Updater, "Updater")
	if !ok {
		return
	}
	for _, res := range []runtime.Resources{{}, {MemoryBytes: 256 << 20}} {
		err := u.UpdateContainer(b.ctx, runtime.UpdateContainerRequest{ContainerID: b.name + "-no-such-container", Resources: res})
		b.requireErrorIs(err, runtime.ErrNotFound, "UpdateContainer")
	}
}

func checkUsedImages(b *bench) {
	f, ok := roleOrSkip(b, b.features().UsedImageLister, "UsedImageLister")
	if !ok {
		return
	}
	_, _, id := b.runContainer(b.h.Forever)
	image, err := b.imageStatus(b.h.Image)
	b.Must(err, "ImageStatus")
	names := append(imageNames(image), b.h.Image)
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
		b.Check(slices.ContainsFunc(used, func(name string) bool { return slices.Contains(names, name) }), "ListUsedImages lacks the image %s of a %s container; it returned %q", b.h.Image, state, used)
	}
}

// imageNames returns the ID, tags and digests of an image in one list.
func imageNames(image runtime.Image) []string {
	return slices.Concat([]string{image.ID}, image.Tags, image.Digests)
}
