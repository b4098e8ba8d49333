package runtimetest

import (
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

var imageCases = []Case{
	{"image/pull", "a pulled image is found by its names and listed", checkPull},
	{"image/pull-again", "pulling a present image succeeds and returns the same reference", checkPullTwice},
	{"image/missing", "pulling an image that does not exist is ErrImage", checkPullMissing},
	{"image/not-found", "ImageStatus of an image that is not present is ErrNotFound", checkImageNotFound},
	{"image/remove", "a removed image is not found, and can be pulled again", checkRemoveImage},
	{"image/remove-unknown", "removing an unknown image succeeds", checkRemoveUnknownImage},
	{"image/mounted", "the record of a container with an image mount has the image in MountedImages; if Features.ImageMounts is none, CreateContainer is ErrUnsupported", checkImageMount},
	{"image/mounted-missing", "an image mount whose image is not present is ErrNotFound", checkImageMountMissing},
	{caseNoImages, "in a runtime without images every name is present", checkNoImages},
}

// caseNoImages is the only image case for a runtime without images.
const caseNoImages = "image/none"

func checkNoImages(b *bench) {
	for _, name := range []string{b.h.Image, b.name + "-any-name"} {
		ref, err := b.rt.PullImage(b.ctx, runtime.PullImageRequest{Image: name})
		b.Must(err, "PullImage")
		b.Check(ref != "", "PullImage returned an empty reference")
		image, err := b.imageStatus(name)
		b.Must(err, "ImageStatus")
		b.Check(image.ID != "", "ImageStatus returned an image without ID")
		b.Must(b.rt.RemoveImage(b.ctx, runtime.RemoveImageRequest{Image: name}), "RemoveImage")
		_, err = b.rt.ListImages(b.ctx)
		b.Must(err, "ListImages")
	}
	ref, _, id := b.runContainer(b.h.Forever)
	b.Check(b.containerStatus(ref, id).State == runtime.StateRunning, "the container is %s, want running", b.containerStatus(ref, id).State)
}

func checkPull(b *bench) {
	ref := b.pullImage()
	b.Check(ref != "", "PullImage returned an empty reference")
	byName, err := b.imageStatus(b.h.Image)
	b.Must(err, "ImageStatus by name")
	b.Check(byName.ID != "", "ImageStatus returned an image without ID")
	for _, name := range slices.Concat([]string{ref, byName.ID}, byName.Tags, byName.Digests) {
		image, err := b.imageStatus(name)
		b.Must(err, "ImageStatus of "+name)
		b.Check(image.ID == byName.ID, "ImageStatus of %s has ID %s, but ImageStatus of its other name %s has ID %s", b.h.Image, byName.ID, name, image.ID)
	}
	b.Check(b.isImageListed(byName.ID), "ListImages lacks the pulled image %s", byName.ID)
}

func checkPullTwice(b *bench) {
	one, two := b.pullImage(), b.pullImage()
	b.Check(one == two, "two pulls of one image returned different references: %s and %s", one, two)
}

func checkPullMissing(b *bench) {
	_, err := b.rt.PullImage(b.ctx, runtime.PullImageRequest{Image: b.h.MissingImage})
	b.requireErrorIs(err, runtime.ErrImage, "PullImage")
	_, err = b.imageStatus(b.h.MissingImage)
	b.Check(err != nil, "ImageStatus found an image that could not be pulled")
}

// imageMountRequestOrSkip creates a sandbox and returns a request for a container with an image mount, and
// which image mounts the runtime supports. If the runtime is no FeatureReporter, it skips the case and returns
// false.
func (b *bench) imageMountRequestOrSkip(image string) (req runtime.CreateContainerRequest, can runtime.ImageMounts, ok bool) {
	if _, ok := b.rt.inner.(runtime.FeatureReporter); !ok {
		b.Skipf("the runtime is no FeatureReporter")
		return req, can, false
	}
	ref := b.newPodToCleanUp()
	sandbox := b.runSandbox(ref, 0)
	req = b.containerRequest(ref, sandbox, "main", 0, b.h.Forever)
	req.Mounts = append(req.Mounts, runtime.Mount{ContainerPath: "/runtimetest-image", Image: image, ReadOnly: true})
	return req, b.features().ImageMounts, true
}

func checkImageMount(b *bench) {
	image := b.pullImage()
	req, can, ok := b.imageMountRequestOrSkip(image)
	if !ok {
		return
	}
	id, err := b.rt.CreateContainer(b.ctx, req)
	if can == runtime.ImageMountsNone {
		b.requireErrorIs(err, runtime.ErrUnsupported, "CreateContainer")
		return
	}
	b.Must(err, "CreateContainer")
	b.startContainer(id)
	got := b.containerStatus(req.Pod, id)
	b.Check(slices.Equal(got.MountedImages, []string{image}), "MountedImages is %q, want only %q", got.MountedImages, image)
}

func checkImageMountMissing(b *bench) {
	b.pullImage()
	req, can, ok := b.imageMountRequestOrSkip(b.h.MissingImage)
	if !ok {
		return
	}
	_, err := b.rt.CreateContainer(b.ctx, req)
	if can == runtime.ImageMountsNone {
		b.requireErrorIs(err, runtime.ErrUnsupported, "CreateContainer")
		return
	}
	b.requireErrorIs(err, runtime.ErrNotFound, "CreateContainer")
}

func checkImageNotFound(b *bench) {
	_, err := b.imageStatus(b.h.MissingImage)
	b.requireErrorIs(err, runtime.ErrNotFound, "ImageStatus")
}

func checkRemoveImage(b *bench) {
	b.pullImage()
	image, err := b.imageStatus(b.h.Image)
	b.Must(err, "ImageStatus")
	for range 2 {
		b.Must(b.rt.RemoveImage(b.ctx, runtime.RemoveImageRequest{Image: image.ID}), "RemoveImage")
	}
	_, err = b.imageStatus(b.h.Image)
	b.requireErrorIs(err, runtime.ErrNotFound, "ImageStatus of a removed image")
	b.Check(!b.isImageListed(image.ID), "ListImages still has the removed image %s", image.ID)
	b.pullImage()
	_, err = b.imageStatus(b.h.Image)
	b.Must(err, "ImageStatus of the image after the second pull")
}

func checkRemoveUnknownImage(b *bench) {
	b.Must(b.rt.RemoveImage(b.ctx, runtime.RemoveImageRequest{Image: b.h.MissingImage}), "RemoveImage")
}

func (b *bench) imageStatus(name string) (runtime.Image, error) {
	return b.rt.ImageStatus(b.ctx, runtime.ImageStatusRequest{Image: name})
}

func (b *bench) isImageListed(id string) bool {
	b.Helper()
	list, err := b.rt.ListImages(b.ctx)
	b.Must(err, "ListImages")
	return slices.ContainsFunc(list, func(i runtime.Image) bool { return i.ID == id })
}
