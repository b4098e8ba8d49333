package runtimetest

import (
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

var imageCases = []Case{
	{"image/pull", "a pulled image is found by its names and listed", imagePull},
	{"image/pull-again", "pulling a present image is no error and leads to the same one", imagePullAgain},
	{"image/missing", "an image that cannot be had is ErrImage", imageMissing},
	{"image/not-found", "an image that is not present is ErrNotFound", imageNotFound},
	{"image/remove", "a removed image is not found any more, and can be pulled again", imageRemove},
	{"image/remove-unknown", "removing an unknown image is no error", imageRemoveUnknown},
	{"image/mounted", "a Mount with an Image is made, and the record of the container tells the Image; where Features says that this cannot be, CreateContainer is ErrUnsupported", imageMounted},
	{"image/mounted-missing", "a Mount with an Image that is not present is ErrNotFound", imageMountedMissing},
	{caseNoImages, "a runtime without images takes every name for one that is present", imageNone},
}

// caseNoImages is the one case about images for a runtime that has none.
const caseNoImages = "image/none"

func imageNone(b *bench) {
	for _, name := range []string{b.h.Image, b.name + "-any-name"} {
		ref, err := b.rt.PullImage(b.ctx, runtime.PullImageRequest{Image: name})
		b.Must(err, "PullImage")
		b.Check(ref != "", "the reference is empty")
		image, err := b.imageStatus(name)
		b.Must(err, "ImageStatus")
		b.Check(image.ID != "", "the image has no ID")
		b.Must(b.rt.RemoveImage(b.ctx, runtime.RemoveImageRequest{Image: name}), "RemoveImage")
		_, err = b.rt.ListImages(b.ctx)
		b.Must(err, "ListImages")
	}
	ref, _, id := b.run(b.h.Forever)
	b.Check(b.container(ref, id).State == runtime.StateRunning, "a container does not run")
}

func imagePull(b *bench) {
	ref := b.image()
	b.Check(ref != "", "the reference is empty")
	byName, err := b.imageStatus(b.h.Image)
	b.Must(err, "ImageStatus by name")
	b.Check(byName.ID != "", "the image has no ID")
	for _, name := range slices.Concat([]string{ref, byName.ID}, byName.Tags, byName.Digests) {
		image, err := b.imageStatus(name)
		b.Must(err, "ImageStatus of "+name)
		b.Check(image.ID == byName.ID, "%s is %s and %s is %s", b.h.Image, byName.ID, name, image.ID)
	}
	b.Check(b.imageListed(byName.ID), "ListImages lacks %s", byName.ID)
}

func imagePullAgain(b *bench) {
	one, two := b.image(), b.image()
	b.Check(one == two, "the references are %s and %s", one, two)
}

func imageMissing(b *bench) {
	_, err := b.rt.PullImage(b.ctx, runtime.PullImageRequest{Image: b.h.MissingImage})
	b.is(err, runtime.ErrImage, "PullImage")
	_, err = b.imageStatus(b.h.MissingImage)
	b.Check(err != nil, "the image is present although it could not be pulled")
}

// mounting is the request for a container that mounts an image, and what the runtime can mount.
func (b *bench) mounting(image string) (req runtime.CreateContainerRequest, can runtime.ImageMounts, ok bool) {
	if _, ok := b.rt.inner.(runtime.FeatureReporter); !ok {
		b.Skipf("the runtime is no FeatureReporter")
		return req, can, false
	}
	ref := b.pod()
	sandbox := b.sandbox(ref, 0)
	req = b.containerRequest(ref, sandbox, "main", 0, b.h.Forever)
	req.Mounts = append(req.Mounts, runtime.Mount{ContainerPath: "/runtimetest-image", Image: image, ReadOnly: true})
	return req, b.features().ImageMounts, true
}

func imageMounted(b *bench) {
	image := b.image()
	req, can, ok := b.mounting(image)
	if !ok {
		return
	}
	id, err := b.rt.CreateContainer(b.ctx, req)
	if can == runtime.ImageMountsNone {
		b.is(err, runtime.ErrUnsupported, "CreateContainer")
		return
	}
	b.Must(err, "CreateContainer")
	b.start(id)
	got := b.container(req.Pod, id)
	b.Check(slices.Equal(got.MountedImages, []string{image}), "the images that it mounts are %q, not %q", got.MountedImages, image)
}

func imageMountedMissing(b *bench) {
	b.image()
	req, can, ok := b.mounting(b.h.MissingImage)
	if !ok {
		return
	}
	_, err := b.rt.CreateContainer(b.ctx, req)
	if can == runtime.ImageMountsNone {
		b.is(err, runtime.ErrUnsupported, "CreateContainer")
		return
	}
	b.is(err, runtime.ErrNotFound, "CreateContainer")
}

func imageNotFound(b *bench) {
	_, err := b.imageStatus(b.h.MissingImage)
	b.is(err, runtime.ErrNotFound, "ImageStatus")
}

func imageRemove(b *bench) {
	b.image()
	image, err := b.imageStatus(b.h.Image)
	b.Must(err, "ImageStatus")
	for range 2 {
		b.Must(b.rt.RemoveImage(b.ctx, runtime.RemoveImageRequest{Image: image.ID}), "RemoveImage")
	}
	_, err = b.imageStatus(b.h.Image)
	b.is(err, runtime.ErrNotFound, "ImageStatus of a removed image")
	b.Check(!b.imageListed(image.ID), "ListImages has %s", image.ID)
	b.image()
	_, err = b.imageStatus(b.h.Image)
	b.Must(err, "ImageStatus of an image that was pulled again")
}

func imageRemoveUnknown(b *bench) {
	b.Must(b.rt.RemoveImage(b.ctx, runtime.RemoveImageRequest{Image: b.h.MissingImage}), "RemoveImage")
}

func (b *bench) imageStatus(name string) (runtime.Image, error) {
	return b.rt.ImageStatus(b.ctx, runtime.ImageStatusRequest{Image: name})
}

func (b *bench) imageListed(id string) bool {
	b.Helper()
	list, err := b.rt.ListImages(b.ctx)
	b.Must(err, "ListImages")
	return slices.ContainsFunc(list, func(i runtime.Image) bool { return i.ID == id })
}
