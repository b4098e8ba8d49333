package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/osfile"
)

// fileTree reads manifests from the operating system's files, or from an fs.FS. Its methods may block as long as the
// system does, and are called concurrently.
type fileTree interface {
	// stat describes the configured path. It follows links.
	stat() (fs.FileInfo, error)
	// listNames lists the directory. It fails if there are more than limit names.
	listNames(limit int) ([]string, error)
	// isRemoved reports whether the configured path, which was a file, is missing from its directory. It is false if the
	// directory cannot be listed.
	isRemoved() bool
	// filePath returns the path of a file in the directory.
	filePath(name string) string
	// isMissing reports whether the path does not exist. A link to a missing file exists.
	isMissing(file string) bool
	// readFile reads a file, at most one byte more than limit. It opens only regular files. The error for others is
	// ErrNotFile.
	readFile(file string, limit int64) (fileContent, error)
}

// fileContent is the result of reading a file.
type fileContent struct {
	text []byte
	// isLink means that the path may be a symbolic link. The target can change without an event in the directory of the
	// link.
	isLink bool
}

// errTooMany means that a directory has more names than Config.MaxFiles.
var errTooMany = errors.New("too many files")

// listBatch is how many names are read at a time. A huge directory is rejected before all its names are in memory
// (F32).
const listBatch = 1000

// readNames reads all names in a directory with read, which returns at most n further names. It returns an error if
// there are more than limit.
func readNames(read func(n int) ([]string, error), limit int) ([]string, error) {
	var names []string
	for {
		batch, err := read(listBatch)
		names = append(names, batch...)
		switch {
		case len(names) > limit:
			return nil, fmt.Errorf("%w: more than %d", errTooMany, limit)
		case errors.Is(err, io.EOF):
			return names, nil
		case err != nil:
			return nil, err
		}
	}
}

// osTree is a path of the operating system.
type osTree struct{ path string }

func (p osTree) stat() (fs.FileInfo, error) { return os.Stat(p.path) }

func (p osTree) listNames(limit int) ([]string, error) {
	dir, err := osfile.OpenList(p.path) // It may have become a pipe or a device since stat.
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return readNames(dir.Readdirnames, limit)
}

// isMissing reports whether the path does not exist. A symbolic link whose target does not exist counts as an
// existing path (F30).
func (p osTree) isMissing(file string) bool {
	_, err := os.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}

func (p osTree) isRemoved() bool {
	if !p.isMissing(p.path) {
		return false
	}
	dir, err := osfile.OpenList(filepath.Dir(p.path))
	if err != nil {
		return false
	}
	defer dir.Close()
	_, err = dir.ReadDir(1)
	return err == nil || errors.Is(err, io.EOF)
}

func (p osTree) filePath(name string) string { return filepath.Join(p.path, name) }

func (p osTree) readFile(file string, limit int64) (content fileContent, err error) {
	f, err := osfile.OpenPathNoFollow(file)
	if err != nil {
		content.isLink = true
		f, err = osfile.OpenPath(file)
	}
	if other, ok := contain.AsType[*osfile.KindError](err); ok {
		return content, fmt.Errorf("%w: %s", ErrNotFile, other.Kind)
	}
	if err != nil {
		return content, err
	}
	defer f.Close()
	content.text, err = readRegular(f, limit)
	return content, err
}

// readRegular reads an open regular file, at most one byte more than limit. For another kind of file it returns
// an ErrNotFile.
func readRegular(f fs.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, newNotFileError(info)
	}
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// newNotFileError returns an ErrNotFile that names the kind of file in info.
func newNotFileError(info fs.FileInfo) error {
	return fmt.Errorf("%w: %s", ErrNotFile, osfile.Kind(info.Mode()))
}

// fsTree is a path in an fs.FS.
type fsTree struct {
	fs   fs.FS
	path string
}

func (p fsTree) stat() (fs.FileInfo, error) { return fs.Stat(p.fs, p.path) }

func (p fsTree) listNames(limit int) ([]string, error) {
	if info, err := p.stat(); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s: not a directory", p.path)
	}
	f, err := p.fs.Open(p.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, fmt.Errorf("%s: not a directory", p.path)
	}
	return readNames(func(n int) (names []string, err error) {
		entries, err := dir.ReadDir(n)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names, err
	}, limit)
}

func (p fsTree) isMissing(file string) bool {
	_, err := fs.Stat(p.fs, file)
	return errors.Is(err, fs.ErrNotExist)
}

func (p fsTree) isRemoved() bool {
	if !p.isMissing(p.path) {
		return false
	}
	_, err := fs.ReadDir(p.fs, path.Dir(p.path))
	return err == nil
}

func (p fsTree) filePath(name string) string { return path.Join(p.path, name) }

// readFile reads a regular file, at most one byte more than limit. For another kind of file it returns an
// ErrNotFile. It calls Stat before Open, because the file system may be an os.DirFS, where opening a pipe
// blocks.
func (p fsTree) readFile(file string, limit int64) (content fileContent, err error) {
	content.isLink = true // Stat follows links, so it does not show one.
	info, err := fs.Stat(p.fs, file)
	if err != nil {
		return content, err
	}
	if !info.Mode().IsRegular() {
		return content, newNotFileError(info)
	}
	f, err := p.fs.Open(file)
	if err != nil {
		return content, err
	}
	defer f.Close()
	content.text, err = readRegular(f, limit)
	return content, err
}
