package volumes_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
)

// SP-24: Pods returns every directory of a pod, also of an earlier agent. Links and files are not
// returned.
func TestPods_SP24(t *testing.T) {
	root := t.TempDir()
	d, err := volumes.New(volumes.Config{Root: filepath.Join(root, "agent")})
	require.NoError(t, err)
	all := func(types.UID) bool { return true }
	uids, err := d.Pods(all, 10)
	require.NoError(t, err, "there is nothing")
	assert.Empty(t, uids)
	for _, uid := range []string{"b", "a", "c"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "agent/pods", uid, "volumes"), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "agent/pods/file"), nil, 0o644))
	require.NoError(t, os.Symlink(root, filepath.Join(root, "agent/pods/link")))
	uids, err = d.Pods(all, 10)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"a", "b", "c"}, uids)
	uids, err = d.Pods(func(uid types.UID) bool { return uid != "a" && uid != "b" }, 1)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"c"}, uids, "those that are not asked for are not counted")
}
