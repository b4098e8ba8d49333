package osfile

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// errPowerCut is returned by every operation after the power cut.
var errPowerCut = errors.New("the power is off")

// disk is a directory that loses power before its operation number cut. The content of a file that was not synced, and the
// changes of names that were not synced, may then be on the disk or not, each by itself.
type disk struct {
	cut   int
	done  int
	names map[string]*inode // as programs see them
	saved map[string]*inode // certainly on the disk
	// changes are the changes of names that are not certainly on the disk; nil is a removal.
	changes []nameChange
}

type nameChange struct {
	name string
	to   *inode
}

// inode is a file. synced is certainly on the disk.
type inode struct{ text, synced string }

// countOperation counts one operation. It returns errPowerCut if the operation comes after the cut.
func (d *disk) countOperation() error {
	d.done++
	if d.done > d.cut {
		return errPowerCut
	}
	return nil
}

func (d *disk) setEntry(name string, to *inode) {
	d.names[name] = to
	if to == nil {
		delete(d.names, name)
	}
	d.changes = append(d.changes, nameChange{name, to})
}

func (d *disk) Exists(name string) (bool, error) {
	if err := d.countOperation(); err != nil {
		return false, err
	}
	return d.names[name] != nil, nil
}

func (d *disk) Create(name string) (file, error) {
	if err := d.countOperation(); err != nil {
		return nil, err
	}
	if d.names[name] != nil {
		return nil, fs.ErrExist
	}
	d.setEntry(name, &inode{})
	return &handle{d, d.names[name]}, nil
}

func (d *disk) Rename(from, to string) error {
	if err := d.countOperation(); err != nil {
		return err
	}
	d.setEntry(to, d.names[from])
	d.setEntry(from, nil)
	return nil
}

func (d *disk) Link(from, to string) error {
	if err := d.countOperation(); err != nil {
		return err
	}
	if d.names[to] != nil {
		return fs.ErrExist
	}
	d.setEntry(to, d.names[from])
	return nil
}

func (d *disk) Remove(name string) error {
	if err := d.countOperation(); err != nil {
		return err
	}
	if d.names[name] == nil {
		return fs.ErrNotExist
	}
	d.setEntry(name, nil)
	return nil
}

func (d *disk) Sync() error {
	if err := d.countOperation(); err != nil {
		return err
	}
	d.saved, d.changes = maps.Clone(d.names), nil
	return nil
}

// handle is an open file of a disk.
type handle struct {
	*disk
	inode *inode
}

func (h *handle) Write(text []byte) (int, error) {
	if err := h.countOperation(); err != nil {
		return 0, err
	}
	h.inode.text += string(text)
	return len(text), nil
}

func (h *handle) Sync() error {
	if err := h.countOperation(); err != nil {
		return err
	}
	h.inode.synced = h.inode.text
	return nil
}

func (h *handle) Close() error { return h.countOperation() }

// afterPowerCut returns what the file of a name may contain when the machine is on again; "-" is no file. Every subset of
// the changes of names may be on the disk, and every prefix of the text that a program wrote after the last sync of a file.
func (d *disk) afterPowerCut(name string) map[string]bool {
	all := map[string]bool{}
	for subset := range 1 << len(d.changes) {
		names := maps.Clone(d.saved)
		for i, c := range d.changes {
			if subset>>i&1 == 1 {
				names[c.name] = c.to
			}
		}
		f := names[name]
		if f == nil {
			all["-"] = true
			continue
		}
		for n := len(f.synced); n <= len(f.text); n++ {
			all[f.text[:n]] = true
		}
	}
	return all
}

// TestWriteDurably_PowerCut cuts the power before each operation of a write. Afterwards the file has its old or its new
// content, and the new one if the write had returned nil. An interrupted earlier write has left its temporary file.
func TestWriteDurably_PowerCut(t *testing.T) {
	for _, c := range []struct {
		what  string
		old   string
		place func(d directory, from, to string) error
	}{
		{"replaced", "old", directory.Rename},
		{"new by rename", "-", directory.Rename},
		{"new by link", "-", directory.Link},
	} {
		completed := false
		for cut := 0; !completed; cut++ {
			require.Less(t, cut, 20, "the write ends")
			names := map[string]*inode{".f": {text: "torn"}}
			if c.old != "-" {
				names["f"] = &inode{text: c.old, synced: c.old}
			}
			d := &disk{cut: cut, names: names, saved: maps.Clone(names)}
			err := writeDurably(d, "f", ".f", []byte("new"), c.place)
			completed = d.done <= cut
			want := map[string]bool{"new": true}
			if err != nil {
				require.ErrorIs(t, err, errPowerCut)
				want[c.old] = true
			}
			for found := range d.afterPowerCut("f") {
				assert.True(t, want[found], "%s, cut before operation %d: the file has %q after the error %v", c.what, cut+1, found, err)
			}
		}
	}
}

// TestCreateUnlessExistsAndSync_Killed kills the process before each operation of a call, and then also the process of a
// second call. The names that the killed processes have changed are visible and not on the disk. After a later call has
// returned nil, a power failure leaves a whole file, and an existing file keeps its content.
func TestCreateUnlessExistsAndSync_Killed(t *testing.T) {
	const most = 20 // More than the operations of one call.
	for first := range most {
		for second := range most {
			d := &disk{names: map[string]*inode{}, saved: map[string]*inode{}}
			created := ""
			for n, cut := range []int{first, second, most} {
				d.cut, d.done = cut, 0
				text := string('a' + rune(n))
				err := createUnlessExistsAndSync(d, "f", ".f-"+text, []byte(text))
				if f := d.names["f"]; f != nil && created == "" {
					created = f.text
				}
				if err != nil {
					require.ErrorIs(t, err, errPowerCut)
					continue
				}
				require.Equal(t, map[string]bool{created: true}, d.afterPowerCut("f"), "killed before operations %d and %d", first+1, second+1)
			}
			require.NotEmpty(t, created)
		}
	}
}

// TestCreateUnlessExistsAndSync_Race: another process creates the file after the check. That file stays.
func TestCreateUnlessExistsAndSync_Race(t *testing.T) {
	d := &disk{cut: 20, names: map[string]*inode{}, saved: map[string]*inode{}}
	require.NoError(t, writeDurably(d, "f", ".f-1", []byte("first"), linkUnlessExists))
	require.NoError(t, writeDurably(d, "f", ".f-2", []byte("second"), linkUnlessExists))
	assert.Equal(t, map[string]bool{"first": true}, d.afterPowerCut("f"))
}

// diskTree is a tree of directories. The process that uses it is killed before its operation number cut. A directory is
// visible at once, and certainly on the disk after its parent was synced.
type diskTree struct {
	cut, done int
	made      map[string]bool // visible
	synced    map[string]bool // certainly on the disk, if the parent is
	denied    string          // a sync of this directory fails with refusal
	refusal   error
}

func (d *diskTree) countOperation() error {
	if d.done++; d.done > d.cut {
		return errPowerCut
	}
	return nil
}

func (d *diskTree) Exists(dir string) bool { return d.made[filepath.ToSlash(dir)] }

func (d *diskTree) Mkdir(dir string) error {
	if err := d.countOperation(); err != nil {
		return err
	}
	d.made[filepath.ToSlash(dir)] = true
	return nil
}

func (d *diskTree) SyncDir(dir string) error {
	if err := d.countOperation(); err != nil {
		return err
	}
	dir = filepath.ToSlash(dir)
	if dir == d.denied {
		return d.refusal
	}
	for made := range d.made {
		if path.Dir(made) == dir {
			d.synced[made] = true
		}
	}
	return nil
}

// survives reports whether a directory is certainly there after a power failure.
func (d *diskTree) survives(dir string) bool {
	return dir == "/" || d.synced[dir] && d.survives(path.Dir(dir))
}

// TestMkdirAllDurably_Killed kills the process before each operation of a call, and then also the process of a second
// call, perhaps for another path. After a third call has returned nil, its directories survive a power failure.
func TestMkdirAllDurably_Killed(t *testing.T) {
	const most = 10 // More than the operations of one call.
	for _, paths := range [][3]string{{"/a/b/c", "/a/b/c", "/a/b/c"}, {"/a/b/c", "/a/b", "/a/b/d"}, {"/a", "/a/b/c", "/a/b"}} {
		for first := range most {
			for second := range most {
				d := &diskTree{made: map[string]bool{"/": true}, synced: map[string]bool{}}
				for n, cut := range []int{first, second, most} {
					d.cut, d.done = cut, 0
					err := mkdirAllDurably(d, filepath.FromSlash(paths[n]))
					require.True(t, n < 2 || err == nil, err)
					require.True(t, err != nil || d.survives(paths[n]), "%v, killed before operations %d and %d: call %d", paths, first+1, second+1, n+1)
				}
			}
		}
	}
}

// TestMkdirAllDurably_Refused: a directory of an administrator, in a parent that this process may not read or write, is
// used. After another error it is not. A directory that this process makes itself in such a parent is an error, because it
// may be lost.
func TestMkdirAllDurably_Refused(t *testing.T) {
	for _, c := range []struct {
		refusal error
		ignored bool
	}{{fs.ErrPermission, true}, {syscall.EROFS, true}, {syscall.EIO, false}} {
		d := &diskTree{cut: 20, made: map[string]bool{"/": true, "/private": true, "/private/state": true}, synced: map[string]bool{}, denied: "/private", refusal: c.refusal}
		err := mkdirAllDurably(d, "/private/state/pods")
		assert.Equal(t, c.ignored, err == nil, c.refusal)
		require.ErrorIs(t, mkdirAllDurably(d, "/private/other"), c.refusal)
	}
}

// TestMkdirAllDurably_Syncs: a call for an existing directory syncs its parent and nothing else.
func TestMkdirAllDurably_Syncs(t *testing.T) {
	d := &diskTree{cut: 20, made: map[string]bool{"/": true, "/a": true, "/a/b": true}, synced: map[string]bool{}}
	require.NoError(t, mkdirAllDurably(d, "/a/b"))
	assert.Equal(t, map[string]bool{"/a/b": true}, d.synced)
}

// TestReplaceFile: on the file system of this machine a file is replaced, and no other file is left.
func TestReplaceFile(t *testing.T) {
	path := t.TempDir()
	dir, err := OpenDir(path)
	require.NoError(t, err)
	defer dir.Close()
	require.NoError(t, os.WriteFile(filepath.Join(path, ".f"), []byte("torn"), 0o600))
	for _, text := range []string{"one", "two"} {
		require.NoError(t, ReplaceFile(dir, "f", ".f", []byte(text)))
		found, err := os.ReadFile(filepath.Join(path, "f"))
		require.NoError(t, err)
		assert.Equal(t, text, string(found))
	}
	require.NoError(t, EnsureFile(dir, "f", ".f", []byte("three")))
	kept, err := os.ReadFile(filepath.Join(path, "f"))
	require.NoError(t, err)
	assert.Equal(t, "two", string(kept))
	require.NoError(t, EnsureFile(dir, "g", ".g", []byte("three")))
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	assert.Equal(t, "f g", entries[0].Name()+" "+entries[1].Name())
}

// TestMkdirAll: it makes all directories, and accepts existing ones.
func TestMkdirAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, MkdirAll(path, 0o700))
	require.NoError(t, MkdirAll(path, 0o700))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.True(t, info.IsDir())
	require.NoError(t, os.WriteFile(filepath.Join(path, "file"), nil, 0o600))
	require.Error(t, MkdirAll(filepath.Join(path, "file", "c"), 0o700))
}
