package osfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Errors about a file of the wrong kind.
var (
	// ErrNotDirectory means that the path must be a directory and is another kind of file.
	ErrNotDirectory = errors.New("not a directory")
	// ErrNotRegular means that the path must be a regular file and is another kind of file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrReplaced means that the file was replaced while it was opened.
	ErrReplaced = errors.New("replaced while it was opened")
)

// KindError reports a file of the wrong kind.
type KindError struct {
	Want error  // ErrNotDirectory or ErrNotRegular
	Kind string // the actual kind, in words
}

// Error implements error.
func (e *KindError) Error() string { return e.Want.Error() + ": " + e.Kind }

// Unwrap returns ErrNotDirectory or ErrNotRegular.
func (e *KindError) Unwrap() error { return e.Want }

// OpenDir opens the directory at a path. It follows links. If the path is not a directory, OpenDir returns
// ErrNotDirectory at once, without opening it.
func OpenDir(path string) (*os.Root, error) {
	dir, err := os.OpenRoot(directoryOnlyPath(path))
	return dir, explainOpenDirError(err, path, func() (fs.FileInfo, error) { return os.Stat(path) })
}

// OpenSubdir opens a directory in parent. The name is one element of a path. If it is not a directory, or is a link to
// one, OpenSubdir returns ErrNotDirectory at once, without opening it.
func OpenSubdir(parent *os.Root, name string) (*os.Root, error) {
	if !isPathElement(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	seen, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: &KindError{ErrNotDirectory, Kind(seen.Mode())}}
	}
	dir, err := parent.OpenRoot(directoryOnlyPath(name))
	if err != nil {
		return nil, explainOpenDirError(err, name, func() (fs.FileInfo, error) { return parent.Lstat(name) })
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrReplaced}
	}
	if err != nil {
		_ = dir.Close() // Closing a directory that was only read does not fail.
		return nil, err
	}
	return dir, nil
}

// OpenDirWithin opens the directory at a path below parent. It follows no link: if an element of the path is a link or
// another kind of file, the error is ErrNotDirectory, and the file is not opened.
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
		_ = dir.Close() // Closing a directory that was only read does not fail.
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// directoryOnlyPath appends "/." to a path. The operating system can open the result only if the path is a
// directory.
func directoryOnlyPath(path string) string { return path + string(os.PathSeparator) + "." }

// explainOpenDirError returns err as an open error with the given path. It replaces the cause by a KindError
// if stat shows that the path is not a directory. For a nil error it returns nil.
func explainOpenDirError(err error, path string, stat func() (fs.FileInfo, error)) error {
	if err == nil {
		return nil
	}
	if info, stat := stat(); stat == nil && !info.IsDir() {
		err = &KindError{ErrNotDirectory, Kind(info.Mode())}
	}
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}

// OpenFile opens a regular file in a directory, as (*os.Root).OpenFile does. For another kind of file, such as a link,
// it returns ErrNotRegular at once, without opening it. With os.O_CREATE it creates a missing file.
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
	return verifyRegularOrClose(f, seen)
}

// OpenPath opens the regular file at a path for reading. It follows links. For another kind of file it returns
// ErrNotRegular at once, without opening it.
func OpenPath(path string) (*os.File, error) {
	return openIfRegular(
		func() (fs.FileInfo, error) { return os.Stat(path) },
		func() (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|nonBlocking, 0) })
}

// OpenPathNoFollow is OpenPath, but the last element of the path must not be a link: the error for a link is
// ErrNotRegular.
func OpenPathNoFollow(path string) (*os.File, error) {
	return openIfRegular(
		func() (fs.FileInfo, error) { return os.Lstat(path) },
		func() (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|nonBlocking|noFollow, 0) })
}

// OpenWithin is OpenPath for a path below a directory. It follows links that stay in the directory.
func OpenWithin(dir *os.Root, path string) (*os.File, error) {
	return openIfRegular(
		func() (fs.FileInfo, error) { return dir.Stat(path) },
		func() (*os.File, error) { return dir.OpenFile(path, os.O_RDONLY|nonBlocking, 0) })
}

// OpenInRoot opens a regular file for reading and resolves its path as a process with the root directory dir does. A
// link that begins with "/" and a ".." at the top both resolve to dir, so no link leads out of it. For another kind of
// file OpenInRoot returns ErrNotRegular at once, without opening it. Some systems cannot resolve links in this way:
// systems other than Linux, Linux before 5.6, or a seccomp profile. There a link that begins with "/" is an error.
func OpenInRoot(dir *os.Root, path string) (*os.File, error) {
	f, err := openRegularFollowingLinksInRoot(dir, path)
	if errors.Is(err, errors.ErrUnsupported) {
		return OpenWithin(dir, path)
	}
	return f, err
}

// openIfRegular opens a file for reading if stat reports a regular file, and checks the opened file again.
// Between the two calls another regular file may replace the file, as editors and mounted ConfigMaps do.
func openIfRegular(stat func() (fs.FileInfo, error), open func() (*os.File, error)) (*os.File, error) {
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
	return verifyRegularOrClose(f, nil)
}

// verifyRegularOrClose returns f if it is a regular file and the same file as expected; a nil expected allows any
// regular file. It closes f and returns an error for any other file. A file that the kernel generates, as in
// /proc, is an error too.
func verifyRegularOrClose(f *os.File, expected fs.FileInfo) (*os.File, error) {
	opened, err := f.Stat()
	switch {
	case err != nil:
	case !opened.Mode().IsRegular():
		err = &KindError{ErrNotRegular, Kind(opened.Mode())}
	case expected != nil && !os.SameFile(expected, opened):
		err = ErrReplaced
	case isKernelFile(f):
		err = &KindError{ErrNotRegular, "a file of the kernel"}
	}
	if err != nil {
		_ = f.Close() // Closing a file that was not written does not fail.
		return nil, err
	}
	return f, nil
}

// OpenList opens the directory at a path so that the caller can list its entries. It follows links. For another kind of
// file it returns ErrNotDirectory at once, without opening it.
func OpenList(path string) (*os.File, error) {
	dir, err := OpenDir(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Open(".")
}

// OpenListWithin is OpenList for a path below a directory. It follows links that stay in the directory.
func OpenListWithin(parent *os.Root, path string) (*os.File, error) {
	dir, err := parent.OpenRoot(directoryOnlyPath(path))
	if err != nil {
		return nil, explainOpenDirError(err, path, func() (fs.FileInfo, error) { return parent.Stat(path) })
	}
	defer dir.Close()
	return dir.Open(".")
}

// isPathElement reports whether a name can be one element of a path: it is not empty, not "." or "..", and has
// no slash, backslash or NUL.
func isPathElement(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, `/\`+"\x00")
}

// Kind names the kind of a file in words.
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
