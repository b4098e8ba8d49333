package cri

import (
	"context"
	"fmt"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// ImageFilesystem implements runtime.ImageFilesystem. The runtime says where
// images lie, and the kernel how full that is: both are of one machine. Of a
// place that cannot be seen from here, in another mount namespace say, the
// capacity is not known.
func (r *Runtime) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	res, err := read(ctx, r, "ImageFsInfo", r.images.ImageFsInfo, &cri.ImageFsInfoRequest{})
	if err != nil {
		return runtime.FilesystemUsage{}, err
	}
	at, used := convert.Mountpoint(res.GetImageFilesystems())
	if at == "" {
		return runtime.FilesystemUsage{}, fmt.Errorf("%w: no file system of images", ErrMalformed)
	}
	if capacity, free, ok := room(at); ok {
		return runtime.FilesystemUsage{CapacityBytes: capacity, UsedBytes: capacity - min(free, capacity)}, nil
	}
	return runtime.FilesystemUsage{UsedBytes: used}, nil
}
