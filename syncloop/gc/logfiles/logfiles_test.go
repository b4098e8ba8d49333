package logfiles_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
)

// logs creates a directory with files, and a Dir for "logs" in it.
func logs(t *testing.T, files ...string) (*logfiles.Dir, string) {
	t.Helper()
	top := t.TempDir()
	for _, f := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(top, filepath.Dir(f)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(top, f), []byte("x"), 0o644))
	}
	d, err := logfiles.New(logfiles.Config{Root: filepath.Join(top, "logs")})
	require.NoError(t, err)
	return d, top
}

// tree lists the files and links below a directory.
func tree(t *testing.T, top string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(top, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	}))
	return files
}

func all(types.UID) bool { return true }

var web = runtime.PodRef{UID: "u1", Name: "web", Namespace: "ns"}

func TestNew_Root(t *testing.T) {
	_, err := logfiles.New(logfiles.Config{Root: "logs"})
	assert.EqualError(t, err, `logfiles: Config.Root is no absolute path: "logs"`)
}

// GC-8: the UID is in the name; links, files and other entries belong to no pod.
func TestPods_GC8(t *testing.T) {
	d, top := logs(t, "logs/ns_web_u1/c/0.log", "logs/ns_old_u1/c/0.log", "logs/ns_db_u2/c/0.log", "logs/ns_x_u3", "logs/other/0.log", "away/f")
	require.NoError(t, os.Symlink(filepath.Join(top, "away"), filepath.Join(top, "logs/ns_evil_u4")))
	uids, err := d.Pods(all, 10)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"u1", "u2"}, uids)
	uids, err = d.Pods(func(uid types.UID) bool { return uid == "u2" }, 1)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"u2"}, uids, "those that are not asked for are not counted")
}

// A missing directory is empty.
func TestDir_Absent(t *testing.T) {
	d, _ := logs(t)
	uids, err := d.Pods(all, 10)
	assert.NoError(t, err)
	assert.Empty(t, uids)
	assert.NoError(t, d.Remove(t.Context(), "u1", all))
	assert.NoError(t, d.RemoveAttempts(web, "c", []uint32{3}))
	next, err := d.NextAttempt(web, "c")
	assert.NoError(t, err)
	assert.Zero(t, next)
}

// GC-8: all directories of the pod are removed and nothing else. No link is followed, neither
// inside nor at the top.
func TestRemove_GC8(t *testing.T) {
	d, top := logs(t, "logs/ns_web_u1/c/0.log", "logs/ns_old_u1/c/0.log", "logs/ns_db_u2/c/0.log", "logs/u1/f", "away/f")
	require.NoError(t, os.Symlink(filepath.Join(top, "away"), filepath.Join(top, "logs/ns_web_u1/c/link")))
	require.NoError(t, os.Symlink("ns_db_u2", filepath.Join(top, "logs/ns_evil_u1")))
	for range 2 {
		require.NoError(t, d.Remove(t.Context(), "u1", all))
		assert.Equal(t, []string{"away/f", "logs/ns_db_u2/c/0.log", "logs/ns_evil_u1", "logs/u1/f"}, tree(t, top))
	}
}

// An invalid UID removes nothing.
func TestRemove_Strange(t *testing.T) {
	d, top := logs(t, "logs/ns_web_u1/c/0.log", "away/f")
	for _, uid := range []types.UID{"", "..", "../away", "u1/c"} {
		assert.NoError(t, d.Remove(t.Context(), uid, all))
	}
	assert.Len(t, tree(t, top), 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, d.Remove(ctx, "u1", all), context.Canceled)
	assert.Len(t, tree(t, top), 2)
}

// KC-2: the next attempt is the highest number plus one, including rotated files.
func TestNextAttempt_KC2(t *testing.T) {
	d, top := logs(t, "logs/ns_web_u1/c/0.log", "logs/ns_web_u1/c/9.log", "logs/ns_web_u1/c/11.log.20260101-000000.gz",
		"logs/ns_web_u1/c/99.txt", "logs/ns_web_u1/other/50.log", "away/70.log")
	next, err := d.NextAttempt(web, "c")
	require.NoError(t, err)
	assert.Equal(t, uint32(12), next)
	require.NoError(t, os.Symlink(filepath.Join(top, "away"), filepath.Join(top, "logs/ns_web_u1/link")))
	require.NoError(t, os.Symlink("c", filepath.Join(top, "logs/ns_web_u1/near")))
	for _, container := range []string{"link", "near", "..", ".", "", "../../away", "absent"} {
		next, err := d.NextAttempt(web, container)
		assert.NoError(t, err, "%q", container)
		assert.Zero(t, next, "%q", container)
	}
}

// GC-9, KC-17: the rotated files of an attempt are removed with it. Kept and newer attempts stay.
// With an empty keep all attempts stay.
func TestRemoveAttempts_GC9(t *testing.T) {
	files := []string{"0.log", "1.log", "1.log.20260101-000000.gz", "2.log", "3.log", "3.log.20260101-000000", "4.log", "README"}
	var paths []string
	for _, f := range files {
		paths = append(paths, "logs/ns_web_u1/c/"+f)
	}
	d, top := logs(t, paths...)
	require.NoError(t, d.RemoveAttempts(web, "c", nil))
	assert.Equal(t, paths, tree(t, top))
	require.NoError(t, d.RemoveAttempts(web, "c", []uint32{3, 2}))
	assert.Equal(t, slices.Concat(paths[3:]), tree(t, top))
}

// A UID may contain underscores, which also separate the parts of the name.
func TestRemove_UIDWithUnderscores(t *testing.T) {
	d, top := logs(t, "logs/ns_web_a_b.c/c/0.log", "logs/ns_web_b.c/c/0.log")
	uids, err := d.Pods(all, 10)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"a_b.c", "b.c"}, uids)
	require.NoError(t, d.Remove(t.Context(), "a_b.c", all))
	assert.Equal(t, []string{"logs/ns_web_b.c/c/0.log"}, tree(t, top))
}

// Remove calls gone while SetUp of the pod waits, and before it changes anything.
func TestRemove_AsksLast(t *testing.T) {
	d, top := logs(t, "logs/ns_web_u1/c/0.log")
	require.NoError(t, d.Remove(t.Context(), "u1", func(types.UID) bool { return false }))
	assert.Len(t, tree(t, top), 1)

	made := make(chan error, 1)
	require.NoError(t, d.Remove(t.Context(), "u1", func(types.UID) bool {
		began := make(chan struct{})
		go func() {
			close(began)
			made <- d.SetUp(web)
		}()
		<-began
		return true
	}))
	require.NoError(t, <-made)
	assert.DirExists(t, filepath.Join(top, "logs/ns_web_u1"), "it was made after the other was renamed")
	assert.Empty(t, tree(t, top))
	assert.ErrorIs(t, d.SetUp(runtime.PodRef{UID: "../x", Name: "web", Namespace: "ns"}), podspec.ErrInvalidUID)
}

// The trash of an interrupted removal belongs to no pod, and Sweep removes it.
func TestSweep(t *testing.T) {
	d, top := logs(t, "logs/ns_web_u1/c/0.log", "logs/ns_db_u2/c/0.log")
	root, err := os.OpenRoot(filepath.Join(top, "logs"))
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, osfile.Discard(root, "ns_web_u1", "u1"))
	uids, err := d.Pods(all, 10)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"u2"}, uids)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	left, err := d.Sweep(ctx)
	assert.Equal(t, 1, left)
	require.ErrorIs(t, err, context.Canceled)
	left, err = d.Sweep(t.Context())
	require.NoError(t, err)
	assert.Zero(t, left)
	entries, err := os.ReadDir(filepath.Join(top, "logs"))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}
