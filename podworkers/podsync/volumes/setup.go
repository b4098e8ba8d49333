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

// SetUp implements podsync.Volumes. What goes wrong with one volume keeps no
// other from being made.
func (d *Dir) SetUp(ctx context.Context, pod *v1.Pod) error {
	read := d.order.read()
	objects, err := find.Objects(ctx, d.cfg.Objects, pod.Namespace, volume.Needs(pod))
	if err == nil {
		err = find.Tokens(ctx, d.cfg.Tokens, pod, volume.Tokens(pod), &objects)
	}
	var claims map[string]find.Claim
	if err == nil {
		pod, claims, err = find.Claims(ctx, d.cfg.Claims, pod)
	}
	if err != nil {
		return fmt.Errorf("volumes: %w", err)
	}
	s := setUp{d: d, pod: pod, claims: claims, read: read, objects: objects, errs: make([]error, len(pod.Spec.Volumes))}
	if err := s.each(ctx, true); err != nil { // The host may keep it waiting, so not under the lock.
		return err
	}
	allowed, err := d.mayDiscard(pod)
	if err != nil {
		return fmt.Errorf("volumes: %w", err)
	}
	discarded, err := s.below(ctx, allowed)
	if err == nil && discarded {
		err = d.emptyOf(ctx, pod.UID)
	}
	if err != nil {
		return err
	}
	return errors.Join(s.errs...)
}

// setUp is one call of SetUp.
type setUp struct {
	d       *Dir
	pod     *v1.Pod
	claims  map[string]find.Claim // by the names of volumes
	read    uint64                // before the objects were
	stale   bool                  // what was read later is written already
	objects environ.Objects
	errs    []error  // by volume
	dir     *os.Root // of the pod
	volumes *os.Root
	mounted map[string]bool // paths in volumes that are mount points; nil until asked for
}

// below makes what lies below the directory of the pod. discarded: there was one of
// another pod, which is put aside.
func (s *setUp) below(ctx context.Context, allowed discarding) (discarded bool, err error) {
	defer s.d.locks.Lock(s.pod.UID)()
	if s.dir, discarded, err = s.d.pod(s.pod, allowed); err != nil {
		return discarded, fmt.Errorf("volumes: %w", err)
	}
	defer s.dir.Close()
	if err := s.prepare(); err != nil {
		return discarded, fmt.Errorf("volumes: %w", err)
	}
	defer s.volumes.Close()
	s.stale = !s.d.order.write(s.pod.UID, s.read)
	return discarded, s.each(ctx, false)
}

// each sees to the volumes of a pod: those that are paths of the host, or the others.
func (s *setUp) each(ctx context.Context, ofHost bool) error {
	for i := range s.pod.Spec.Volumes {
		v := &s.pod.Spec.Volumes[i]
		if (volume.Of(v) == volume.HostPath) != ofHost {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.one(ctx, v); err != nil {
			s.errs[i] = fmt.Errorf("volumes: volume %q: %w", v.Name, err)
		}
	}
	return nil
}

func (s *setUp) prepare() (err error) {
	if err := mkdir(s.dir, stagingDir, private); err != nil {
		return err
	}
	s.volumes, err = subdir(s.dir, volumesDir)
	return err
}

func (s *setUp) one(ctx context.Context, v *v1.Volume) error {
	kind := volume.Of(v)
	if err := volume.Element(v.Name); err != nil {
		return err
	}
	switch {
	case kind == volume.HostPath:
		return s.hostPath(ctx, v)
	case kind == volume.EmptyDir && v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumMemory:
		return s.memory(ctx, v)
	case kind == volume.EmptyDir && v.EmptyDir != nil && volume.IsHugePages(v.EmptyDir.Medium):
		return s.hugePages(ctx, v)
	case kind == volume.EmptyDir:
		return s.directory(ctx, v.Name, s.group())
	case kind.HasFiles():
		return s.files(ctx, v)
	case kind == volume.Image:
		return nil // The runtime mounts it.
	}
	return fmt.Errorf("the kind %s cannot be had here", kind)
}

// hostPath looks at a path of the host, and gives a local volume to the pod's group.
func (s *setUp) hostPath(ctx context.Context, v *v1.Volume) error {
	if err := checkHostPath(v.HostPath); err != nil {
		return err
	}
	claim, group := s.claims[v.Name], s.group()
	if !claim.Local || claim.ReadOnly || group < 0 {
		return nil
	}
	return giveTree(ctx, v.HostPath.Path, group)
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
func (s *setUp) directory(ctx context.Context, name string, group int) error {
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
func (s *setUp) memory(ctx context.Context, v *v1.Volume) error {
	if err := s.directory(ctx, v.Name, -1); err != nil {
		return err
	}
	return s.mountMemory(v.Name, s.d.memoryBytes(v.EmptyDir), s.group())
}

// hugePages mounts a volume in huge pages. A sizeLimit does not bound it, as in the kubelet: the limit
// of its containers does.
func (s *setUp) hugePages(ctx context.Context, v *v1.Volume) error {
	size, err := volume.PageSize(s.pod, v.EmptyDir.Medium)
	if err != nil {
		return err
	}
	if err := s.directory(ctx, v.Name, -1); err != nil {
		return err
	}
	return s.mount(v.Name, func(dir *os.File) error {
		if err := mountHugePages(dir, size, s.group()); err != nil || s.group() < 0 {
			return err
		}
		return s.volumes.Chmod(v.Name, 0o777|groupDir(s.group())) // The options of the mount have no such bit.
	})
}

// secret mounts a volume of files in memory, unless it has files already: those that containers
// see stay where they are.
func (s *setUp) secret(name string) error {
	if _, err := s.volumes.Lstat(name + "/" + dataLink); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.mountMemory(name, s.d.memoryBytes(&v1.EmptyDirVolumeSource{}), -1)
}

// mountMemory mounts a file system in memory on the directory of a volume, once.
func (s *setUp) mountMemory(name string, size int64, group int) error {
	return s.mount(name, func(dir *os.File) error { return mountMemory(dir, size, group) })
}

// mount mounts a file system on the directory of a volume, once.
func (s *setUp) mount(name string, mount func(dir *os.File) error) error {
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
		if s.mounted, err = mountedBelow(s.volumes); err != nil {
			return err
		}
	}
	if s.mounted[name] {
		return nil
	}
	return mount(dir)
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
