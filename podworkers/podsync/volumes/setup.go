package volumes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/find"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

// SetUp implements podsync.Volumes. An error of one volume does not keep the other volumes from being
// set up.
func (d *Dir) SetUp(ctx context.Context, pod *v1.Pod) error {
	read := d.readOrder.nextReadNumber()
	objects, err := find.FindObjects(ctx, d.cfg.Objects, pod.Namespace, volume.ObjectRefs(pod))
	if err == nil {
		err = find.FindTokens(ctx, d.cfg.Tokens, pod, volume.TokenRefs(pod), &objects)
	}
	if err != nil {
		return fmt.Errorf("volumes: %w", &volume.NotUpdatedError{Err: err})
	}
	pod, claims, err := find.BindClaims(ctx, d.cfg.Claims, pod)
	if err != nil {
		return fmt.Errorf("volumes: %w", err)
	}
	s := setUpCall{dirs: d, pod: pod, claims: claims, read: read, objects: objects, errs: make([]error, len(pod.Spec.Volumes))}
	if err := s.setUpHostPathsOrOthers(ctx, true); err != nil { // The host may let it wait, so the lock is not held.
		return err
	}
	allowed, err := d.mayDiscard(pod)
	if err != nil {
		return fmt.Errorf("volumes: %w", err)
	}
	discarded, err := s.setUpInPodDir(ctx, allowed)
	if err == nil && discarded {
		err = d.removeDiscardedDirsOfUID(ctx, pod.UID)
	}
	if err != nil {
		return err
	}
	return errors.Join(s.errs...)
}

// setUpCall is one call of SetUp or Refresh.
type setUpCall struct {
	dirs    *Dir
	pod     *v1.Pod
	claims  map[string]find.Claim // by volume name
	read    uint64                // the number of the read of objects
	stale   bool                  // the files of a newer read are written already
	objects environ.Objects
	errs    []error  // by volume index
	dir     *os.Root // the directory of the pod
	volumes *os.Root
	mounted map[string]bool // the mount points in volumes; nil until the first use
}

// setUpInPodDir sets up the volumes of the pod except hostPath volumes, under the lock of the UID. It stores
// the error of a volume in s.errs. discarded is true if the directory belonged to a former pod with this UID
// and was moved to the trash directory.
func (s *setUpCall) setUpInPodDir(ctx context.Context, allowed discardAllowed) (discarded bool, err error) {
	defer s.dirs.locks.Lock(s.pod.UID)()
	if s.dir, discarded, err = s.dirs.openOrMakePodDir(s.pod, allowed); err != nil {
		return discarded, fmt.Errorf("volumes: %w", err)
	}
	defer s.dir.Close()
	if err := s.makeAndOpenVolumesDir(); err != nil {
		return discarded, fmt.Errorf("volumes: %w", err)
	}
	defer s.volumes.Close()
	s.stale = !s.dirs.readOrder.markWrittenIfNewest(s.pod.UID, s.read)
	return discarded, s.setUpHostPathsOrOthers(ctx, false)
}

// setUpHostPathsOrOthers sets up the hostPath volumes of the pod if hostPaths is true. If not, it sets up all
// other volumes. It stores the error of each volume in s.errs, and returns an error only if ctx ends.
func (s *setUpCall) setUpHostPathsOrOthers(ctx context.Context, hostPaths bool) error {
	for i := range s.pod.Spec.Volumes {
		v := &s.pod.Spec.Volumes[i]
		if (volume.KindOf(v) == volume.HostPath) != hostPaths {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.setUpVolume(ctx, v); err != nil {
			s.errs[i] = fmt.Errorf("volumes: %w", &volume.SetUpError{Volume: v.Name, Err: err})
		}
	}
	return nil
}

// makeAndOpenVolumesDir creates the pod's directories for staging and for volumes, if they are missing, and
// opens the directory for volumes.
func (s *setUpCall) makeAndOpenVolumesDir() (err error) {
	if err := makeDirIfMissing(s.dir, stagingDir, privateDirMode); err != nil {
		return err
	}
	s.volumes, err = makeAndOpenSubdir(s.dir, volumesDir)
	return err
}

// setUpVolume sets up one volume: an emptyDir, a hostPath or a volume with files. It does nothing for an image
// volume, which the runtime mounts. Any other kind is an error.
func (s *setUpCall) setUpVolume(ctx context.Context, v *v1.Volume) error {
	kind := volume.KindOf(v)
	if err := volume.CheckPathElement(v.Name); err != nil {
		return err
	}
	switch {
	case kind == volume.HostPath:
		return s.checkOrCreateHostPathAndSetGroup(ctx, v)
	case kind == volume.EmptyDir && v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumMemory:
		return s.setUpMemoryEmptyDir(ctx, v)
	case kind == volume.EmptyDir && v.EmptyDir != nil && volume.IsHugePages(v.EmptyDir.Medium):
		return s.setUpHugePagesEmptyDir(ctx, v)
	case kind == volume.EmptyDir:
		return s.makeVolumeDirIfMissing(ctx, v.Name, s.fsGroup())
	case kind.HasFiles():
		if err := s.writeVolumeFilesIfChanged(ctx, v); err != nil {
			return &volume.NotUpdatedError{Err: err}
		}
		return nil
	case kind == volume.Image:
		return nil // The runtime mounts it.
	}
	return fmt.Errorf("volumes of the kind %s are not supported", kind)
}

// checkOrCreateHostPathAndSetGroup checks the path of a hostPath volume, and creates it if its type requires that. If
// the volume stands for a writable local PersistentVolume and the pod has an fsGroup, it gives the directory
// tree to that group.
func (s *setUpCall) checkOrCreateHostPathAndSetGroup(ctx context.Context, v *v1.Volume) error {
	if err := checkOrCreateHostPath(v.HostPath); err != nil {
		return err
	}
	claim, group := s.claims[v.Name], s.fsGroup()
	if !claim.Local || claim.ReadOnly || group < 0 {
		return nil
	}
	return giveTreeToGroup(ctx, v.HostPath.Path, group)
}

// fsGroup returns the fsGroup of the pod, or -1 if it has none.
func (s *setUpCall) fsGroup() int {
	if c := s.pod.Spec.SecurityContext; c != nil && c.FSGroup != nil {
		return int(*c.FSGroup)
	}
	return -1
}

// makeVolumeDirIfMissing creates the directory of a volume, writable for every user, if it is missing. The
// directory appears only after its mode and, if group is not negative, its group are set. An existing directory
// does not change.
func (s *setUpCall) makeVolumeDirIfMissing(ctx context.Context, name string, group int) error {
	info, err := s.volumes.Lstat(name)
	if err == nil {
		if !info.IsDir() {
			return fmt.Errorf("it is no directory: %s", osfile.Kind(info.Mode()))
		}
		return nil
	}
	staging, err := osfile.OpenSubdir(s.dir, stagingDir)
	if err != nil {
		return err
	}
	defer staging.Close()
	if err := osfile.RemoveAll(ctx, staging, name); err != nil {
		return err
	}
	if err := staging.Mkdir(name, privateDirMode); err != nil {
		return err
	}
	if err := setGroupAndMode(staging, name, 0o777|setgidBitIfGroup(group), group); err != nil {
		return err
	}
	return s.dir.Rename(stagingDir+"/"+name, volumesDir+"/"+name)
}

// setgidBitIfGroup returns the setgid bit, or 0 if group is negative. In a directory with this bit, new files
// get the group of the directory.
func setgidBitIfGroup(group int) os.FileMode {
	if group < 0 {
		return 0
	}
	return os.ModeSetgid
}

// setGroupAndMode sets the mode of a file, regardless of the umask. It first sets the group, unless group is
// negative.
func setGroupAndMode(dir *os.Root, name string, mode os.FileMode, group int) error {
	if group >= 0 {
		if err := dir.Lchown(name, -1, group); err != nil {
			return fmt.Errorf("it cannot be given to the group %d of spec.securityContext.fsGroup: %w", group, err)
		}
	}
	return dir.Chmod(name, mode)
}

// setUpMemoryEmptyDir creates the directory of an emptyDir with the medium Memory and mounts a tmpfs on it,
// unless something is mounted there.
func (s *setUpCall) setUpMemoryEmptyDir(ctx context.Context, v *v1.Volume) error {
	if err := s.makeVolumeDirIfMissing(ctx, v.Name, -1); err != nil {
		return err
	}
	return s.mountTmpfsUnlessMounted(v.Name, memoryVolumeBytes(s.pod, v.EmptyDir.SizeLimit, s.dirs.cfg.Allocatable), s.fsGroup())
}

// setUpHugePagesEmptyDir creates the directory of an emptyDir with a HugePages medium and mounts a hugetlbfs on
// it, unless something is mounted there. As in the kubelet, sizeLimit has no effect.
func (s *setUpCall) setUpHugePagesEmptyDir(ctx context.Context, v *v1.Volume) error {
	size, err := volume.PageSize(s.pod, v.EmptyDir.Medium)
	if err != nil {
		return err
	}
	if err := s.makeVolumeDirIfMissing(ctx, v.Name, -1); err != nil {
		return err
	}
	return s.mountUnlessMounted(v.Name, func(dir *os.File) error {
		if err := mountHugePages(dir, size, s.fsGroup()); err != nil || s.fsGroup() < 0 {
			return err
		}
		return s.volumes.Chmod(v.Name, 0o777|setgidBitIfGroup(s.fsGroup())) // A mount option cannot set the setgid bit.
	})
}

// mountMemoryUnlessFilesExist mounts a tmpfs on the directory of a volume with files, unless files were written
// or something is mounted there. Existing files stay on disk, because containers already mount that directory.
func (s *setUpCall) mountMemoryUnlessFilesExist(name string) error {
	if _, err := s.volumes.Lstat(name + "/" + dataLink); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.mountTmpfsUnlessMounted(name, memoryVolumeBytes(s.pod, nil, s.dirs.cfg.Allocatable), -1)
}

// mountTmpfsUnlessMounted mounts a tmpfs on the directory of a volume, unless something is mounted there.
func (s *setUpCall) mountTmpfsUnlessMounted(name string, size int64, group int) error {
	return s.mountUnlessMounted(name, func(dir *os.File) error { return mountTmpfs(dir, size, group) })
}

// mountUnlessMounted calls mount with the opened directory of a volume, unless something is mounted on that
// directory.
func (s *setUpCall) mountUnlessMounted(name string, mount func(dir *os.File) error) error {
	root, err := osfile.OpenSubdir(s.volumes, name)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if s.mounted == nil {
		if s.mounted, err = relativeMountPointsBelow(s.volumes); err != nil {
			return err
		}
	}
	if s.mounted[name] {
		return nil
	}
	return mount(dir)
}
