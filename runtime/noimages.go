package runtime

import "context"

// NoImages implements Images for a runtime without images. You embed it. Every image name is
// present: it may be the path of a program, for example. ListImages returns nothing, so no image is
// removed. As in the kubelet, a name without tag or digest arrives with ":latest" appended, also as
// the ImageRef of a CreateContainerRequest. Its Image is the name in the pod spec.
//
// If an image is a file that may be missing, implement Images instead: ImageStatus returns ErrNotFound
// and PullImage returns ErrImage for a missing file. The pod then waits with ErrImagePull. With
// NoImages the fault shows only at the start of the container: RunContainerError, CrashLoopBackOff.
type NoImages struct{}

// PullImage implements Images.
func (NoImages) PullImage(_ context.Context, req PullImageRequest) (string, error) {
	return req.Image, nil
}

// ImageStatus implements Images.
func (NoImages) ImageStatus(_ context.Context, req ImageStatusRequest) (Image, error) {
	return Image{ID: req.Image}, nil
}

// ListImages implements Images.
func (NoImages) ListImages(context.Context) ([]Image, error) { return nil, nil }

// RemoveImage implements Images.
func (NoImages) RemoveImage(context.Context, RemoveImageRequest) error { return nil }

var _ Images = NoImages{}
