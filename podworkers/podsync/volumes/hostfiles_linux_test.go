package volumes_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
)

// hosted is a harness whose pod mounts parts of a directory of the host.
type hosted struct {
	*harness
	host string
}

func newHosted(t *testing.T) *hosted {
	needsMounts(t)
	w := newHarness(t, empty("v"))
	h := &hosted{harness: w, host: filepath.Join(filepath.Dir(w.root), "host")}
	require.NoError(t, os.MkdirAll(filepath.Join(h.host, "sub", "deeper"), 0o755))
	for _, name := range h.files() {
		require.NoError(t, os.WriteFile(filepath.Join(h.host, name), []byte("precious"), 0o600))
	}
	w.pod.Spec.Volumes = append(w.pod.Spec.Volumes, hostPath(h.host, v1.HostPathDirectory))
	return h
}

func (h *hosted) files() (names []string) {
	for i := range 10 {
		names = append(names, fmt.Sprint(i), fmt.Sprint("sub/", i), fmt.Sprint("sub/deeper/", i))
	}
	return names
}

// intact checks that the host has all of its files, and nothing else.
func (h *hosted) intact() {
	h.t.Helper()
	left := map[string]bool{}
	err := filepath.WalkDir(h.host, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(h.host, path)
			left[name] = true
		}
		return err
	})
	require.NoError(h.t, err)
	require.Len(h.t, left, len(h.files()), "files of the host")
	for _, name := range h.files() {
		text, err := os.ReadFile(filepath.Join(h.host, name))
		require.NoError(h.t, err)
		require.Equal(h.t, "precious", string(text), name)
	}
}

// fill makes an emptyDir that takes a while to remove.
func (h *hosted) fill(n int) {
	for i := range n {
		if os.MkdirAll(h.path("volumes/v", fmt.Sprint(i%10), fmt.Sprint(i)), 0o755) != nil {
			return // It is removed meanwhile.
		}
	}
}

// begin sets the pod up as it is when a container of it is made.
func (h *hosted) begin() error {
	if err := h.dir.SetUp(context.Background(), h.pod); err != nil {
		return err
	}
	c := &v1.Container{Name: "c", VolumeMounts: []v1.VolumeMount{
		{Name: "host", MountPath: "/a", SubPath: "sub"},
		{Name: "host", MountPath: "/b", SubPath: "0"},
		{Name: "v", MountPath: "/c", SubPath: "made"},
	}}
	_, err := h.dir.Mounts(context.Background(), h.pod, c, nil)
	return err
}

// While a large directory tree is removed, a new pod with the same UID mounts directories of the host
// by subPaths.
func TestHostFiles_RemovalBesideNewIncarnation(t *testing.T) {
	h := newHosted(t)
	h.setUp()
	h.fill(2000)
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		assert.NoError(t, h.dir.TearDown(context.Background(), "u"))
	})
	for removing := true; removing; {
		select {
		case <-done:
			removing = false
		default:
		}
		_ = h.begin()
	}
	wg.Wait()
	h.intact()
	require.NoError(t, h.begin())
}

// Removals and SetUps of one UID run concurrently in random order, while another process mounts the
// directory of the host in the directories that are being removed. No file of the host changes. A
// desired pod keeps its files. In the end nothing is left.
func TestHostFiles_Property(t *testing.T) {
	h := newHosted(t)
	var (
		removers, users sync.WaitGroup
		wanted, ended   atomic.Bool
	)
	gone := func(types.UID) bool { return !wanted.Load() }
	for i := range 2 {
		rng := rand.New(rand.NewPCG(rand.Uint64(), 0))
		removers.Go(func() {
			for !ended.Load() {
				var err error
				if rng.IntN(3) == 0 {
					_, err = h.dir.Sweep(context.Background())
				} else {
					err = h.dir.Remove(context.Background(), "u", gone)
				}
				if err != nil && !errors.Is(err, osfile.ErrMount) && !errors.Is(err, syscall.EBUSY) {
					t.Errorf("remover %d: %v", i, err)
				}
			}
		})
	}
	removers.Go(func() {
		seen := map[string]bool{}
		for !ended.Load() && len(seen) < 50 {
			trees, _ := filepath.Glob(filepath.Join(h.root, "pods/.trash/*/volumes/v/*"))
			for _, at := range trees {
				if !seen[at] {
					seen[at] = true
					_ = syscall.Mount(h.host, at, "", syscall.MS_BIND, "")
				}
			}
		}
	})
	users.Go(func() {
		rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
		for i := range 15 {
			wanted.Store(true)
			assert.NoError(t, h.begin())
			mark := h.path("volumes/v/mark")
			assert.NoError(t, os.WriteFile(mark, []byte(fmt.Sprint(i)), 0o600))
			h.fill(rng.IntN(100))
			assert.NoError(t, h.begin())
			text, err := os.ReadFile(mark)
			assert.NoError(t, err)
			assert.Equal(t, fmt.Sprint(i), string(text), "of this incarnation")
			wanted.Store(false)
			if rng.IntN(2) == 0 {
				_ = h.begin() // What must not be: the pod is not desired, and it is set up.
			}
		}
	})
	users.Wait()
	ended.Store(true)
	removers.Wait()
	h.intact()
	require.NoError(t, h.dir.TearDown(context.Background(), "u"))
	left, err := h.dir.Sweep(context.Background())
	require.NoError(t, err)
	assert.Zero(t, left)
	entries, err := os.ReadDir(filepath.Join(h.root, "pods"))
	require.NoError(t, err)
	assert.Empty(t, entries)
	assert.Zero(t, mountsBelow(t, h.root))
	h.intact()
}

// A crash between the rename and the end of the removal leaves a directory. Sweep removes it with its
// mounts. It does not disturb a new pod with the same UID.
func TestSweep_AfterCrash(t *testing.T) {
	h := newHosted(t)
	require.NoError(t, h.begin())
	h.fill(10)
	pods, err := os.OpenRoot(filepath.Join(h.root, "pods"))
	require.NoError(t, err)
	defer pods.Close()
	require.NoError(t, osfile.Discard(pods, "u", "u"))
	uids, err := h.dir.Pods(func(types.UID) bool { return true }, 10)
	require.NoError(t, err)
	assert.Empty(t, uids, "the trash is no pod")
	require.NoError(t, h.begin())
	assert.NoDirExists(t, h.path("volumes/v/0"))
	left, err := h.dir.Sweep(context.Background())
	require.NoError(t, err)
	assert.Zero(t, left)
	assert.NoDirExists(t, filepath.Join(h.root, "pods/.trash"))
	assert.FileExists(t, h.path("subpaths/c/1"))
	h.intact()
}

// Sweep counts the directories that cannot be removed, and returns the same error each time.
func TestSweep_Counts(t *testing.T) {
	h := newHosted(t)
	require.NoError(t, h.begin())
	mark := h.path("volumes/v/f")
	require.NoError(t, os.WriteFile(mark, nil, 0o600))
	pods, err := os.OpenRoot(filepath.Join(h.root, "pods"))
	require.NoError(t, err)
	defer pods.Close()
	require.NoError(t, osfile.Discard(pods, "u", "u"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		left, err := h.dir.Sweep(ctx)
		assert.Equal(t, 1, left)
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, "volumes: .trash/u~")
	}
}

// The kernel does not rename a directory that is a mount point. TearDown removes it all the same.
func TestTearDown_MountedUpon(t *testing.T) {
	h := newHosted(t)
	h.setUp()
	require.NoError(t, syscall.Mount(h.host, h.path(), "", syscall.MS_BIND, ""))
	require.NoError(t, h.dir.TearDown(context.Background(), "u"))
	assert.NoDirExists(t, h.path())
	h.intact()
}
