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
		if m.HostPath, err = d.prepareHostPathOfMount(pod, c, m); err != nil {
			return nil, fmt.Errorf("volumes: container %s: volumeMounts[%d] (%s): %w", c.Name, m.Index, m.Volume.Name, err)
		}
		out = append(out, m.Mount)
	}
	return out, nil
}

// prepareHostPathOfMount returns the host path that the runtime mounts for a volumeMount. For a subPath it
// creates the missing directories and bind-mounts the part of the volume at a path of the agent. In a volume
// with files, such as a configMap, a subPath gives the path of the current version of the file, without a bind
// mount.
func (d *Dir) prepareHostPathOfMount(pod *v1.Pod, c *v1.Container, m *volume.Mount) (string, error) {
	base := d.podPath(pod.UID, volumesDir, m.Volume.Name)
	if h := m.Volume.HostPath; h != nil {
		if err := checkOrCreateHostPath(h); err != nil { // SetUp may have failed, and the runtime would create a missing directory.
			return "", err
		}
		base = h.Path
	} else if _, err := os.Lstat(base); err != nil {
		return "", err
	}
	if m.SubPath == "." {
		return base, nil
	}
	if m.Volume.HostPath != nil {
		return d.bindMountHostPathSubPath(pod, c, m)
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
	return d.bindMountSubPath(pod, c, m, part)
}

// bindMountHostPathSubPath bind-mounts a subPath of a hostPath volume at a path of the agent, and returns that
// path. It creates missing directories of the subPath. It takes the lock of the UID only after it has opened
// the subPath, because a file system of the host may block.
func (d *Dir) bindMountHostPathSubPath(pod *v1.Pod, c *v1.Container, m *volume.Mount) (string, error) {
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
	return d.bindMountSubPath(pod, c, m, part)
}

// pathInCurrentVersion returns the path of sub in the directory of the current version of a volume's files. It
// returns an error if sub does not exist in that directory. Only the agent writes there, so no container can
// have made sub a symbolic link.
func pathInCurrentVersion(dir *os.Root, sub string) (string, error) {
	current, err := dir.Readlink(dataLink)
	if err != nil {
		return "", err
	}
	_, err = dir.Lstat(path.Join(current, sub))
	return path.Join(current, sub), err
}

// bindMountSubPath bind-mounts part, the opened subPath of a volume, at a path of the agent, and returns that
// path. The mount does not change if a container later replaces the file in the volume. The caller holds the
// lock of the UID.
func (d *Dir) bindMountSubPath(pod *v1.Pod, c *v1.Container, m *volume.Mount, part *os.File) (string, error) {
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

// openOrMakeSubPath opens the file or directory at a subPath of a volume. If it does not exist, it creates
// directories with the mode of dir. It follows links within the volume, and returns an error for a link out of
// it.
func openOrMakeSubPath(dir *os.Root, sub string) (*os.File, error) {
	const attempts = 3 // A container may replace the part between two calls.
	var err error
	for range attempts {
		var at string
		if at, err = resolveFinalLinks(dir, sub); errors.Is(err, fs.ErrNotExist) {
			if err = makeSubPathDirs(dir, sub); err != nil {
				return nil, err
			}
			at, err = resolveFinalLinks(dir, sub)
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

// resolveFinalLinks returns the path to which sub leads after the symbolic links at its end are followed. It
// returns an error for a link out of the directory, and for too many links.
func resolveFinalLinks(dir *os.Root, sub string) (string, error) {
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

// makeSubPathDirs creates each missing directory of the path sub in dir, with the permissions, the setgid bit
// and the sticky bit of dir.
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
			err = dir.Chmod(at, info.Mode()&(fs.ModePerm|fs.ModeSetgid|fs.ModeSticky))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkOrCreateHostPath returns an error if the path of a hostPath volume does not have the required type. For
// DirectoryOrCreate and FileOrCreate it creates a missing directory or file. It follows symbolic links, and
// does nothing if no type is required.
func checkOrCreateHostPath(h *v1.HostPathVolumeSource) error {
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

// createHostFile creates an empty file on the host. An existing file is no error.
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

// hasHostPathType reports whether a file mode has the hostPath type want.
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
