package volumes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/find"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

// readOrder numbers the reads of objects, so that an older read never overwrites a newer one. SetUp and
// Refresh read objects without a lock, and may get the lock of the pod in either order.
type readOrder struct {
	mu struct {
		sync.Mutex
		reads   uint64
		written map[types.UID]uint64 // the number of the newest written read
	}
}

// nextReadNumber returns a number that is higher than all before. The caller gets it before it reads ConfigMaps
// and Secrets, so that files from an older read do not replace files from a newer one.
func (o *readOrder) nextReadNumber() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.reads++
	return o.mu.reads
}

// markWrittenIfNewest stores read as the number of the newest read whose objects are in the pod's files, and
// returns true. If the files come from a read with a higher number, it stores nothing and returns false.
// nextReadNumber has returned the number. The caller holds the lock of the UID.
func (o *readOrder) markWrittenIfNewest(uid types.UID, read uint64) (isNewest bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if read < o.mu.written[uid] {
		return false
	}
	if o.mu.written == nil {
		o.mu.written = map[types.UID]uint64{}
	}
	o.mu.written[uid] = read
	return true
}

// forgetPod deletes the stored read number of a pod. The caller holds the lock of the UID.
func (o *readOrder) forgetPod(uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.mu.written, uid)
}

// Refresh implements podsync.VolumeRefresher. It reads the objects without a lock, and writes under the
// lock of the UID. SetUp writes and TearDown renames under the same lock. So the files go into the
// current directory of the pod, or nowhere.
func (d *Dir) Refresh(ctx context.Context, pod *v1.Pod) error {
	switch made, err := d.hasVolumeFiles(pod); {
	case err != nil:
		return fmt.Errorf("volumes: %w", err)
	case !made:
		return nil
	}
	read := d.readOrder.nextReadNumber()
	objects, err := find.FindObjects(ctx, d.cfg.Objects, pod.Namespace, volume.ObjectRefs(pod))
	if err == nil {
		err = find.FindTokens(ctx, d.cfg.Tokens, pod, volume.TokenRefs(pod), &objects)
	}
	if err == nil {
		err = d.rewriteExistingVolumeFiles(ctx, pod, read, objects)
	}
	if err != nil {
		return fmt.Errorf("volumes: %w", err)
	}
	return nil
}

// mostReplacements bounds the attempts of hasVolumeFiles to open a directory that a TearDown and a SetUp
// replace at the same time, because it holds no lock.
const mostReplacements = 10

// hasVolumeFiles reports whether the files of a configMap, secret, downwardAPI or projected volume of the pod
// are on disk. A SetUp of this process or an earlier one has then written them.
func (d *Dir) hasVolumeFiles(pod *v1.Pod) (bool, error) {
	volumes, err := d.openPodSubdir(pod.UID, volumesDir)
	for range mostReplacements {
		if !errors.Is(err, osfile.ErrReplaced) {
			break
		}
		volumes, err = d.openPodSubdir(pod.UID, volumesDir)
	}
	if err != nil {
		return false, nilIfErrorIs(err, fs.ErrNotExist)
	}
	defer volumes.Close()
	for i := range pod.Spec.Volumes {
		name := pod.Spec.Volumes[i].Name
		if volume.CheckPathElement(name) != nil {
			continue
		}
		if _, err := volumes.Lstat(name + "/" + dataLink); err == nil {
			return true, nil
		}
	}
	return false, nil
}

// rewriteExistingVolumeFiles writes the files of each volume of the pod again, if the volume already has files
// on disk and they have changed. It does nothing if the pod has no directory, the directory belongs to another
// pod, or files from a newer read of the objects were written.
func (d *Dir) rewriteExistingVolumeFiles(ctx context.Context, pod *v1.Pod, read uint64, objects environ.Objects) error {
	defer d.locks.Lock(pod.UID)()
	dir, err := d.openPodSubdir(pod.UID)
	if err != nil {
		return nilIfErrorIs(err, fs.ErrNotExist)
	}
	defer dir.Close()
	owner := pod.Namespace + "/" + pod.Name
	if recordedOwner, err := readOwner(dir, owner); err != nil || recordedOwner != owner {
		return err
	}
	s := setUpCall{dirs: d, pod: pod, read: read, objects: objects, dir: dir}
	if s.volumes, err = osfile.OpenSubdir(dir, volumesDir); err != nil {
		return nilIfErrorIs(err, fs.ErrNotExist)
	}
	defer s.volumes.Close()
	if !d.readOrder.markWrittenIfNewest(pod.UID, read) {
		return nil
	}
	var errs []error
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if err := s.rewriteVolumeFilesIfWritten(ctx, v); err != nil {
			errs = append(errs, fmt.Errorf("volume %q: %w", v.Name, err))
		}
	}
	return errors.Join(errs...)
}

// nilIfErrorIs returns nil if err wraps the error ignored. It returns any other err unchanged.
func nilIfErrorIs(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

// rewriteVolumeFilesIfWritten writes the files of a volume again, if they have changed. It does nothing for a
// volume that has no files on disk yet.
func (s *setUpCall) rewriteVolumeFilesIfWritten(ctx context.Context, v *v1.Volume) error {
	if err := ctx.Err(); err != nil || !volume.KindOf(v).HasFiles() {
		return err
	}
	if err := volume.CheckPathElement(v.Name); err != nil {
		return err
	}
	if _, err := s.volumes.Lstat(v.Name + "/" + dataLink); err != nil {
		return nil // SetUp has not written files here.
	}
	return s.writeVolumeFilesIfChanged(ctx, v)
}
