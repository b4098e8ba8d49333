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
	pod, claims, err := find.BindClaims(ctx, d.cfg.Claims, pod)
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
		if m.HostPath, err = d.hostPathOfMount(pod, c, m); err != nil {
			return nil, fmt.Errorf("volumes: container %s: volumeMounts[%d] (%s): %w", c.Name, m.Index, m.Volume.Name, err)
		}
		out = append(out, m.Mount)
	}
	return out, nil
}

// hostPathOfMount returns the path on the host of a mount. It bind-mounts the part of a volume that a
// subPath names.
func (d *Dir) hostPathOfMount(pod *v1.Pod, c *v1.Container, m *volume.Mount) (string, error) {
	base := d.podPath(pod.UID, volumesDir, m.Volume.Name)
	if h := m.Volume.HostPath; h != nil {
		base = h.Path
	}
	if m.SubPath == "." {
		return base, nil
	}
	if m.Volume.HostPath != nil {
		return d.pinHostPathPart(pod, c, m)
	}
	defer d.locks.Lock(pod.UID)()
	dir, err := d.openPodSubdir(pod.UID, volumesDir, m.Volume.Name)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	if volume.KindOf(m.Volume).HasFiles() {
		sub, err := pathInCurrentVersion(dir, m.SubPath)
		if err != nil {
			return "", fmt.Errorf("subPath %q: %w", m.SubPath, err)
		}
		return filepath.Join(base, filepath.FromSlash(sub)), nil
	}
	part, err := openOrMakeSubPath(dir, m.SubPath)
	if err != nil {
		return "", fmt.Errorf("subPath %q: %w", m.SubPath, err)
	}
	defer part.Close()
	return d.pinPart(pod, c, m, part)
}

// pinHostPathPart bind-mounts a part of a hostPath volume. It opens the part without the lock, because
// the host may let it wait.
func (d *Dir) pinHostPathPart(pod *v1.Pod, c *v1.Container, m *volume.Mount) (string, error) {
	dir, err := osfile.OpenDir(m.Volume.HostPath.Path)
	if err != nil {
		return "", fmt.Errorf("hostPath: %w", err)
	}
	defer dir.Close()
	part, err := openOrMakeSubPath(dir, m.SubPath)
	if err != nil {
		return "", fmt.Errorf("subPath %q: %w", m.SubPath, err)
	}
	defer part.Close()
	defer d.locks.Lock(pod.UID)()
	return d.pinPart(pod, c, m, part)
}

// pathInCurrentVersion returns the path of a file in the current version of a volume of files. Only the
// agent writes there, and a version has no links. So the path leads to the same file later.
func pathInCurrentVersion(dir *os.Root, sub string) (string, error) {
	current, err := dir.Readlink(dataLink)
	if err != nil {
		return "", err
	}
	_, err = dir.Lstat(path.Join(current, sub))
	return path.Join(current, sub), err
}

// pinPart bind-mounts a part of a volume at a path of the agent and returns that path. If a container
// replaces the part later, the mount does not change. The caller holds the lock of the UID.
func (d *Dir) pinPart(pod *v1.Pod, c *v1.Container, m *volume.Mount, part *os.File) (string, error) {
	info, err := part.Stat()
	if err != nil {
		return "", err
	}
	own, _, err := d.openOrMakePodDir(pod, false) // SetUp has created the directory.
	if err != nil {
		return "", err
	}
	defer own.Close()
	pins, err := makeAndOpenSubdir(own, subPathsDir, c.Name)
	if err != nil {
		return "", err
	}
	defer pins.Close()
	name := strconv.Itoa(m.Index)
	if err := bindMountPart(pins, name, part, info.IsDir()); err != nil {
		return "", fmt.Errorf("subPath %q: cannot bind-mount it, which a container could otherwise replace: %w", m.SubPath, err)
	}
	return d.podPath(pod.UID, subPathsDir, c.Name, name), nil
}

// openOrMakeSubPath opens a part of a volume. It follows links within the volume. It creates missing
// directories with the mode of the volume.
func openOrMakeSubPath(dir *os.Root, sub string) (*os.File, error) {
	const attempts = 3 // A container may replace the part between two calls.
	var err error
	for range attempts {
		var at string
		if at, err = resolveLinks(dir, sub); errors.Is(err, fs.ErrNotExist) {
			if err = makeSubPathDirs(dir, sub); err != nil {
				return nil, err
			}
			at, err = resolveLinks(dir, sub)
		}
		if err != nil {
			return nil, err
		}
		part, openErr := openPathReference(dir, at)
		if openErr != nil {
			err = openErr
			continue
		}
		info, statErr := part.Stat()
		if statErr == nil && info.Mode().Type() != fs.ModeSymlink {
			return part, nil
		}
		part.Close()
		err = errors.Join(statErr, errors.New("a container replaces it again and again"))
	}
	return nil, err
}

// resolveLinks returns the path below a directory that a path leads to, after all links at its end. A
// link that leads out of the directory is an error.
func resolveLinks(dir *os.Root, sub string) (string, error) {
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

// makeSubPathDirs creates the missing directories of a path, with the mode of the volume.
func makeSubPathDirs(dir *os.Root, sub string) error {
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

// checkHostPath returns an error if a path of the host is not of the type that the pod requires. It
// creates the file or directory if the type requires that. It follows links, because they belong to the
// owner of the host.
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
			return createHostFile(h.Path)
		}
	}
	if err != nil {
		return fmt.Errorf("hostPath: %w", err)
	}
	if !hasHostPathType(info.Mode(), *h.Type) {
		return fmt.Errorf("hostPath: %s is no %s: %s", h.Path, *h.Type, osfile.Kind(info.Mode()))
	}
	return nil
}

// createHostFile creates an empty file of the host, if it does not exist.
func createHostFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil // Another process has created it. The next sync checks its type.
	}
	if err != nil {
		return fmt.Errorf("hostPath: %w", err)
	}
	return f.Close()
}

// hasHostPathType reports whether a file mode is of a hostPath type.
func hasHostPathType(mode fs.FileMode, want v1.HostPathType) bool {
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
