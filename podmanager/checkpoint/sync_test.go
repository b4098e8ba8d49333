package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// TestRemovalCount: the directory needs a sync if it has a removal from after the beginning of the last sync.
func TestRemovalCount(t *testing.T) {
	c := removalCount{removed: 1}
	assert.True(t, c.needsSync(), "an earlier process may have removed a file")
	began := c.removed
	c.removed++ // During the sync.
	c.recordSync(began)
	assert.True(t, c.needsSync())
	c.recordSync(c.removed)
	assert.False(t, c.needsSync())
	c.recordSync(began) // A slow sync that began earlier.
	assert.False(t, c.needsSync())
}

// countSyncs makes the store count its syncs of the directory. Each sync returns *err.
func countSyncs(d *Dir, err *error) *int {
	n := 0
	d.files.syncDir = func(string) error { n++; return *err }
	return &n
}

func newPod(uid types.UID) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "default", "pod-"+string(uid), uid
	return pod
}

// TestDir_Syncs: the first Drop of a process syncs the directory, because an earlier process may have removed files without
// a sync. Later, only a removal is synced, by Drop or Remove. A failed sync is repeated by the next Drop of any pod.
func TestDir_Syncs(t *testing.T) {
	d, err := New(Config{Root: t.TempDir()})
	require.NoError(t, err)
	var fault error
	syncs := countSyncs(d, &fault)
	for _, uid := range []types.UID{"a", "b", "c"} {
		require.NoError(t, d.Drop(uid))
		assert.Equal(t, 1, *syncs, "nothing was removed for %s", uid)
	}
	for _, uid := range []types.UID{"a", "b", "c"} {
		require.NoError(t, d.Save(newPod(uid), &v1.PodStatus{Phase: v1.PodFailed}))
	}
	require.NoError(t, d.Drop("a"))
	assert.Equal(t, 2, *syncs)
	require.NoError(t, d.Drop("a"))
	require.NoError(t, d.Remove(t.Context(), "b", func(types.UID) bool { return false }))
	assert.Equal(t, 2, *syncs)
	require.NoError(t, d.Remove(t.Context(), "b", alwaysTrue))
	assert.Equal(t, 3, *syncs)
	fault = errors.New("the disk is broken")
	require.ErrorIs(t, d.Drop("c"), fault)
	require.ErrorIs(t, d.Drop("other"), fault, "the file of c may come back")
	fault = nil
	require.NoError(t, d.Drop("c"))
	require.NoError(t, d.Drop("other"))
	assert.Equal(t, 6, *syncs)
}

// TestPods_UIDForName: a stored pod keeps its UID, also in a later process and if its file is damaged or has the UID of an
// older version. After Drop the name gets a new UID. Other names have other UIDs.
func TestPods_UIDForName(t *testing.T) {
	root := t.TempDir()
	var p *Pods
	reopen := func() {
		var err error
		p, err = NewPods(Config{Root: root})
		require.NoError(t, err)
	}
	uidForName := func(namespace, name string) types.UID {
		uid, err := p.UIDForName(namespace, name)
		require.NoError(t, err)
		require.NoError(t, podspec.CheckUID(uid))
		return uid
	}
	reopen()
	first := uidForName("", "web")
	assert.NotEqual(t, first, uidForName("", "web"), "it is not stored")
	require.NoError(t, p.Save(newPod(first)))
	for range 2 {
		assert.Equal(t, first, uidForName("", "web"))
		assert.Equal(t, first, uidForName("default", "web"))
		assert.NotEqual(t, first, uidForName("other", "web"))
		assert.NotEqual(t, first, uidForName("default", "we"))
		reopen()
	}
	require.NoError(t, os.Truncate(filepath.Join(root, string(first)+".json"), 20))
	reopen()
	require.Error(t, p.ReadError())
	assert.Equal(t, first, uidForName("", "web"), "damaged")
	require.NoError(t, p.Drop(first))
	second := uidForName("", "web")
	assert.NotEqual(t, first, second)
	older := podspec.UIDFromName("default", "job")
	require.NoError(t, p.Save(newPod(older)))
	reopen()
	assert.Equal(t, older, uidForName("default", "job"))
}

// TestPods_UIDForNameAfterFailedDrop: UIDForName drops the pod again, and returns no UID before it is dropped. A file that
// was removed without a successful sync may come back, so it is not dropped.
func TestPods_UIDForNameAfterFailedDrop(t *testing.T) {
	p, err := NewPods(Config{Root: t.TempDir()})
	require.NoError(t, err)
	first, err := p.UIDForName("default", "web")
	require.NoError(t, err)
	require.NoError(t, p.Save(newPod(first)))
	fault, sync := errors.New("the disk is broken"), p.files.syncDir
	p.files.syncDir = func(string) error { return fault }
	require.ErrorIs(t, p.Drop(first), fault)
	_, err = p.UIDForName("default", "web")
	require.ErrorIs(t, err, fault)
	_, err = p.UIDForName("default", "other")
	require.NoError(t, err)
	p.files.syncDir = sync
	second, err := p.UIDForName("default", "web")
	require.NoError(t, err)
	assert.NotEqual(t, first, second)
	assert.Empty(t, p.undroppedUIDs())
}

// TestPods_SaveAfterFailedDrop: a pod that was saved again after a Drop has failed is stored, and UIDForName does not drop
// the pod.
func TestPods_SaveAfterFailedDrop(t *testing.T) {
	root := t.TempDir()
	p, err := NewPods(Config{Root: root})
	require.NoError(t, err)
	uid := podspec.UIDFromName("default", "web")
	require.NoError(t, p.Save(newPod(uid)))
	fault, sync := errors.New("the disk is broken"), p.files.syncDir
	p.files.syncDir = func(string) error { return fault }
	require.ErrorIs(t, p.Drop(uid), fault)
	p.files.syncDir = sync
	require.NoError(t, p.Save(newPod(uid)))
	found, err := p.UIDForName("default", "web")
	require.NoError(t, err)
	assert.Equal(t, uid, found)
	p, err = NewPods(Config{Root: root})
	require.NoError(t, err)
	assert.Len(t, p.Load(), 1)
}
