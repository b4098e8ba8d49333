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

// MaxEntries limits how many names of one directory are read.
const MaxEntries = 1 << 16

// ErrTooMany is returned for a directory with more entries than MaxEntries.
var ErrTooMany = errors.New("logfiles: too many entries")

// Log directories of kubelets, which log collectors read.
const (
	// DefaultRoot is the kubelet's directory for the logs of pods.
	DefaultRoot = "/var/log/pods"
	// DefaultLinks is the kubelet's directory for links to the logs of containers.
	DefaultLinks = "/var/log/containers"
)

// Config configures a Dir. Root is required. All directories are absolute paths, and need not
// exist.
type Config struct {
	// Root is the parent directory of the log directories of pods.
	Root string
	// Records is the directory in which the Dir records the log directories that it has created,
	// one small file for each. With Records, Root may be shared with other agents: the Dir changes
	// only recorded directories. A kubelet does not share: it removes directories in its root whose
	// pods it does not know. No other program may write to Records. Empty: everything in Root
	// belongs to this node.
	Records string
	// Ran reports whether the runtime has records of a pod that it has run for this node. The Dir
	// then records an existing directory of the pod in Root that has no record: an earlier version
	// created it before Records existed. Ran is called concurrently, without a lock held, and must
	// not block. Nil: no existing directory is recorded.
	Ran func(uid types.UID) bool
	// OwnRoots are other directories that only have logs of this node's pods, such as the Root of
	// an earlier version or configuration. Their logs are rotated and removed like the logs of
	// Root. No directories are created there.
	OwnRoots []string
	// Links is the directory for links to the logs of all containers. Empty: no links are created.
	Links string
	// OldLinks are other directories with such links. They are removed with their logs. No links
	// are created there.
	OldLinks []string
}

// Dir manages the log files of all pods.
type Dir struct {
	cfg     Config
	records *directoryRecords // nil: everything in Root belongs to this node
	// locks are held by SetUp while it creates the directory of a pod. Remove holds them while it
	// checks that the pod is gone and renames its directories.
	locks keylock.Locks[types.UID]
}

// New creates a Dir. It does not access the file system.
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
	cfg.OwnRoots, cfg.OldLinks = cleanUniquePaths(cfg.OwnRoots, cfg.Root), cleanUniquePaths(cfg.OldLinks, filepath.Clean(cfg.Links))
	d := &Dir{cfg: cfg}
	if cfg.Records != "" {
		d.records = &directoryRecords{dir: cfg.Records}
	}
	return d, nil
}

// cleanUniquePaths returns the cleaned paths without duplicates and without the path exclude.
func cleanUniquePaths(paths []string, exclude string) (all []string) {
	for _, path := range paths {
		if path = filepath.Clean(path); path != exclude && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return all
}

// openDirectory opens the directory root, or a directory below it if names are given. It follows no symbolic
// links below root. It returns fs.ErrNotExist if the directory does not exist, or if a name is a link or a
// file.
func openDirectory(root string, names ...string) (*os.Root, error) {
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

// forEachEntry calls visit with each entry of a directory, unordered, until visit returns false. It returns
// ErrTooMany after MaxEntries entries.
func forEachEntry(dir *os.Root, visit func(fs.DirEntry) bool) error {
	file, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer file.Close()
	const piece = 256
	for read := 0; read < MaxEntries; read += piece {
		entries, err := file.ReadDir(piece)
		for _, e := range entries {
			if !visit(e) {
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
