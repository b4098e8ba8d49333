package osfile

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
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
	require.ErrorIs(t, CreateFile(dir, "f", ".f", []byte("three")), fs.ErrExist)
	require.NoError(t, CreateFile(dir, "g", ".g", []byte("three")))
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
