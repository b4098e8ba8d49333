//go:build unix

package volumes_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
)

// podWithLocalClaim is a pod with an fsGroup and one claim, whose volume is a directory with a file, a
// directory with a file that its owner alone may read, and a link to a file elsewhere.
func podWithLocalClaim(t *testing.T, claim string, readOnly bool) (setUp func(ctx context.Context) error, disk string, gid int) {
	disk, gid = t.TempDir(), 4242
	if os.Geteuid() != 0 {
		gid = os.Getgid()
	}
	require.NoError(t, os.MkdirAll(filepath.Join(disk, "dir"), 0o700))
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for path, mode := range map[string]fs.FileMode{"file": 0o755, "dir/secret": 0o600, "dir/setuid": 0o711 | fs.ModeSetuid, elsewhere: 0o600} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(disk, path)
		}
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chmod(path, mode))
	}
	require.NoError(t, os.Chmod(disk, 0o755))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(disk, "link")))
	pod := &v1.Pod{Spec: v1.PodSpec{
		SecurityContext: &v1.PodSecurityContext{FSGroup: new(int64(gid))},
		Volumes:         []v1.Volume{{Name: claim, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim, ReadOnly: readOnly}}}},
	}}
	pod.Namespace, pod.Name, pod.UID = "ns", "db", "u"
	d, err := volumes.New(volumes.Config{Root: t.TempDir(), Claims: claims{disk, nil}})
	require.NoError(t, err)
	t.Cleanup(func() {
		info, err := os.Stat(elsewhere)
		require.NoError(t, err)
		assert.Equal(t, "-rw------- "+fmt.Sprint(os.Getegid()), look(info), "what a link leads to is not the volume's")
	})
	return func(ctx context.Context) error { return d.SetUp(ctx, pod) }, disk, gid
}

// look is a mode and a group.
func look(info fs.FileInfo) string { return fmt.Sprint(info.Mode(), " ", group(info)) }

// tree returns the entries of a directory with their modes and groups: "pod" is the group of the pod,
// and "-" the group of the test.
func tree(t *testing.T, dir string, gid int) string {
	var out strings.Builder
	require.NoError(t, filepath.Walk(dir, func(path string, info fs.FileInfo, err error) error {
		name, _ := filepath.Rel(dir, path)
		owner := "-"
		if group(info) == gid {
			owner = "pod"
		}
		fmt.Fprintln(&out, name, info.Mode(), owner)
		return err
	}))
	return out.String()
}

const given = `. dgrwxrwxr-x pod
dir dgrwxrwx--- pod
dir/secret -rw-rw---- pod
dir/setuid -rwxrwx--x pod
file -rwxrwxr-x pod
link Lrwxrwxrwx pod
`

// TestSetUp_LocalVolume: all in a local volume belongs to the group of the pod.
func TestSetUp_LocalVolume(t *testing.T) {
	setUp, disk, gid := podWithLocalClaim(t, "data", false)
	require.NoError(t, setUp(t.Context()))
	assert.Equal(t, given, tree(t, disk, gid))

	// Files that are created later are not changed.
	require.NoError(t, os.Chmod(filepath.Join(disk, "file"), 0o600))
	require.NoError(t, setUp(t.Context()))
	assert.Contains(t, tree(t, disk, gid), "file -rw------- pod\n")
}

// ending is a context that ends after it was looked at some times.
type ending struct {
	context.Context
	looks int
}

func (e *ending) Err() error {
	if e.looks--; e.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestSetUp_LocalVolumeCut: an attempt that is cut short at any step has not changed the group of the
// directory itself. So the next attempt does everything again.
func TestSetUp_LocalVolumeCut(t *testing.T) {
	cuts := 0
	for looks := 0; ; looks++ {
		setUp, disk, gid := podWithLocalClaim(t, "data", false)
		err := setUp(&ending{t.Context(), looks})
		if err == nil {
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		if have := tree(t, disk, gid); strings.Contains(have, "pod") {
			assert.Contains(t, have, ". drwxr-xr-x ")
			cuts++
		}
		require.NoError(t, setUp(t.Context()))
		assert.Equal(t, given, tree(t, disk, gid))
	}
	assert.Greater(t, cuts, 2)
}

// TestSetUp_OthersVolume: a hostPath volume and a read-only volume stay as they are.
func TestSetUp_OthersVolume(t *testing.T) {
	for _, c := range []struct {
		claim    string
		readOnly bool
	}{{"path", false}, {"data", true}} {
		setUp, disk, gid := podWithLocalClaim(t, c.claim, c.readOnly)
		before := tree(t, disk, gid)
		require.NoError(t, setUp(t.Context()))
		assert.Equal(t, before, tree(t, disk, gid))
	}
	setUp, _, _ := podWithLocalClaim(t, "nfs", false)
	assert.EqualError(t, setUp(t.Context()), `volumes: volume "nfs": the volume that is bound to the claim is neither hostPath nor local`)
}

// TestSetUp_ManyFiles: a directory of more entries than are read at once.
func TestSetUp_ManyFiles(t *testing.T) {
	setUp, disk, gid := podWithLocalClaim(t, "data", false)
	for i := range 600 {
		require.NoError(t, os.WriteFile(filepath.Join(disk, "dir", fmt.Sprint(i)), nil, 0o600))
	}
	require.NoError(t, setUp(t.Context()))
	assert.Equal(t, 601, strings.Count(tree(t, disk, gid), " -rw-rw---- pod"))
}
