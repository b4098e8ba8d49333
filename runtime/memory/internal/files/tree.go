package files

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"
)

// ErrFull: there is no room for what is written.
var ErrFull = errors.New("no space left on device")

const (
	// MostBytes are in one tree.
	MostBytes = 16 << 20
	// MostFiles are in one tree, directories included.
	MostFiles = 4096
	// MostOfAll is how many bytes are in all trees of a Room.
	MostOfAll   = 256 << 20
	longestName = 4096
	entryCost   = 256 // bytes that an entry counts beside its name and content
)

// Room is what all trees of a machine share. The zero value is empty.
type Room struct {
	mu struct {
		sync.Mutex
		used int
	}
}

// Used is how many bytes all trees take.
func (r *Room) Used() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.used
}

// take takes or, if it is negative, returns bytes.
func (r *Room) take(n int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > 0 && r.mu.used+n > MostOfAll {
		return ErrFull
	}
	r.mu.used += n
	return nil
}

// Tree is directories and files. All methods are safe for concurrent use; errors are
// fs.PathErrors.
type Tree struct {
	room *Room
	mu   struct {
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
	data     []byte // only appended to
}

// New makes a tree with these directories. It takes no room before it is written to.
func New(room *Room, dirs ...string) *Tree {
	t := &Tree{room: room}
	t.mu.nodes = map[string]*node{"/": {dir: true, mode: 0o755}}
	for _, dir := range dirs {
		for dir = clean(dir); dir != "/"; dir = path.Dir(dir) {
			t.mu.nodes[dir] = t.mu.nodes["/"]
		}
	}
	return t
}

// Close drops all, and returns the room of it. What is written later is ErrClosed.
func (t *Tree) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.takeLocked(-t.mu.used)
	t.mu.nodes, t.mu.closed = nil, true
}

// clean is a name in the tree.
func clean(name string) string { return path.Clean("/" + name) }

// takeLocked takes room, or returns it.
func (t *Tree) takeLocked(n int) error {
	switch {
	case t.mu.closed:
		return fs.ErrClosed
	case t.mu.used+n > MostBytes:
		return ErrFull
	}
	err := t.room.take(n)
	if err == nil {
		t.mu.used += n
	}
	return err
}

// Stat reports whether there is a directory or file of a name, and which of them.
func (t *Tree) Stat(name string) (dir, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.mu.nodes[clean(name)]
	return n != nil && n.dir, n != nil
}

// Read returns the content of a file, which the caller must not change.
func (t *Tree) Read(name string) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch n := t.mu.nodes[clean(name)]; {
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

// Write replaces a file, and makes the directories above it.
func (t *Tree) Write(name string, data []byte, mode fs.FileMode, modified time.Time) error {
	n, err := t.make(name, node{mode: mode, modified: modified})
	if err == nil {
		err = t.append(n, data)
	}
	return failed("write", name, err)
}

func failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// make makes a directory, or an empty file in place of one that is there, and the
// directories above it.
func (t *Tree) make(name string, as node) (*node, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if name = clean(name); len(name) > longestName {
		return nil, errors.New("file name too long")
	}
	for i := range name {
		if i == 0 || name[i] != '/' {
			continue
		}
		if _, err := t.makeLocked(name[:i], node{dir: true, mode: 0o755, modified: as.modified}); err != nil {
			return nil, err
		}
	}
	return t.makeLocked(name, as)
}

func (t *Tree) makeLocked(name string, as node) (*node, error) {
	n := t.mu.nodes[name]
	switch {
	case n == nil && len(t.mu.nodes) >= MostFiles:
		return nil, ErrFull
	case n == nil:
		if err := t.takeLocked(entryCost + len(name)); err != nil {
			return nil, err
		}
		n = &as
		t.mu.nodes[strings.Clone(name)] = n
	case n.dir != as.dir:
		return nil, map[bool]error{true: errDir, false: errNotDir}[n.dir]
	case !n.dir:
		_ = t.takeLocked(-len(n.data))
		*n = as
	}
	return n, nil
}

// append adds to a file.
func (t *Tree) append(n *node, data []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.takeLocked(len(data))
	if err == nil {
		n.data = append(n.data, data...)
	}
	return err
}
