package logfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/keylock"
	"github.com/podkeel/podkeel/internal/osfile"
)

// MaxEntries is how many names of one directory are read.
const MaxEntries = 1 << 16

// ErrTooMany says that a directory has more entries than are read.
var ErrTooMany = errors.New("logfiles: too many entries")

// Directories of kubelets, in which log collectors look.
const (
	// DefaultRoot is where kubelets have the logs of pods.
	DefaultRoot = "/var/log/pods"
	// DefaultLinks is where kubelets have links to the logs of containers.
	DefaultLinks = "/var/log/containers"
)

// Config is what a Dir is made of. Root is required. All directories are absolute paths, and need
// not be there.
type Config struct {
	// Root is the directory below which each pod gets one.
	Root string
	// Records is the directory in which the Dir records the directories that it has made, one small
	// file for each. With it Root may be shared with other agents: a Dir touches
	// what it has recorded, and nothing else. A kubelet removes directories in its root of pods that
	// it does not know. No other program writes into Records. Empty: everything in
	// Root is this node's.
	Records string
	// Ran reports whether the runtime has records of a pod that it has run for this node. A pod's
	// directory in Root without a record is taken over then: it was made before there were Records.
	// It is called concurrently, without a lock held, and must not block. Nil: none is taken over.
	Ran func(uid types.UID) bool
	// OwnRoots are other directories that have logs of this node's pods alone, such as the Root of an
	// earlier version or configuration. Their logs are rotated and removed like the logs of Root; no
	// directories are made there.
	OwnRoots []string
	// Links is the directory for links to the logs of all containers.
	// Empty: there are none.
	Links string
	// OldLinks are other directories with such links, which are removed with their logs. No links
	// are made there.
	OldLinks []string
}

// Dir is the directory of all logs.
type Dir struct {
	cfg     Config
	records *records // nil: everything in Root is ours
	// locks are held while the directory of a pod is made, and over the question
	// whether it may go together with the rename that has it out of the way.
	locks keylock.Locks[types.UID]
}

// New makes a Dir. It touches nothing.
func New(cfg Config) (*Dir, error) {
	for _, c := range []struct {
		name  string
		paths []string
		may   bool // be empty
	}{
		{"Root", []string{cfg.Root}, false}, {"Records", []string{cfg.Records}, true}, {"Links", []string{cfg.Links}, true},
		{"OwnRoots", cfg.OwnRoots, false}, {"OldLinks", cfg.OldLinks, false},
	} {
		for _, path := range c.paths {
			if !filepath.IsAbs(path) && (path != "" || !c.may) {
				return nil, fmt.Errorf("logfiles: Config.%s is no absolute path: %q", c.name, path)
			}
		}
	}
	cfg.Root = filepath.Clean(cfg.Root)
	cfg.OwnRoots, cfg.OldLinks = cleanPaths(cfg.OwnRoots, cfg.Root), cleanPaths(cfg.OldLinks, filepath.Clean(cfg.Links))
	d := &Dir{cfg: cfg}
	if cfg.Records != "" {
		d.records = &records{dir: cfg.Records}
	}
	return d, nil
}

// cleanPaths returns the paths without repetitions, and without the path in use.
func cleanPaths(paths []string, current string) (all []string) {
	for _, path := range paths {
		if path = filepath.Clean(path); path != current && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return all
}

// open opens a directory, or one below it. A link to one is none. fs.ErrNotExist:
// there is none, or it is something else.
func open(root string, names ...string) (*os.Root, error) {
	dir, err := osfile.OpenDir(root)
	for _, name := range names {
		if err != nil {
			break
		}
		var next *os.Root
		next, err = osfile.OpenSubdir(dir, name)
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
