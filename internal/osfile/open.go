package osfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Errors of what is not as it must be.
var (
	// ErrNotDirectory is returned where a directory must be and is something else.
	ErrNotDirectory = errors.New("not a directory")
	// ErrNotRegular is returned where a regular file must be and is something else.
	ErrNotRegular = errors.New("not a regular file")
	// ErrReplaced is returned where a file was replaced while it was opened.
	ErrReplaced = errors.New("replaced while it was opened")
)

// KindError is the error about a path where something of another kind is.
type KindError struct {
	Want error  // ErrNotDirectory or ErrNotRegular
	Kind string // of what is there, for people
}

// Error implements error.
func (e *KindError) Error() string { return e.Want.Error() + ": " + e.Kind }

// Unwrap gives what was wanted.
func (e *KindError) Unwrap() error { return e.Want }

// OpenDir opens the directory at a path. Links are followed. Anything else than a
// directory is ErrNotDirectory; it is not opened, and nothing is waited for.
func OpenDir(path string) (*os.Root, error) {
	dir, err := os.OpenRoot(inside(path))
	return dir, explain(err, path, func() (fs.FileInfo, error) { return os.Stat(path) })
}

// OpenSubdir opens a directory in another. The name is one element of a path. A link to
// a directory is none. Anything else than a directory is ErrNotDirectory; it is not
// opened, and nothing is waited for.
func OpenSubdir(parent *os.Root, name string) (*os.Root, error) {
	if !isElement(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	seen, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: &KindError{ErrNotDirectory, Kind(seen.Mode())}}
	}
	dir, err := parent.OpenRoot(inside(name))
	if err != nil {
		return nil, explain(err, name, func() (fs.FileInfo, error) { return parent.Lstat(name) })
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrReplaced}
	}
	if err != nil {
		_ = dir.Close() // It was only read.
		return nil, err
	}
	return dir, nil
}

// OpenDirWithin opens the directory at a path in another. No link is followed, at whichever
// element of the path: what leads through one is ErrNotDirectory. Anything else than a
// directory is ErrNotDirectory; it is not opened, and nothing is waited for.
func OpenDirWithin(parent *os.Root, path string) (*os.Root, error) {
	dir, err := parent.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if name == "." {
			continue
		}
		next, err := OpenSubdir(dir, name)
		_ = dir.Close() // It was only read.
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// inside is a path that leads to a directory or to nothing: the system looks into
// what is there before it opens it.
func inside(path string) string { return path + string(os.PathSeparator) + "." }

// explain says of an error what is there instead of a directory.
func explain(err error, path string, look func() (fs.FileInfo, error)) error {
	if err == nil {
		return nil
	}
	if info, look := look(); look == nil && !info.IsDir() {
		err = &KindError{ErrNotDirectory, Kind(info.Mode())}
	}
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}

// OpenFile opens a regular file in a directory, as (*os.Root).OpenFile does. What is
// something else, a link too, is ErrNotRegular; it is not opened, and nothing is
// waited for. With os.O_CREATE a file that is missing is made.
func OpenFile(dir *os.Root, name string, flags int, mode fs.FileMode) (*os.File, error) {
	seen, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && flags&os.O_CREATE != 0:
		flags |= os.O_EXCL
	case err != nil:
		return nil, err
	case !seen.Mode().IsRegular():
		return nil, &KindError{ErrNotRegular, Kind(seen.Mode())}
	}
	f, err := dir.OpenFile(name, flags|nonBlocking, mode)
	if err != nil {
		return nil, err
	}
	return regular(f, seen)
}

// OpenPath opens the regular file at a path for reading. Links are followed. Anything
// else than a regular file is ErrNotRegular; it is not opened, and nothing is waited
// for.
func OpenPath(path string) (*os.File, error) {
	return openSeen(
		func() (fs.FileInfo, error) { return os.Stat(path) },
		func() (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|nonBlocking, 0) })
}

// OpenPathNoFollow is OpenPath for a path whose last element must not be a link: a link
// is ErrNotRegular.
func OpenPathNoFollow(path string) (*os.File, error) {
	return openSeen(
		func() (fs.FileInfo, error) { return os.Lstat(path) },
		func() (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|nonBlocking|noFollow, 0) })
}

// OpenWithin is OpenPath for a path in a directory. Links are followed as long as they
// stay in it.
func OpenWithin(dir *os.Root, path string) (*os.File, error) {
	return openSeen(
		func() (fs.FileInfo, error) { return dir.Stat(path) },
		func() (*os.File, error) { return dir.OpenFile(path, os.O_RDONLY|nonBlocking, 0) })
}

// OpenInRoot opens a regular file in a directory for reading, as a process would whose root is
// the directory: a link that begins with "/" and a ".." beyond the top lead to the directory,
// so that no link leads out. Anything else than a regular file is ErrNotRegular; it is not
// opened, and nothing is waited for. Where the system cannot resolve links so (other systems
// than Linux, Linux before 5.6, a seccomp profile) a link that begins with "/" is an error.
func OpenInRoot(dir *os.Root, path string) (*os.File, error) {
	f, err := openInRoot(dir, path)
	if errors.Is(err, errors.ErrUnsupported) {
		return OpenWithin(dir, path)
	}
	return f, err
}

// openSeen opens for reading what is a regular file by its description. The file may be
// replaced in between by another regular one, as editors and mounted ConfigMaps do.
func openSeen(stat func() (fs.FileInfo, error), open func() (*os.File, error)) (*os.File, error) {
	seen, err := stat()
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, &KindError{ErrNotRegular, Kind(seen.Mode())}
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	return regular(f, nil)
}

// regular is an open file if it is a regular one, and the one that was seen before,
// unless seen is nil. Otherwise the file is closed.
func regular(f *os.File, seen fs.FileInfo) (*os.File, error) {
	opened, err := f.Stat()
	switch {
	case err != nil:
	case !opened.Mode().IsRegular():
		err = &KindError{ErrNotRegular, Kind(opened.Mode())}
	case seen != nil && !os.SameFile(seen, opened):
		err = ErrReplaced
	case isKernelFile(f):
		err = &KindError{ErrNotRegular, "a file of the kernel"}
	}
	if err != nil {
		_ = f.Close() // Nothing was written to it.
		return nil, err
	}
	return f, nil
}

// OpenList opens the directory at a path to list its entries. Links are followed.
// Anything else than a directory is ErrNotDirectory; it is not opened, and nothing is
// waited for.
func OpenList(path string) (*os.File, error) {
	dir, err := OpenDir(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Open(".")
}

// OpenListWithin is OpenList for a path in a directory. Links are followed as long as
// they stay in it.
func OpenListWithin(parent *os.Root, path string) (*os.File, error) {
	dir, err := parent.OpenRoot(inside(path))
	if err != nil {
		return nil, explain(err, path, func() (fs.FileInfo, error) { return parent.Stat(path) })
	}
	defer dir.Close()
	return dir.Open(".")
}

// isElement reports whether a name is one element of a path.
func isElement(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, `/\`+"\x00")
}

// Kind names a kind of file for people.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a directory"
	case mode.Type() == fs.ModeSymlink:
		return "a symbolic link"
	case mode.Type() == fs.ModeNamedPipe:
		return "a FIFO"
	case mode.Type() == fs.ModeSocket:
		return "a socket"
	case mode.Type()&fs.ModeCharDevice != 0:
		return "a character device"
	case mode.Type()&fs.ModeDevice != 0:
		return "a block device"
	}
	return mode.Type().String()
}
