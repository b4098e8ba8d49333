package volumes

import (
	"context"
	"errors"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/find"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

// SetUp implements podsync.Volumes. What goes wrong with one volume keeps no
// other from being made.
func (d *Dir) SetUp(ctx context.Context, pod *v1.Pod) error {
	objects, err := find.Objects(ctx, d.cfg.Objects, pod.Namespace, volume.Needs(pod))
	if err != nil {
		return fmt.Errorf("volumes: %w", err)
	}
	dir, err := d.pod(pod.UID)
	if err != nil {
		return fmt.Errorf("volumes: %w", err)
	}
	defer dir.Close()
	s := setUp{d: d, pod: pod, objects: objects, dir: dir}
	if err := s.prepare(); err != nil {
		return fmt.Errorf("volumes: %w", err)
	}
	defer s.volumes.Close()
	var errs []error
	for i := range pod.Spec.Volumes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.one(&pod.Spec.Volumes[i]); err != nil {
			errs = append(errs, fmt.Errorf("volumes: volume %q: %w", pod.Spec.Volumes[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// setUp is one call of SetUp.
type setUp struct {
	d       *Dir
	pod     *v1.Pod
	objects environ.Objects
	dir     *os.Root // of the pod
	volumes *os.Root
	mounted map[string]bool // paths in volumes that are mount points; nil until asked for
}

func (s *setUp) prepare() (err error) {
	if err := mkdir(s.dir, stagingDir, private); err != nil {
		return err
	}
	s.volumes, err = subdir(s.dir, volumesDir)
	return err
}

func (s *setUp) one(v *v1.Volume) error {
	kind := volume.Of(v)
	if err := volume.Element(v.Name); err != nil {
		return err
	}
	switch {
	case kind == volume.HostPath:
		return checkHostPath(v.HostPath)
	case kind == volume.EmptyDir && v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumMemory:
		return s.memory(v)
	case kind == volume.EmptyDir:
		return s.directory(v.Name, s.group())
	case kind.HasFiles():
		return s.files(v)
	}
	return fmt.Errorf("the kind %s cannot be had here", kind)
}

// group is the group to which volumes of the pod belong; -1 is none.
func (s *setUp) group() int {
	if c := s.pod.Spec.SecurityContext; c != nil && c.FSGroup != nil {
		return int(*c.FSGroup)
	}
	return -1
}

// directory makes the directory of a volume that everybody may write to. It
// takes its place when it is complete: what containers make of it later is
// theirs.
func (s *setUp) directory(name string, group int) error {
	info, err := s.volumes.Lstat(name)
	if err == nil {
		if !info.IsDir() {
			return fmt.Errorf("it is no directory: %s", what(info.Mode()))
		}
		return nil
	}
	staging, err := s.dir.OpenRoot(stagingDir)
	if err != nil {
		return err
	}
	defer staging.Close()
	if err := staging.RemoveAll(name); err != nil {
		return err
	}
	if err := staging.Mkdir(name, private); err != nil {
		return err
	}
	if err := give(staging, name, 0o777|groupDir(group), group); err != nil {
		return err
	}
	return s.dir.Rename(stagingDir+"/"+name, volumesDir+"/"+name)
}

// groupDir has new files in a directory belong to the group of the directory.
func groupDir(group int) os.FileMode {
	if group < 0 {
		return 0
	}
	return os.ModeSetgid
}

// give sets a mode, whatever the umask is, and a group.
func give(dir *os.Root, name string, mode os.FileMode, group int) error {
	if group >= 0 {
		if err := dir.Lchown(name, -1, group); err != nil {
			return fmt.Errorf("it cannot be given to the group %d of spec.securityContext.fsGroup: %w", group, err)
		}
	}
	return dir.Chmod(name, mode)
}

// memory mounts a volume in memory.
func (s *setUp) memory(v *v1.Volume) error {
	if err := s.directory(v.Name, -1); err != nil {
		return err
	}
	dir, err := s.volumes.OpenFile(v.Name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	if s.mounted == nil {
		if s.mounted, err = mountedBelow(s.volumes); err != nil {
			return err
		}
	}
	if s.mounted[v.Name] {
		return nil
	}
	return mountMemory(dir, s.d.memoryBytes(v.EmptyDir), s.group())
}

// memoryBytes bounds a volume in memory; zero is what the kernel makes of it.
func (d *Dir) memoryBytes(e *v1.EmptyDirVolumeSource) int64 {
	size := max(d.cfg.Allocatable.Memory().Value(), 0)
	if e.SizeLimit == nil || e.SizeLimit.IsZero() {
		return size
	}
	if limit := max(e.SizeLimit.Value(), 1); size == 0 || limit < size {
		return limit
	}
	return size
}
