package logfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/keylock"
	"github.com/podkeel/podkeel/internal/osfile"
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
	// Links is the directory for links to the logs of all containers, an absolute path.
	// Empty: there are none.
	Links string
}

// Dir is the directory of all logs.
type Dir struct {
	cfg Config
	// locks are held while the directory of a pod is made, and over the question
	// whether it may go together with the rename that has it out of the way.
	locks keylock.Locks[types.UID]
}

// New makes a Dir. It touches nothing.
func New(cfg Config) (*Dir, error) {
	if !filepath.IsAbs(cfg.Root) {
		return nil, fmt.Errorf("logfiles: Config.Root is no absolute path: %q", cfg.Root)
	}
	if cfg.Links != "" && !filepath.IsAbs(cfg.Links) {
		return nil, fmt.Errorf("logfiles: Config.Links is no absolute path: %q", cfg.Links)
	}
	cfg.Root = filepath.Clean(cfg.Root)
	return &Dir{cfg: cfg}, nil
}

// open opens the root, or a directory below it. A link to one is none. fs.ErrNotExist:
// there is none, or it is something else.
func (d *Dir) open(names ...string) (*os.Root, error) {
	dir, err := osfile.OpenDir(d.cfg.Root)
	for _, name := range names {
		if err != nil {
			break
		}
		var next *os.Root
		next, err = osfile.OpenSub(dir, name)
		dir.Close()
		dir = next
	}
	if errors.Is(err, osfile.ErrNotDirectory) || errors.Is(err, osfile.ErrReplaced) || errors.Is(err, fs.ErrInvalid) {
		return nil, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	return dir, err
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
