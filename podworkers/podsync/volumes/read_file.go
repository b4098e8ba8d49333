package volumes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

// ReadVolumeFile implements podsync.VolumeFileReader. The containers may have written anything into
// the volume. ReadVolumeFile follows no link out of it, opens only regular files, so that it does not
// wait, and reads no more than the limit.
func (d *Dir) ReadVolumeFile(ctx context.Context, pod *v1.Pod, name, path string, limit int) (data []byte, more bool, err error) {
	path, err = volume.ReadableFile(pod, name, path)
	if err != nil {
		return nil, false, err
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	f, err := d.openVolumeFile(pod, name, path)
	if err != nil {
		return nil, false, newReadErrorWithoutPath(err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, false, newReadErrorWithoutPath(err)
	}
	if len(data) > limit {
		return data[:limit], true, nil
	}
	return data, false, nil
}

// openVolumeFile opens a regular file at a path in a volume of a pod for reading. No link in the path can lead
// out of the volume.
func (d *Dir) openVolumeFile(pod *v1.Pod, name, path string) (*os.File, error) {
	defer d.locks.Lock(pod.UID)()
	dir, err := d.openPodSubdir(pod.UID, volumesDir, name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return osfile.OpenInRoot(dir, path)
}

// newReadErrorWithoutPath returns the error "it cannot be read" with the cause of err. The error contains no
// path of the host. It wraps fs.ErrNotExist if err does.
func newReadErrorWithoutPath(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it cannot be read: %w", fs.ErrNotExist)
	}
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("it cannot be read: %w", err)
}
