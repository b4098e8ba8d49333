package volumes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/find"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
	"github.com/podkeel/podkeel/runtime"
)

// Mounts implements podsync.Volumes.
func (d *Dir) Mounts(ctx context.Context, pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]runtime.Mount, error) {
	pod, claims, err := find.Claims(ctx, d.cfg.Claims, pod)
	if err != nil {
		return nil, fmt.Errorf("volumes: %w", err)
	}
	mounts, err := volume.Mounts(pod, c, expand)
	if err != nil {
		return nil, fmt.Errorf("volumes: %w", err)
	}
	out := make([]runtime.Mount, 0, len(mounts))
	for i := range mounts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m := &mounts[i]
		if m.Image != "" {
			out = append(out, m.Mount)
			continue
		}
		m.ReadOnly = m.ReadOnly || claims[m.Volume.Name].ReadOnly
		if m.HostPath, err = d.find(pod, c, m); err != nil {
			return nil, fmt.Errorf("volumes: container %s: volumeMounts[%d] (%s): %w", c.Name, m.Index, m.Volume.Name, err)
		}
		out = append(out, m.Mount)
	}
	return out, nil
}

// find is the path on the host of what is mounted.
func (d *Dir) find(pod *v1.Pod, c *v1.Container, m *volume.Mount) (string, error) {
	base := d.hostPath(pod.UID, volumesDir, m.Volume.Name)
	if h := m.Volume.HostPath; h != nil {
		base = h.Path
	}
	if m.SubPath == "." {
		return base, nil
	}
	if m.Volume.HostPath != nil {
		return d.ofHost(pod, c, m)
	}
	defer d.locks.Lock(pod.UID)()
	dir, err := d.look(pod.UID, volumesDir, m.Volume.Name)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	if volume.Of(m.Volume).HasFiles() {
		sub, err := inVersion(dir, m.SubPath)
		if err != nil {
			return "", fmt.Errorf("subPath %q: %w", m.SubPath, err)
		}
		return filepath.Join(base, filepath.FromSlash(sub)), nil
	}
	part, err := openPart(dir, m.SubPath)
	if err != nil {
		return "", fmt.Errorf("subPath %q: %w", m.SubPath, err)
	}
	defer part.Close()
	return d.pinned(pod, c, m, part)
}

// ofHost is a part of a directory of the host. That may keep it waiting, so it is
// opened without the lock; and it may be anything by now, so it is opened as a
// directory or not at all.
func (d *Dir) ofHost(pod *v1.Pod, c *v1.Container, m *volume.Mount) (string, error) {
	dir, err := osfile.OpenDir(m.Volume.HostPath.Path)
	if err != nil {
		return "", fmt.Errorf("hostPath: %w", err)
	}
	defer dir.Close()
	part, err := openPart(dir, m.SubPath)
	if err != nil {
		return "", fmt.Errorf("subPath %q: %w", m.SubPath, err)
	}
	defer part.Close()
	defer d.locks.Lock(pod.UID)()
	return d.pinned(pod, c, m, part)
}

// inVersion is a path in the version in force of a volume of files. Nobody else
// writes there, and it has no links: what it leads to now it leads to later.
func inVersion(dir *os.Root, sub string) (string, error) {
	current, err := dir.Readlink(dataLink)
	if err != nil {
		return "", err
	}
	_, err = dir.Lstat(path.Join(current, sub))
	return path.Join(current, sub), err
}

// pinned is a path of our own at which a part of a volume is mounted. What a
// container puts in its place later does not change what is mounted. The caller has the
// lock of the UID.
func (d *Dir) pinned(pod *v1.Pod, c *v1.Container, m *volume.Mount, part *os.File) (string, error) {
	info, err := part.Stat()
	if err != nil {
		return "", err
	}
	own, _, err := d.pod(pod, false) // SetUp has made it.
	if err != nil {
		return "", err
	}
	defer own.Close()
	pins, err := subdir(own, subPathsDir, c.Name)
	if err != nil {
		return "", err
	}
	defer pins.Close()
	name := strconv.Itoa(m.Index)
	if err := pin(pins, name, part, info.IsDir()); err != nil {
		return "", fmt.Errorf("subPath %q: it has to be mounted apart, or it could be replaced: %w", m.SubPath, err)
	}
	return d.hostPath(pod.UID, subPathsDir, c.Name, name), nil
}

// openPart opens a part of a volume, wherever links within the volume lead to.
// A directory that is missing is made, with the mode of the volume.
func openPart(dir *os.Root, sub string) (*os.File, error) {
	const attempts = 3 // It may change under our hands.
	var err error
	for range attempts {
		var at string
		if at, err = resolved(dir, sub); errors.Is(err, fs.ErrNotExist) {
			if err = makeDirs(dir, sub); err != nil {
				return nil, err
			}
			at, err = resolved(dir, sub)
		}
		if err != nil {
			return nil, err
		}
		part, openErr := openPath(dir, at)
		if openErr != nil {
			err = openErr
			continue
		}
		info, statErr := part.Stat()
		if statErr == nil && info.Mode().Type() != fs.ModeSymlink {
			return part, nil
		}
		part.Close()
		err = errors.Join(statErr, errors.New("it is replaced all the time"))
	}
	return nil, err
}

// resolved is a path below a directory to where another leads that may end in
// links. None of them leads out: the directory sees to that.
func resolved(dir *os.Root, sub string) (string, error) {
	const longest = 40
	for range longest {
		info, err := dir.Lstat(sub)
		if err != nil {
			return "", err
		}
		if info.Mode().Type() != fs.ModeSymlink {
			return sub, nil
		}
		target, err := dir.Readlink(sub)
		if err != nil {
			return "", err
		}
		target = filepath.ToSlash(target)
		next := path.Join(path.Dir(sub), target)
		if path.IsAbs(target) || next == ".." || strings.HasPrefix(next, "../") {
			return "", fmt.Errorf("%w: the link %q leads out of the volume", volume.ErrPath, sub)
		}
		sub = next
	}
	return "", fmt.Errorf("%w: too many links", volume.ErrPath)
}

// makeDirs makes what is missing of a path, each with the mode of the volume.
func makeDirs(dir *os.Root, sub string) error {
	info, err := dir.Stat(".")
	if err != nil {
		return err
	}
	at := ""
	for name := range strings.SplitSeq(sub, "/") {
		at = path.Join(at, name)
		err := dir.Mkdir(at, info.Mode().Perm())
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			err = dir.Chmod(at, info.Mode()&(fs.ModePerm|fs.ModeSetgid))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkHostPath sees that a path of the host is what the pod expects, and makes
// it where the pod asks for that. Links of the host are followed: they are its
// owner's.
func checkHostPath(h *v1.HostPathVolumeSource) error {
	if h.Type == nil || *h.Type == v1.HostPathUnset {
		return nil
	}
	info, err := os.Stat(h.Path)
	if errors.Is(err, fs.ErrNotExist) {
		switch *h.Type {
		case v1.HostPathDirectoryOrCreate:
			return os.MkdirAll(h.Path, 0o755)
		case v1.HostPathFileOrCreate:
			return makeFile(h.Path)
		}
	}
	if err != nil {
		return fmt.Errorf("hostPath: %w", err)
	}
	if !isOfType(info.Mode(), *h.Type) {
		return fmt.Errorf("hostPath: %s is no %s: %s", h.Path, *h.Type, osfile.Kind(info.Mode()))
	}
	return nil
}

func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil // Somebody was faster; the next sync sees what it is.
	}
	if err != nil {
		return fmt.Errorf("hostPath: %w", err)
	}
	return f.Close()
}

func isOfType(mode fs.FileMode, want v1.HostPathType) bool {
	switch want {
	case v1.HostPathDirectory, v1.HostPathDirectoryOrCreate:
		return mode.IsDir()
	case v1.HostPathFile, v1.HostPathFileOrCreate:
		return mode.IsRegular()
	case v1.HostPathSocket:
		return mode.Type() == fs.ModeSocket
	case v1.HostPathCharDev:
		return mode.Type() == fs.ModeDevice|fs.ModeCharDevice
	case v1.HostPathBlockDev:
		return mode.Type() == fs.ModeDevice
	}
	return false
}
