package memory

import (
	"context"

	"github.com/podkeel/podkeel/runtime"
)

// ImageFilesystem implements runtime.ImageFilesystem. It reports the values of SetImageFilesystem
// plus the size of all images. Without a call of SetImageFilesystem the capacity is unknown.
func (r *Runtime) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	return instrumentCall(ctx, r, "ImageFilesystem", nothing{}, (*Runtime).imageFilesystem)
}

// SetImageFilesystem sets the size of the image disk, and how many bytes of it are used by
// something else than images. A capacity of zero means unknown.
func (r *Runtime) SetImageFilesystem(capacity, taken uint64) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.mu.imageDisk = runtime.FilesystemUsage{CapacityBytes: capacity, UsedBytes: taken}
}

// imageFilesystem returns the configured usage of the image disk, with the sizes of all present images added to
// the used bytes.
func (r *Runtime) imageFilesystem(context.Context, nothing) (runtime.FilesystemUsage, error) {
	m := r.m
	if _, err := m.lockIfReady(); err != nil {
		return runtime.FilesystemUsage{}, err
	}
	defer m.unlockAndSignal()
	disk := m.mu.imageDisk
	for _, image := range m.mu.images {
		disk.UsedBytes += image.SizeBytes
	}
	return disk, nil
}
