package files

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"
)

// ErrFull is returned when a tree or its Quota is full.
var ErrFull = errors.New("no space left on device")

const (
	// MaxTreeBytes limits the bytes of one tree.
	MaxTreeBytes = 16 << 20
	// MaxTreeFiles limits the files and directories of one tree.
	MaxTreeFiles = 4096
	// MaxTotalBytes limits the bytes of all trees of a Quota.
	MaxTotalBytes = 256 << 20
	maxNameBytes  = 4096
	entryOverhead = 256 // bytes that each entry counts in addition to its name and content
)

// Quota limits the bytes of all trees of a machine. The zero value is unused.
type Quota struct {
	mu struct {
		sync.Mutex
		used int
	}
}

// Used returns how many bytes all trees use.
func (r *Quota) Used() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.used
}

// reserveBytes adds bytes to the used bytes of all trees. A negative number releases bytes. It returns ErrFull,
// and adds nothing, if the sum would exceed the limit.
func (r *Quota) reserveBytes(bytes int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes > 0 && r.mu.used+bytes > MaxTotalBytes {
		return ErrFull
	}
	r.mu.used += bytes
	return nil
}

// Tree is a tree of directories and files. All methods are safe for concurrent use. Errors are of
// type *fs.PathError.
type Tree struct {
	quota *Quota
	mu    struct {
		sync.Mutex
		nodes  map[string]*node // by absolute, clean name
		used   int
		closed bool
	}
}

// node is a directory or a file.
type node struct {
	dir      bool
	mode     fs.FileMode // permissions
	modified time.Time
	data     []byte // only appended to, so that a reader may hold the slice
}

// New creates a tree with these directories and their parents. They do not count against the quota.
func New(quota *Quota, dirs ...string) *Tree {
	t := &Tree{quota: quota}
	t.mu.nodes = map[string]*node{"/": {dir: true, mode: 0o755}}
	for _, dir := range dirs {
		for dir = absoluteName(dir); dir != "/"; dir = path.Dir(dir) {
			t.mu.nodes[dir] = t.mu.nodes["/"]
		}
	}
	return t
}

// Close removes all files and releases their bytes. Later writes return fs.ErrClosed.
func (t *Tree) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.reserveLocked(-t.mu.used)
	t.mu.nodes, t.mu.closed = nil, true
}

// absoluteName returns name as an absolute, clean path. A relative name is taken from the root.
func absoluteName(name string) string { return path.Clean("/" + name) }

// reserveLocked adds bytes to the used bytes of the tree and of its quota. A negative number releases bytes. It
// returns an error, and adds nothing, if a limit would be exceeded or the tree is closed.
func (t *Tree) reserveLocked(bytes int) error {
	switch {
	case t.mu.closed:
		return fs.ErrClosed
	case t.mu.used+bytes > MaxTreeBytes:
		return ErrFull
	}
	err := t.quota.reserveBytes(bytes)
	if err == nil {
		t.mu.used += bytes
	}
	return err
}

// Stat reports whether a name exists, and whether it is a directory.
func (t *Tree) Stat(name string) (dir, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.mu.nodes[absoluteName(name)]
	return n != nil && n.dir, n != nil
}

// Read returns the content of a file. The caller must not modify it.
func (t *Tree) Read(name string) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch n := t.mu.nodes[absoluteName(name)]; {
	case n == nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case n.dir:
		return nil, &fs.PathError{Op: "read", Path: name, Err: errDir}
	default:
		return n.data, nil
	}
}

var (
	errDir    = errors.New("is a directory")
	errNotDir = errors.New("not a directory")
)

// Write replaces the content of a file. It creates the file and its parent directories if
// necessary.
func (t *Tree) Write(name string, data []byte, mode fs.FileMode, modified time.Time) error {
	n, err := t.createNode(name, node{mode: mode, modified: modified})
	if err == nil {
		err = t.appendData(n, data)
	}
	return pathError("write", name, err)
}

// pathError wraps an error in a fs.PathError. It returns nil if err is nil.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// createNode creates a directory or an empty file, and missing parent directories. An empty file replaces an
// existing file. An existing directory stays. It returns an error if the name is too long, or if the tree is
// full. It also returns an error if a file has the name of a new directory, or a directory the name of the new
// file.
func (t *Tree) createNode(name string, template node) (*node, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if name = absoluteName(name); len(name) > maxNameBytes {
		return nil, errors.New("file name too long")
	}
	for i := range name {
		if i == 0 || name[i] != '/' {
			continue
		}
		if _, err := t.createDirOrReplaceFileLocked(name[:i], node{dir: true, mode: 0o755, modified: template.modified}); err != nil {
			return nil, err
		}
	}
	return t.createDirOrReplaceFileLocked(name, template)
}

// createDirOrReplaceFileLocked creates a directory or an empty file. It does not create or check the parent
// directories. An empty file replaces an existing file. An existing directory is returned unchanged. It returns
// an error if a file has the name of the new directory, if a directory has the name of the new file, or if the
// tree has no room.
func (t *Tree) createDirOrReplaceFileLocked(name string, template node) (*node, error) {
	n := t.mu.nodes[name]
	switch {
	case n == nil && len(t.mu.nodes) >= MaxTreeFiles:
		return nil, ErrFull
	case n == nil:
		if err := t.reserveLocked(entryOverhead + len(name)); err != nil {
			return nil, err
		}
		n = &template
		t.mu.nodes[strings.Clone(name)] = n
	case n.dir != template.dir:
		return nil, map[bool]error{true: errDir, false: errNotDir}[n.dir]
	case !n.dir:
		_ = t.reserveLocked(-len(n.data))
		*n = template
	}
	return n, nil
}

// appendData appends bytes to a file. It returns an error, and appends nothing, if the tree is full or closed.
func (t *Tree) appendData(n *node, data []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.reserveLocked(len(data))
	if err == nil {
		n.data = append(n.data, data...)
	}
	return err
}
