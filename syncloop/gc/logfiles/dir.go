package logfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// MaxEntries is how many names of one directory are read.
const MaxEntries = 1 << 16

// ErrTooMany says that a directory has more entries than are read.
var ErrTooMany = errors.New("logfiles: too many entries")

// Config is what a Dir is made of. Root is required.
type Config struct {
	// Root is the directory below which each pod has one, an absolute path. It
	// need not be there.
	Root string
}

// Dir is the directory of all logs.
type Dir struct{ cfg Config }

// New makes a Dir. It touches nothing.
func New(cfg Config) (*Dir, error) {
	if !filepath.IsAbs(cfg.Root) {
		return nil, fmt.Errorf("logfiles: Config.Root is no absolute path: %q", cfg.Root)
	}
	return &Dir{cfg: cfg}, nil
}

// open opens the root, or a directory below it. fs.ErrNotExist: there is none, or
// it is something else.
func (d *Dir) open(names ...string) (*os.Root, error) {
	dir, err := os.OpenRoot(d.cfg.Root)
	for _, name := range names {
		if err != nil {
			break
		}
		var next *os.Root
		next, err = below(dir, name)
		dir.Close()
		dir = next
	}
	return dir, err
}

// below opens a directory in another. A link to one is none.
func below(parent *os.Root, name string) (*os.Root, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`+"\x00") {
		return nil, fmt.Errorf("%q: %w", name, fs.ErrNotExist)
	}
	seen, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, fmt.Errorf("%q is no directory: %w", name, fs.ErrNotExist)
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = fmt.Errorf("%q was replaced: %w", name, fs.ErrNotExist)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// each calls f with the entries of a directory, in no order, until f returns
// false.
func each(dir *os.Root, f func(fs.DirEntry) bool) error {
	file, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer file.Close()
	const piece = 256
	for read := 0; read < MaxEntries; read += piece {
		entries, err := file.ReadDir(piece)
		for _, e := range entries {
			if !f(e) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return ErrTooMany
}
