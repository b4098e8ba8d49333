package osfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// OpenDir opens the directory at a path. Links are followed. Anything else than a
// directory is ErrNotDirectory; it is not opened, and nothing is waited for.
func OpenDir(path string) (*os.Root, error) {
	dir, err := os.OpenRoot(inside(path))
	return dir, explain(err, path, func() (fs.FileInfo, error) { return os.Stat(path) })
}

// OpenSub opens a directory in another. The name is one element of a path. A link to
// a directory is none. Anything else than a directory is ErrNotDirectory; it is not
// opened, and nothing is waited for.
func OpenSub(parent *os.Root, name string) (*os.Root, error) {
	if !isElement(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	seen, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: %s", ErrNotDirectory, Kind(seen.Mode()))}
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

// inside is a path that leads to a directory or to nothing: the system looks into
// what is there before it opens it.
func inside(path string) string { return path + string(os.PathSeparator) + "." }

// explain says of an error what is there instead of a directory.
func explain(err error, path string, look func() (fs.FileInfo, error)) error {
	if err == nil {
		return nil
	}
	if info, look := look(); look == nil && !info.IsDir() {
		err = fmt.Errorf("%w: %s", ErrNotDirectory, Kind(info.Mode()))
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
		return nil, fmt.Errorf("%w: %s", ErrNotRegular, Kind(seen.Mode()))
	}
	f, err := dir.OpenFile(name, flags|nonBlocking, mode)
	if err != nil {
		return nil, err
	}
	return same(f, seen)
}

// OpenPath opens the regular file at a path for reading. Links are followed. Anything
// else than a regular file is ErrNotRegular; it is not opened, and nothing is waited
// for.
func OpenPath(path string) (*os.File, error) {
	seen, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s", ErrNotRegular, Kind(seen.Mode()))
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	return same(f, seen)
}

// same is an open file if it is the regular one that was seen before; nil: a new one.
func same(f *os.File, seen fs.FileInfo) (*os.File, error) {
	opened, err := f.Stat()
	switch {
	case err != nil:
	case !opened.Mode().IsRegular():
		err = fmt.Errorf("%w: %s", ErrNotRegular, Kind(opened.Mode()))
	case seen != nil && !os.SameFile(seen, opened):
		err = ErrReplaced
	}
	if err != nil {
		_ = f.Close() // Nothing was written to it.
		return nil, err
	}
	return f, nil
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
