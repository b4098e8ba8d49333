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

// order keeps what was read earlier from being written over what was read later: a SetUp and a
// Refresh read objects without a lock, and may come to the lock of the pod in either order.
type order struct {
	mu struct {
		sync.Mutex
		reads   uint64
		written map[types.UID]uint64 // the newest read that was written
	}
}

// read is called before objects are read. It returns the number of the read.
func (o *order) read() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.reads++
	return o.mu.reads
}

// write is called with the lock of the UID before files are written. It reports false if what
// was read later is written already.
func (o *order) write(uid types.UID, read uint64) bool {
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

// forget is called with the lock of the UID when its directory has gone.
func (o *order) forget(uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.mu.written, uid)
}

// Refresh implements podsync.VolumeRefresher. The objects are read without a lock, and written
// under that of the UID, which SetUp writes and TearDown renames under: so the files are in the
// directory that the pod has, or nowhere.
func (d *Dir) Refresh(ctx context.Context, pod *v1.Pod) error {
	switch made, err := d.made(pod); {
	case err != nil:
		return fmt.Errorf("volumes: %w", err)
	case !made:
		return nil
	}
	read := d.order.read()
	objects, err := find.Objects(ctx, d.cfg.Objects, pod.Namespace, volume.Needs(pod))
	if err == nil {
		err = find.Tokens(ctx, d.cfg.Tokens, pod, volume.Tokens(pod), &objects)
	}
	if err == nil {
		err = d.rewrite(ctx, pod, read, objects)
	}
	if err != nil {
		return fmt.Errorf("volumes: %w", err)
	}
	return nil
}

// mostReplacements bounds how often made looks again because a TearDown and a SetUp have put
// another directory in the place of the one that it opened: it holds no lock.
const mostReplacements = 10

// made reports whether a SetUp has made files of the pod, perhaps one of an earlier agent: objects
// are read only for these.
func (d *Dir) made(pod *v1.Pod) (bool, error) {
	volumes, err := d.look(pod.UID, volumesDir)
	for range mostReplacements {
		if !errors.Is(err, osfile.ErrReplaced) {
			break
		}
		volumes, err = d.look(pod.UID, volumesDir)
	}
	if err != nil {
		return false, unless(err, fs.ErrNotExist)
	}
	defer volumes.Close()
	for i := range pod.Spec.Volumes {
		name := pod.Spec.Volumes[i].Name
		if volume.Element(name) != nil {
			continue
		}
		if _, err := volumes.Lstat(name + "/" + dataLink); err == nil {
			return true, nil
		}
	}
	return false, nil
}

// rewrite writes the files of those volumes that have some. Of a pod without a directory there
// are none.
func (d *Dir) rewrite(ctx context.Context, pod *v1.Pod, read uint64, objects environ.Objects) error {
	defer d.locks.Lock(pod.UID)()
	dir, err := d.look(pod.UID)
	if err != nil {
		return unless(err, fs.ErrNotExist)
	}
	defer dir.Close()
	owner := pod.Namespace + "/" + pod.Name
	if said, err := ownerOf(dir, owner); err != nil || said != owner {
		return err
	}
	s := setUp{d: d, pod: pod, read: read, objects: objects, dir: dir}
	if s.volumes, err = osfile.OpenSubdir(dir, volumesDir); err != nil {
		return unless(err, fs.ErrNotExist)
	}
	defer s.volumes.Close()
	if !d.order.write(pod.UID, read) {
		return nil
	}
	var errs []error
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if err := s.again(ctx, v); err != nil {
			errs = append(errs, fmt.Errorf("volume %q: %w", v.Name, err))
		}
	}
	return errors.Join(errs...)
}

// unless is an error, unless it is one that says nothing.
func unless(err, known error) error {
	if errors.Is(err, known) {
		return nil
	}
	return err
}

// again writes the files of a volume that has some already.
func (s *setUp) again(ctx context.Context, v *v1.Volume) error {
	if err := ctx.Err(); err != nil || !volume.Of(v).HasFiles() {
		return err
	}
	if err := volume.Element(v.Name); err != nil {
		return err
	}
	if _, err := s.volumes.Lstat(v.Name + "/" + dataLink); err != nil {
		return nil // SetUp has not made them.
	}
	return s.files(ctx, v)
}
