package checkpoint_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
)

// TestPods: the next agent gets the last saved pods in the order of their creation. A damaged file
// is reported, stays in place, and affects only its own pod.
func TestPods(t *testing.T) {
	root := t.TempDir()
	first, err := checkpoint.NewPods(checkpoint.Config{Root: root})
	require.NoError(t, err)
	kept := func(uid, image string, at int64) *v1.Pod {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod-" + uid, UID: types.UID(uid), CreationTimestamp: metav1.NewTime(time.Unix(at, 0))}}
		pod.Spec.Containers = []v1.Container{{Name: "c", Image: image}}
		return pod
	}
	for _, pod := range []*v1.Pod{kept("a", "x:1", 30), kept("b", "x:1", 10), kept("c", "x:1", 20), kept("d", "x:1", 5), kept("a", "x:2", 30)} {
		require.NoError(t, first.Save(pod))
	}
	require.NoError(t, first.Drop("b"))
	require.NoError(t, first.Drop("none"))
	require.ErrorContains(t, first.Save(kept("e", strings.Repeat("x", checkpoint.MaxSize), 1)), "it has more than 262144 bytes")
	damaged := filepath.Join(root, "c.json")
	require.NoError(t, os.WriteFile(damaged, []byte(`{"version":1,"uid":"c"`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "d.json"), []byte(`{"version":1,"uid":"d","namespace":"default","name":"pod-d"}`), 0o600))

	var log bytes.Buffer
	second, err := checkpoint.NewPods(checkpoint.Config{Root: root, Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	pods := second.Load()
	require.Len(t, pods, 1)
	assert.Equal(t, "a x:2", string(pods[0].UID)+" "+pods[0].Spec.Containers[0].Image)
	assert.Empty(t, second.Load(), "once")
	assert.Contains(t, log.String(), damaged)
	require.ErrorContains(t, second.ReadError(), damaged+": unexpected end of JSON input")
	require.NoError(t, first.ReadError())
	assert.FileExists(t, damaged)
	_, err = checkpoint.NewPods(checkpoint.Config{Root: "relative"})
	require.Error(t, err)
}

// TestPods_Changed: a file with a changed byte is a damaged file, and not another pod. A file
// without a checksum, written by an older version, is valid.
func TestPods_Changed(t *testing.T) {
	root := t.TempDir()
	first, err := checkpoint.NewPods(checkpoint.Config{Root: root})
	require.NoError(t, err)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"}}
	pod.Annotations = map[string]string{"a": "b", "sum": "2"} // This is not the checksum of the file.
	pod.Spec.Containers = []v1.Container{{Name: "c", Image: "x:1"}}
	require.NoError(t, first.Save(pod))
	file := filepath.Join(root, "u.json")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	reopened := func(text string) *checkpoint.Pods {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		next, err := checkpoint.NewPods(checkpoint.Config{Root: root})
		require.NoError(t, err)
		return next
	}
	changed := strings.Replace(string(text), "x:1", "x:3", 1)
	next := reopened(changed)
	assert.Empty(t, next.Load())
	require.ErrorContains(t, next.ReadError(), file+": it has changed since it was written; if you have edited it, remove its field sum")

	before := changed[:strings.LastIndex(changed, `,"sum":`)]
	next = reopened(before + "}\n")
	require.NoError(t, next.ReadError())
	assert.Len(t, next.Load(), 1)
}

// A damaged file of a created pod stays in place. Each start finds it, so no start takes the list
// of pods as complete and removes volumes.
func TestPods_DamagedStaysUnread(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "uid-web.json"), []byte("{"), 0o600))
	for range 2 {
		p, err := checkpoint.NewPods(checkpoint.Config{Root: root})
		require.NoError(t, err)
		assert.ErrorContains(t, p.ReadError(), "uid-web.json")
		assert.Equal(t, []string{"uid-web.json"}, fileNames(t, root))
	}
}
