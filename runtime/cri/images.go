package cri

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// PullImage implements runtime.Images.
func (r *Runtime) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	res, err := callMethod(ctx, r, "PullImage", r.cfg.Deadlines.Pull, r.images.PullImage, convert.PullImage(req))
	switch {
	case err != nil:
		return "", r.explainPullFailure(ctx, err)
	case res.GetImageRef() == "":
		return "", fmt.Errorf("%w: an image without a reference", ErrMalformed)
	}
	return res.GetImageRef(), nil
}

// explainPullFailure returns an error that wraps ErrImage and the error of a failed pull. If ctx has ended or
// the runtime does not respond, it returns err unchanged. It may call Version to check this, because an
// unreachable registry has the same gRPC code as an unreachable runtime.
func (r *Runtime) explainPullFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if errors.Is(err, runtime.ErrNotReady) {
		if _, _, down := r.Version(ctx); down != nil {
			return err
		}
	}
	return &pullError{err}
}

// pullError is a pull that failed because of the image. It hides the gRPC code: an image that a
// registry does not have is ErrImage, and not ErrNotFound.
type pullError struct{ cause error }

// Error implements error.
func (f *pullError) Error() string { return fmt.Sprintf("%v: %v", runtime.ErrImage, f.cause) }

// Is reports whether target is ErrImage.
func (f *pullError) Is(target error) bool { return target == runtime.ErrImage }

// ImageStatus implements runtime.Images.
func (r *Runtime) ImageStatus(ctx context.Context, req runtime.ImageStatusRequest) (runtime.Image, error) {
	res, err := callRead(ctx, r, "ImageStatus", r.images.ImageStatus, &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: req.Image}})
	if err != nil {
		return runtime.Image{}, err
	}
	if res.GetImage().GetId() == "" {
		return runtime.Image{}, fmt.Errorf("cri: %w: image %q", runtime.ErrNotFound, req.Image)
	}
	return convert.Image(res.GetImage()), nil
}

// ListImages implements runtime.Images. Images have no owner. A list that is larger than a message
// can only be read as a stream, because no filter splits it.
func (r *Runtime) ListImages(ctx context.Context) ([]runtime.Image, error) {
	list, err := callRead(ctx, r, "ListImages", r.images.ListImages, &cri.ListImagesRequest{})
	all := list.GetImages()
	if grpcCode(err) == codes.ResourceExhausted {
		tooLong := err
		all, err = readListStream(ctx, r, "StreamImages", r.images.StreamImages, &cri.StreamImagesRequest{}, (*cri.StreamImagesResponse).GetImages)
		if errors.Is(err, runtime.ErrUnsupported) {
			err = tooLong
		}
	}
	if err != nil {
		return nil, err
	}
	out := make([]runtime.Image, 0, len(all))
	for _, image := range all {
		if image.GetId() != "" {
			out = append(out, convert.Image(image))
		}
	}
	return out, nil
}

// ListUsedImages implements runtime.UsedImageLister. Images have no owner, so it lists the
// containers of all owners. Lists do not show image mounts, so it reads the status of each
// container. A container that is removed meanwhile is ignored.
func (r *Runtime) ListUsedImages(ctx context.Context) ([]string, error) {
	if err := r.checkReadyIgnoringNetwork(ctx); err != nil {
		return nil, err
	}
	list, err := r.listContainers(ctx, &cri.ContainerFilter{})
	if err != nil {
		return nil, err
	}
	statuses, errs := make([]*cri.ContainerStatus, len(list)), make([]error, len(list))
	executor.Each(r.executor, r.cfg.Parallel, len(list), func(i int) {
		statuses[i], errs[i] = r.fetchContainerStatus(ctx, list[i].GetId())
	})
	used := r.fetchSandboxImages(ctx)
	for i, c := range list {
		switch {
		case errors.Is(errs[i], runtime.ErrNotFound):
		case errs[i] != nil:
			return nil, errs[i]
		default:
			used = append(used, convert.UsedImages(c, statuses[i])...)
		}
	}
	return used, nil
}

// fetchSandboxImages returns the sandbox (pause) images from the runtime's verbose status. It returns nil if
// the call fails or shows no image. It asks the runtime because containerd before 1.7 neither lists nor pins
// that image.
func (r *Runtime) fetchSandboxImages(ctx context.Context) []string {
	status, err := callRead(ctx, r, "Status", r.runtime.Status, &cri.StatusRequest{Verbose: true})
	if err != nil {
		return nil
	}
	return convert.SandboxImages(status.GetInfo())
}

// RemoveImage implements runtime.Images.
func (r *Runtime) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) error {
	_, err := callMethod(ctx, r, "RemoveImage", r.cfg.Deadlines.Remove, r.images.RemoveImage, &cri.RemoveImageRequest{Image: &cri.ImageSpec{Image: req.Image}})
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	return err
}

// ImageFilesystem implements runtime.ImageFilesystem. The runtime returns the path of the image
// file system, and the kernel its usage. If the path is not visible to this process, for example in
// another mount namespace, the capacity is unknown.
func (r *Runtime) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	res, err := callRead(ctx, r, "ImageFsInfo", r.images.ImageFsInfo, &cri.ImageFsInfoRequest{})
	if err != nil {
		return runtime.FilesystemUsage{}, err
	}
	at, used := convert.Mountpoint(res.GetImageFilesystems())
	if at == "" {
		return runtime.FilesystemUsage{}, fmt.Errorf("%w: no file system of images", ErrMalformed)
	}
	if capacity, free, ok := osfile.Capacity(at); ok {
		return runtime.FilesystemUsage{CapacityBytes: capacity, UsedBytes: capacity - min(free, capacity), Directory: at}, nil
	}
	return runtime.FilesystemUsage{UsedBytes: used}, nil
}
