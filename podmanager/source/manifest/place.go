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

// place is where manifests are: the operating system's files, or an fs.FS. Its
// methods may block as long as the system does, and are called concurrently.
type place interface {
	// stat says what the configured path is, following links.
	stat() (fs.FileInfo, error)
	// names lists the directory, or fails if there are more than limit.
	names(limit int) ([]string, error)
	// gone reports, for a configured path that was one file, that what should
	// hold it can be listed and lacks it.
	gone() bool
	// file is the path of a file in the directory.
	file(name string) string
	// vanished reports that there is nothing at a path, not even a link that
	// leads nowhere.
	vanished(file string) bool
	// read reads one file, one byte more than limit at most. It opens nothing
	// but regular files; the rest is ErrNotFile.
	read(file string, limit int64) ([]byte, error)
}

// errTooMany is a directory beyond Config.MaxFiles.
var errTooMany = errors.New("too many files")

// listBatch is how many names are asked for at a time, so that a huge directory
// is given up without holding it in memory (F32).
const listBatch = 1000

// readNames reads the names in an open directory.
func readNames(dir fs.ReadDirFile, limit int) ([]string, error) {
	var names []string
	for {
		entries, err := dir.ReadDir(listBatch)
		for _, e := range entries {
			names = append(names, e.Name())
		}
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

// osPlace is a path of the operating system.
type osPlace struct{ path string }

func (p osPlace) stat() (fs.FileInfo, error) { return os.Stat(p.path) }

func (p osPlace) names(limit int) ([]string, error) {
	dir, err := osfile.OpenList(p.path) // It may have become a pipe or a device since it was looked at.
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return readNames(dir, limit)
}

// vanished looks for the link itself, if it is one (F30).
func (p osPlace) vanished(file string) bool {
	_, err := os.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}

func (p osPlace) gone() bool {
	if !p.vanished(p.path) {
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

func (p osPlace) file(name string) string { return filepath.Join(p.path, name) }

func (p osPlace) read(file string, limit int64) ([]byte, error) {
	f, err := osfile.OpenPath(file)
	if other, ok := contain.AsType[*osfile.KindError](err); ok {
		return nil, fmt.Errorf("%w: %s", ErrNotFile, other.Kind)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRegular(f, limit)
}

// readRegular reads an open file up to one byte beyond the limit.
func readRegular(f fs.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notFile(info)
	}
	return io.ReadAll(io.LimitReader(f, limit+1))
}

func notFile(info fs.FileInfo) error {
	return fmt.Errorf("%w: %s", ErrNotFile, osfile.Kind(info.Mode()))
}

// fsPlace is a path in an fs.FS.
type fsPlace struct {
	fs   fs.FS
	path string
}

func (p fsPlace) stat() (fs.FileInfo, error) { return fs.Stat(p.fs, p.path) }

func (p fsPlace) names(limit int) ([]string, error) {
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
	return readNames(dir, limit)
}

func (p fsPlace) vanished(file string) bool {
	_, err := fs.Stat(p.fs, file)
	return errors.Is(err, fs.ErrNotExist)
}

func (p fsPlace) gone() bool {
	if !p.vanished(p.path) {
		return false
	}
	_, err := fs.ReadDir(p.fs, path.Dir(p.path))
	return err == nil
}

func (p fsPlace) file(name string) string { return path.Join(p.path, name) }

// read looks before it opens: the file system may be a directory of the operating
// system (os.DirFS), where opening a pipe waits.
func (p fsPlace) read(file string, limit int64) ([]byte, error) {
	info, err := fs.Stat(p.fs, file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notFile(info)
	}
	f, err := p.fs.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRegular(f, limit)
}
