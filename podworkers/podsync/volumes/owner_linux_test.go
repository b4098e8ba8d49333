package volumes

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/osfile"
)

// groupAt returns the group of a file, without following links.
func groupAt(t *testing.T, path string) int {
	info, err := os.Lstat(path)
	require.NoError(t, err)
	group, known := fileGroup(info)
	require.True(t, known)
	return group
}

const podGroup = 4242

func asRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files to any group, and mount")
	}
}

// If a container replaces a directory before its entries are read, the new file is skipped. The call
// does not wait for a FIFO.
func TestGiveTree_ADirectoryIsReplaced(t *testing.T) {
	asRoot(t)
	top, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "f"), nil, 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(top, "fifo"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(top, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(top, "dir"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(top, "dir", "f"), nil, 0o600))
	require.NoError(t, os.Symlink("dir", filepath.Join(top, "inside")))
	root, err := os.OpenRoot(top)
	require.NoError(t, err)
	defer root.Close()
	g := groupChange{root: root, group: podGroup}
	for _, name := range []string{"fifo", "link", "inside", "gone", "link/x", "fifo/x"} {
		below, err := g.changeGroupOfDirEntries(t.Context(), name)
		require.NoError(t, err, name)
		assert.Empty(t, below, name)
	}
	assert.Equal(t, os.Getegid(), groupAt(t, filepath.Join(outside, "f")))
	assert.Equal(t, os.Getegid(), groupAt(t, filepath.Join(top, "dir", "f")))
}

// A file that is neither regular nor a directory gets the group without being opened. Only the
// permission bits, and the setgid bit of a directory, are set or kept.
func TestGiveTree_SpecialFiles(t *testing.T) {
	asRoot(t)
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	require.NoError(t, syscall.Mkfifo(at("fifo"), 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", at("absolute")))
	require.NoError(t, os.Symlink("absolute", at("chain")))
	require.NoError(t, os.Symlink("loop", at("loop")))
	require.NoError(t, os.WriteFile(at("setuid"), nil, 0o600))
	require.NoError(t, os.Chmod(at("setuid"), 0o755|fs.ModeSetuid))
	require.NoError(t, os.Link(at("setuid"), at("hard")))
	require.NoError(t, os.WriteFile(at("new\nline \xff\x1b[31m"), nil, 0o600))
	if err := syscall.Mknod(at("device"), syscall.S_IFCHR|0o600, 1<<8|7); err != nil {
		t.Log("no device can be made here: ", err)
	}
	before, err := os.Stat("/etc/passwd")
	require.NoError(t, err)
	require.NoError(t, giveTreeToGroup(t.Context(), top, podGroup))
	after, err := os.Stat("/etc/passwd")
	require.NoError(t, err)
	assert.Equal(t, before.Mode(), after.Mode())
	assert.NotEqual(t, podGroup, groupAt(t, "/etc/passwd"))
	entries, err := os.ReadDir(top)
	require.NoError(t, err)
	for _, e := range entries {
		assert.Equal(t, podGroup, groupAt(t, at(e.Name())), "%q", e.Name())
		info, err := e.Info()
		require.NoError(t, err)
		assert.Zero(t, info.Mode()&fs.ModeSetuid, "%q", e.Name())
	}
}

// File systems and files that are mounted in a volume are not changed.
func TestGiveTree_Mounts(t *testing.T) {
	asRoot(t)
	top, other := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(top, "a", "mount"), filepath.Join(other, "sub")} {
		require.NoError(t, os.MkdirAll(path, 0o700))
	}
	for _, path := range []string{filepath.Join(top, "a", "file"), filepath.Join(other, "sub", "f"), filepath.Join(other, "single")} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	if err := syscall.Mount(other, filepath.Join(top, "a", "mount"), "", syscall.MS_BIND, ""); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	require.NoError(t, syscall.Mount(filepath.Join(other, "single"), filepath.Join(top, "a", "file"), "", syscall.MS_BIND, ""))
	t.Cleanup(func() { assert.NoError(t, unmountTree(top)) })
	require.NoError(t, os.Symlink("a/mount", filepath.Join(top, "link")))
	require.NoError(t, giveTreeToGroup(t.Context(), top, podGroup))
	assert.Equal(t, podGroup, groupAt(t, filepath.Join(top, "a")))
	for _, path := range []string{other, filepath.Join(other, "sub"), filepath.Join(other, "sub", "f"), filepath.Join(other, "single")} {
		assert.Equal(t, os.Getegid(), groupAt(t, path), path)
		info, err := os.Lstat(path)
		require.NoError(t, err)
		assert.Zero(t, info.Mode().Perm()&0o020, path)
	}
}

// A tree whose paths no program could use is refused after a bounded time, and with a bounded
// number of open files.
func TestGiveTree_TooDeep(t *testing.T) {
	asRoot(t)
	top := t.TempDir()
	deep, err := os.OpenRoot(top)
	require.NoError(t, err)
	name := strings.Repeat("d", 200)
	for range 30 {
		require.NoError(t, deep.Mkdir(name, 0o700))
		next, err := osfile.OpenSubdir(deep, name)
		require.NoError(t, err)
		require.NoError(t, deep.Close())
		deep = next
	}
	require.NoError(t, deep.Close())
	err = giveTreeToGroup(t.Context(), top, podGroup)
	assert.ErrorContains(t, err, `it has a path of more than 4096 bytes, which begins with "dddd`)
	assert.Less(t, len(err.Error()), 300)
	root, err := os.OpenRoot(filepath.Dir(top))
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, osfile.RemoveAll(t.Context(), root, filepath.Base(top)))
}
