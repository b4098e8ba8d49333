package manifest_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/podmanager/source/sourcetest"
)

// TestSource_Promises: a directory, and a single file, with fsnotify.
func TestSource_Promises(t *testing.T) {
	for name, path := range map[string]func(dir string) string{
		"directory": func(dir string) string { return dir },
		"file":      func(dir string) string { return filepath.Join(dir, "pods.yaml") },
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, func(t *testing.T) sourcetest.Harness {
				dir := t.TempDir()
				s, err := manifest.New(manifest.Config{Path: path(dir), NodeName: "n1"})
				require.NoError(t, err)
				return sourcetest.Harness{
					Source: s,
					Set:    func(pods []*v1.Pod) error { return writeFileAtomically(dir, listOf(t, pods)) },
					Break:  func() error { return writeFileAtomically(dir, []byte("apiVersion: v1\nkind: [")) },
					Pause:  300 * time.Millisecond,
				}
			})
		})
	}
}

// TestSource_PromisesOfFS: a file system that is only polled.
func TestSource_PromisesOfFS(t *testing.T) {
	sourcetest.RunInBubble(t, func(t *testing.T) sourcetest.Harness {
		fsys := &lockedFS{files: fstest.MapFS{}}
		s, err := manifest.New(manifest.Config{FS: fsys, Path: ".", NodeName: "n1"})
		require.NoError(t, err)
		write := func(text []byte) error {
			fsys.write("pods.yaml", text)
			return nil
		}
		return sourcetest.Harness{
			Source: s, Timeout: time.Minute, Pause: time.Minute,
			Set:   func(pods []*v1.Pod) error { return write(listOf(t, pods)) },
			Break: func() error { return write([]byte("apiVersion: v1\nkind: [")) },
		}
	})
}

// writeFileAtomically writes a temporary file, syncs it and renames it to name. After an error it removes the
// temporary file.
func writeFileAtomically(dir string, text []byte) error {
	path := filepath.Join(dir, "pods.yaml")
	if err := os.WriteFile(path+".tmp", text, 0o600); err != nil {
		return fmt.Errorf("the test's file: %w", err)
	}
	return os.Rename(path+".tmp", path)
}

// listOf returns a manifest with all pods, as a List.
func listOf(t *testing.T, pods []*v1.Pod) []byte {
	list := v1.PodList{}
	list.APIVersion, list.Kind, list.Items = "v1", "PodList", []v1.Pod{}
	for _, pod := range pods {
		list.Items = append(list.Items, *pod)
	}
	text, err := yaml.Marshal(list)
	require.NoError(t, err)
	return text
}

// lockedFS is an fstest.MapFS that can be written while it is read.
type lockedFS struct {
	mu    sync.Mutex
	files fstest.MapFS
}

func (f *lockedFS) write(name string, text []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = fstest.MapFS{name: {Data: text}}
}

// Open implements fs.FS.
func (f *lockedFS) Open(name string) (fs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.files.Open(name)
}
