package cgroups

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/podkeel/podkeel/internal/osfile"
)

// Files is the file access of this package. Paths are absolute and separated by slashes, as in /proc/self/mountinfo.
// Errors are compared by errors.Is with fs.ErrNotExist, fs.ErrExist, syscall.EBUSY and syscall.EINVAL. Methods may be
// called concurrently.
type Files interface {
	// Mkdir creates a directory. The error wraps fs.ErrExist if it exists.
	Mkdir(path string) error
	// ReadFile returns the content of a file. An implementation may cut it to 1 MiB.
	ReadFile(path string) ([]byte, error)
	// WriteFile writes to a file by one write call. It creates no file.
	WriteFile(path string, content []byte) error
	// ReadDir returns the names of the directories in a directory. The error wraps fs.ErrNotExist if the directory is
	// missing.
	ReadDir(path string) ([]string, error)
	// Remove removes a directory without directories in it. The files of a cgroup disappear with it.
	Remove(path string) error
}

// maxFileBytes bounds how much of one file is read.
const maxFileBytes = 1 << 20

// HostFiles is the file system of the host. It follows no symbolic link below its base, except to read a file.
type HostFiles struct{ base string }

// NewHostFiles returns the files below a directory; "/" is the whole host. A container that has the file system of the
// host at /host uses "/host".
func NewHostFiles(base string) HostFiles { return HostFiles{base} }

// Mkdir creates a directory with mode 0755.
func (h HostFiles) Mkdir(name string) error {
	return h.inParent(name, func(parent *os.Root, base string) error { return parent.Mkdir(base, 0o755) })
}

// Remove removes an empty directory, or the directory of a cgroup without children.
func (h HostFiles) Remove(name string) error {
	return h.inParent(name, func(parent *os.Root, base string) error {
		info, err := parent.Lstat(base)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return &fs.PathError{Op: "remove", Path: name, Err: osfile.ErrNotDirectory}
		}
		return parent.Remove(base)
	})
}

// WriteFile writes to an existing regular file by one write call.
func (h HostFiles) WriteFile(name string, content []byte) error {
	return h.inParent(name, func(parent *os.Root, base string) error {
		f, err := osfile.OpenFile(parent, base, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		return err
	})
}

// ReadFile returns at most 1 MiB of a file.
func (h HostFiles) ReadFile(name string) ([]byte, error) {
	root, err := osfile.OpenDir(h.base)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(relativePath(name))
	if err != nil {
		return nil, replacePathInError(name, err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFileBytes))
}

// ReadDir returns the names of the directories in a directory.
func (h HostFiles) ReadDir(name string) ([]string, error) {
	var names []string
	err := h.inParent(path.Join(name, "_"), func(dir *os.Root, _ string) error {
		f, err := dir.Open(".")
		if err != nil {
			return err
		}
		defer f.Close()
		entries, err := f.ReadDir(-1)
		for _, entry := range entries {
			if entry.IsDir() {
				names = append(names, entry.Name())
			}
		}
		return err
	})
	return names, err
}

// inParent opens the parent directory of a path without following a symbolic link, and calls use with the directory
// and the last element of the path. The error has the whole path.
func (h HostFiles) inParent(name string, use func(parent *os.Root, base string) error) error {
	return replacePathInError(name, h.openParent(name, use))
}

// replacePathInError replaces the path in an error by name. Without this, an error below an os.Root has only
// the last part of the path, with a dot for each step. An error without a path is returned unchanged.
func replacePathInError(name string, err error) error {
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		return &fs.PathError{Op: cause.Op, Path: name, Err: cause.Err}
	}
	return err
}

// openParent does what inParent does, and returns errors as they are.
func (h HostFiles) openParent(name string, use func(parent *os.Root, base string) error) error {
	root, err := osfile.OpenDir(h.base)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, base := path.Split(path.Clean("/" + name))
	parent, err := osfile.OpenDirWithin(root, relativePath(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return use(parent, base)
}

// relativePath converts an absolute path with slashes to a path below the root, "." for the root itself.
func relativePath(name string) string {
	rel := strings.TrimPrefix(path.Clean("/"+name), "/")
	if rel == "" {
		return "."
	}
	return filepath.FromSlash(rel)
}
