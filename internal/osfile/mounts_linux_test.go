package osfile

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// withoutOpenat2 is a kernel, or a seccomp profile, without that call.
func withoutOpenat2(answer error) mountChecker {
	t := newMountChecker()
	t.openat2 = func(int, string) (int, error) { return -1, answer }
	return t
}

var tellers = map[string]mountChecker{
	"openat2":           newMountChecker(),
	"fdinfo, old":       withoutOpenat2(unix.ENOSYS),
	"fdinfo, forbidden": withoutOpenat2(unix.EPERM),
}

// ground is a directory of the host with files in it, and one with a tree to be
// removed, both on the same file system.
type ground struct {
	t    *testing.T
	rng  *rand.Rand
	host string
	at   string
	dir  *os.Root
}

func newGround(t *testing.T, seed uint64) *ground {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	g := &ground{t: t, rng: rand.New(rand.NewPCG(seed, 0)), host: filepath.Join(top, "host"), at: filepath.Join(top, "at")}
	require.NoError(t, os.MkdirAll(filepath.Join(g.host, "sub"), 0o755))
	for i := range 5 {
		require.NoError(t, os.WriteFile(filepath.Join(g.host, fmt.Sprint(i)), []byte("precious"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(g.host, "sub", fmt.Sprint(i)), []byte("precious"), 0o600))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(g.at, "tree"), 0o755))
	g.dir, err = os.OpenRoot(g.at)
	require.NoError(t, err)
	t.Cleanup(func() {
		g.unmountAll()
		assert.NoError(t, g.dir.Close())
	})
	if err := g.bindMount(g.host, filepath.Join(g.at, "tree")); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	g.unmountAll()
	return g
}

func (g *ground) bindMount(from, to string) error { return unix.Mount(from, to, "", unix.MS_BIND, "") }

// unmountAll unmounts everything in the tree. It repeats this while an unmount succeeds, because one mount can cover
// another.
func (g *ground) unmountAll() {
	for range 20 {
		again := false
		for _, at := range g.listPaths() {
			again = unix.Unmount(at, unix.MNT_DETACH) == nil || again
		}
		if !again {
			return
		}
	}
	g.t.Error("mounts without end")
}

// listPaths returns all files and directories of the tree and of the file systems mounted in it.
func (g *ground) listPaths() (all []string) {
	_ = filepath.WalkDir(filepath.Join(g.at, "tree"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			all = append(all, path)
		}
		return nil
	})
	return all
}

// buildTree makes a random tree.
func (g *ground) buildTree() {
	dirs := []string{filepath.Join(g.at, "tree")}
	for i := range 30 {
		at := filepath.Join(dirs[g.rng.IntN(len(dirs))], fmt.Sprint("n", i))
		if g.rng.IntN(3) == 0 {
			require.NoError(g.t, os.WriteFile(at, nil, 0o600))
			continue
		}
		require.NoError(g.t, os.MkdirAll(at, 0o755))
		dirs = append(dirs, at)
	}
}

// changeMounts mounts the host's directory, or a file of it, at a random place of the tree, or unmounts a random place.
func (g *ground) changeMounts() {
	places := g.listPaths()
	if len(places) == 0 {
		return
	}
	at := places[g.rng.IntN(len(places))]
	switch g.rng.IntN(8) {
	case 0, 1:
		_ = g.bindMount(g.host, at) // It fails if the place is a file.
	case 2:
		_ = g.bindMount(filepath.Join(g.host, "0"), at)
	case 3:
		_ = unix.Unmount(at, unix.MNT_DETACH)
	}
}

// requireHostFiles checks that the host has all its files.
func (g *ground) requireHostFiles() {
	for _, below := range []string{"", "sub"} {
		for i := range 5 {
			text, err := os.ReadFile(filepath.Join(g.host, below, fmt.Sprint(i)))
			require.NoError(g.t, err)
			require.Equal(g.t, "precious", string(text))
		}
	}
}

// A directory of the host is mounted anywhere in the tree, before or at any step of a removal. The removal succeeds, or
// stops with ErrMount, and the host's files stay. After the unmount the removal succeeds.
func TestRemoveAll_HostFilesBelowMounts(t *testing.T) {
	for name, teller := range tellers {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				seed := rand.Uint64()
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					g := newGround(t, seed)
					g.buildTree()
					g.changeMounts()
					r := removal{ctx: t.Context(), mounts: teller, beforeSyscall: g.changeMounts}
					if err := r.removeEntry(g.dir, "tree"); err != nil {
						require.ErrorIs(t, err, ErrMount)
					}
					g.requireHostFiles()
					g.unmountAll()
					r.beforeSyscall = nil
					require.NoError(t, r.removeEntry(g.dir, "tree"))
					assert.NoDirExists(t, filepath.Join(g.at, "tree"))
					g.requireHostFiles()
				})
			}
		})
	}
}

// The error names the path, and is the same each time, so that it is reported once.
func TestRemoveAll_StopsAtMount(t *testing.T) {
	for name, teller := range tellers {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, 1)
			require.NoError(t, os.MkdirAll(filepath.Join(g.at, "tree", "a", "b"), 0o755))
			require.NoError(t, g.bindMount(g.host, filepath.Join(g.at, "tree", "a", "b")))
			for range 2 {
				r := removal{ctx: t.Context(), mounts: teller}
				assert.EqualError(t, r.removeEntry(g.dir, "tree"), "remove tree/a/b: something is mounted there, which is not removed")
			}
			g.requireHostFiles()
		})
	}
}

// A file of the host that is mounted on a file stays. So do the files of a file system that is mounted on the tree
// itself.
func TestRemoveAll_MountOnFileAndOnTop(t *testing.T) {
	g := newGround(t, 1)
	file := filepath.Join(g.at, "tree", "f")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, g.bindMount(filepath.Join(g.host, "0"), file))
	assert.EqualError(t, RemoveAll(t.Context(), g.dir, "tree"), "remove tree/f: something is mounted there, which is not removed")
	require.NoError(t, unix.Unmount(file, 0))
	require.NoError(t, g.bindMount(g.host, filepath.Join(g.at, "tree")))
	assert.ErrorIs(t, RemoveAll(t.Context(), g.dir, "tree"), ErrMount)
	g.requireHostFiles()
}

// If the system does not report mounts, no directory is opened.
func TestRemoveAll_FailsWithoutMountDetection(t *testing.T) {
	at := t.TempDir()
	dir, err := os.OpenRoot(at)
	require.NoError(t, err)
	defer dir.Close()
	require.NoError(t, os.MkdirAll(filepath.Join(at, "tree", "a"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(at, "tree", "a", "f"), nil, 0o600))
	blind := withoutOpenat2(unix.ENOSYS)
	blind.mountID = func(int) (uint64, error) { return parseMountID([]byte("pos:\t0\nflags:\t0100000\n")) }
	r := removal{ctx: t.Context(), mounts: blind}
	err = r.removeEntry(dir, "tree")
	require.ErrorIs(t, err, ErrMountsUnknown)
	assert.EqualError(t, err, "remove tree: cannot detect mounts: neither openat2 nor /proc/self/fdinfo is available")
	assert.FileExists(t, filepath.Join(at, "tree", "a", "f"))
}

func TestMountID(t *testing.T) {
	id, err := parseMountID([]byte("pos:\t0\nflags:\t0100000\nmnt_id:\t4711\nino:\t1\n"))
	require.NoError(t, err)
	assert.EqualValues(t, 4711, id)
	_, err = parseMountID([]byte("mnt_id:\tx"))
	require.ErrorIs(t, err, ErrMountsUnknown)
	_, err = mountIDFromProc(-1)
	require.ErrorIs(t, err, ErrMountsUnknown)
	f, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer f.Close()
	_, err = mountIDFromProc(int(f.Fd()))
	require.NoError(t, err)
}

// createDeepTree makes a chain of directories that is too long for a path.
func createDeepTree(t *testing.T, at string, levels int) {
	require.NoError(t, os.MkdirAll(at, 0o755))
	fd, err := openat(unix.AT_FDCWD, at, unix.O_RDONLY|unix.O_DIRECTORY)
	require.NoError(t, err)
	for range levels {
		require.NoError(t, unix.Mkdirat(fd, "d", 0o755))
		require.NoError(t, unix.Symlinkat("/nowhere", fd, "l"))
		next, err := openat(fd, "d", unix.O_RDONLY|unix.O_DIRECTORY)
		require.NoError(t, err)
		require.NoError(t, unix.Close(fd))
		fd = next
	}
	require.NoError(t, unix.Close(fd))
}

// A deep tree is removed with few open files, and a removal of it that was cut short
// any number of times is no obstacle to the next.
func TestRemoveAll_DeepTreeInterrupted(t *testing.T) {
	at := t.TempDir()
	dir, err := os.OpenRoot(at)
	require.NoError(t, err)
	defer dir.Close()
	createDeepTree(t, filepath.Join(at, "tree"), 1500)
	for steps := 200; ; steps *= 2 {
		ctx, cancel := context.WithCancel(t.Context())
		left := steps
		r := removal{ctx: ctx, mounts: newMountChecker(), beforeSyscall: func() {
			if left--; left == 0 {
				cancel()
			}
		}}
		err := r.removeEntry(dir, "tree")
		cancel()
		if err == nil {
			break
		}
		require.ErrorIs(t, err, context.Canceled)
	}
	assert.NoDirExists(t, filepath.Join(at, "tree"))
}

// The process can open only a few more files.
func TestRemoveAll_DeepTreeFewFiles(t *testing.T) {
	at := t.TempDir()
	dir, err := os.OpenRoot(at)
	require.NoError(t, err)
	defer dir.Close()
	createDeepTree(t, filepath.Join(at, "tree"), 300)
	opened := 0
	few := newMountChecker()
	few.openat2 = func(parent int, name string) (int, error) {
		if opened++; opened%5 == 0 {
			return -1, unix.EMFILE
		}
		return openat2(parent, name)
	}
	for range 100 {
		r := removal{ctx: t.Context(), mounts: few}
		if err = r.removeEntry(dir, "tree"); err == nil {
			break
		}
		require.ErrorIs(t, err, unix.EMFILE) // At the top of the tree, where there is no other way.
	}
	require.NoError(t, err)
	assert.NoDirExists(t, filepath.Join(at, "tree"))
}
