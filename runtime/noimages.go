package runtime

import "context"

// NoImages is the Images of a runtime that has none, for embedding: every name is an image that
// is present, such as the path of a program. Nothing is listed, so nothing is removed. As in the
// kubelet, a name without a tag or a digest comes with ":latest", in the ImageRef of a
// CreateContainerRequest too; its Image is the name as the pod has it.
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
