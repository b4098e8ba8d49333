package volumes_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
)

// needsMounts skips where nothing can be mounted.
func needsMounts(t *testing.T) {
	needsRoot(t)
	at := t.TempDir()
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, ""); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	require.NoError(t, syscall.Unmount(at, 0))
}

func mountsBelow(t *testing.T, at string) int {
	text, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(strings.Fields(line)[4], at+"/") {
			n++
		}
	}
	return n
}

func TestMemory(t *testing.T) {
	needsMounts(t)
	limit := resource.MustParse("1Mi")
	w := newHarness(t, v1.Volume{Name: "m", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory, SizeLimit: &limit}}})
	w.pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(4711))}
	w.setUp()
	var stat syscall.Statfs_t
	require.NoError(t, syscall.Statfs(w.path("volumes/m"), &stat))
	assert.EqualValues(t, 0x01021994, stat.Type, "tmpfs")
	assert.EqualValues(t, 1<<20, stat.Blocks*uint64(stat.Bsize))
	info, _ := os.Stat(w.path("volumes/m"))
	assert.Equal(t, os.ModeDir|os.ModeSetgid|os.ModeSticky|0o777, info.Mode())
	assert.Equal(t, 4711, group(info))
	_, err := w.mount(v1.VolumeMount{Name: "m", SubPath: "a/b"})
	require.NoError(t, err)
	for _, made := range []string{"volumes/m/a", "volumes/m/a/b"} {
		info, err := os.Stat(w.path(made))
		require.NoError(t, err)
		assert.Equal(t, os.ModeDir|os.ModeSetgid|os.ModeSticky|0o777, info.Mode(), made)
		assert.Equal(t, 4711, group(info), made)
	}
	require.NoError(t, os.WriteFile(w.path("volumes/m/x"), []byte("x"), 0o600))
	w.setUp()
	assert.Equal(t, 2, mountsBelow(t, w.path()), "the tmpfs and the subPath, mounted once")
	assert.Equal(t, "x", w.read("volumes/m/x"))
	require.NoError(t, w.dir.TearDown(context.Background(), "u"))
	assert.Equal(t, 0, mountsBelow(t, w.path()))
	assert.NoDirExists(t, w.path())
}

// A tmpfs without a group has the sticky bit too, and the directory of an emptyDir on disk does not have it.
func TestMemory_StickyBit(t *testing.T) {
	needsMounts(t)
	memory := v1.Volume{Name: "m", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}}
	w := newHarness(t, memory, empty("disk"))
	w.setUp()
	for name, want := range map[string]os.FileMode{"m": os.ModeDir | os.ModeSticky | 0o777, "disk": os.ModeDir | 0o777} {
		info, err := os.Stat(w.path("volumes/" + name))
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode(), name)
	}
	require.NoError(t, w.dir.TearDown(context.Background(), "u"))
}

// The mount of a subPath stays the file or directory that it led to first, even if a container replaces
// it.
func TestSubPath_F28_Pinned(t *testing.T) {
	needsMounts(t)
	w := newHarness(t, empty("v"))
	w.setUp()
	m, err := w.mount(v1.VolumeMount{Name: "v", SubPath: "a/b"})
	require.NoError(t, err)
	assert.Equal(t, w.path("subpaths/c/0"), m.HostPath)
	info, err := os.Stat(w.path("volumes/v/a/b"))
	require.NoError(t, err, "missing directories are created")
	assert.Equal(t, os.ModeDir|0o777, info.Mode(), "with the mode of the volume")

	require.NoError(t, os.Rename(w.path("volumes/v/a/b"), w.path("volumes/v/moved")))
	require.NoError(t, os.Symlink("/etc", w.path("volumes/v/a/b")))
	require.NoError(t, os.WriteFile(filepath.Join(m.HostPath, "x"), []byte("x"), 0o600))
	assert.Equal(t, "x", w.read("volumes/v/moved/x"))

	_, err = w.mount(v1.VolumeMount{Name: "v", SubPath: "a/b"})
	assert.ErrorContains(t, err, "leads out of the volume")
	require.NoError(t, os.Remove(w.path("volumes/v/a/b")))
	require.NoError(t, os.WriteFile(w.path("volumes/v/a/b"), []byte("file"), 0o600))
	m, err = w.mount(v1.VolumeMount{Name: "v", SubPath: "a/b"})
	require.NoError(t, err, "a directory before, a file now")
	assert.Equal(t, "file", w.read("subpaths/c/0"))
	assert.Equal(t, 1, mountsBelow(t, w.path()))
	require.NoError(t, w.dir.TearDown(context.Background(), "u"))
	assert.NoDirExists(t, w.path())
}

func TestSubPath_F28_Links(t *testing.T) {
	needsMounts(t)
	w := newHarness(t, empty("v"), empty("other"))
	w.setUp()
	require.NoError(t, os.WriteFile(w.path("volumes/v/real"), []byte("real"), 0o600))
	require.NoError(t, os.Mkdir(w.path("volumes/v/d"), 0o777))
	for name, target := range map[string]string{
		"in": "real", "d/up": "../real", "chain": "in", "loop": "loop", "abs": "/etc/passwd", "d/out": "../../other", "dir": "d", "outdir": "../other",
		"fine/../../..": "",
	} {
		if target != "" {
			require.NoError(t, os.Symlink(target, w.path("volumes/v", name)))
		}
	}
	for _, sub := range []string{"in", "d/up", "chain", "dir/up"} {
		m, err := w.mount(v1.VolumeMount{Name: "v", SubPath: sub})
		require.NoError(t, err, sub)
		text, err := os.ReadFile(m.HostPath)
		require.NoError(t, err, sub)
		assert.Equal(t, "real", string(text), sub)
	}
	for _, sub := range []string{"loop", "abs", "d/out", "outdir/x", "abs/x", "real/x"} {
		_, err := w.mount(v1.VolumeMount{Name: "v", SubPath: sub})
		assert.Error(t, err, sub)
	}
	entries, _ := os.ReadDir(w.path("volumes/other"))
	assert.Empty(t, entries, "nothing was made there")
}

// A FIFO is mounted without being opened, so the call does not wait for its other end.
func TestSubPath_FIFO(t *testing.T) {
	needsMounts(t)
	w := newHarness(t, empty("v"))
	w.setUp()
	require.NoError(t, syscall.Mkfifo(w.path("volumes/v/f"), 0o666))
	m, err := w.mount(v1.VolumeMount{Name: "v", SubPath: "f"})
	require.NoError(t, err)
	info, _ := os.Stat(m.HostPath)
	assert.Equal(t, os.ModeNamedPipe, info.Mode().Type())
}

// TearDown removes a pin, never what it leads to.
func TestTearDown_HostPathPinned(t *testing.T) {
	needsMounts(t)
	w := newHarness(t)
	at := filepath.Join(filepath.Dir(w.root), "data")
	require.NoError(t, os.MkdirAll(filepath.Join(at, "sub/mnt"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(at, "sub/precious"), nil, 0o600))
	require.NoError(t, syscall.Mount("tmpfs", filepath.Join(at, "sub/mnt"), "tmpfs", 0, ""))
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(filepath.Join(at, "sub/mnt"), 0), "it is still mounted") })
	w.pod.Spec.Volumes = []v1.Volume{hostPath(at, v1.HostPathDirectory)}
	w.setUp()
	m, err := w.mount(v1.VolumeMount{Name: "host", SubPath: "sub"})
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(m.HostPath, "precious"))
	// A mount upon it, with a name that the kernel writes in octal.
	require.NoError(t, os.Mkdir(w.path("a b"), 0o755))
	require.NoError(t, syscall.Mount("tmpfs", w.path("a b"), "tmpfs", 0, ""))
	require.NoError(t, w.dir.TearDown(context.Background(), "u"))
	assert.NoDirExists(t, w.path())
	assert.FileExists(t, filepath.Join(at, "sub/precious"))
}

// secretsInMemory has a later agent on the same directory keep secrets in memory.
func (w *harness) secretsInMemory() {
	var err error
	w.dir, err = volumes.New(volumes.Config{Root: w.root, Objects: w.objects, SecretsInMemory: true})
	require.NoError(w.t, err)
}

func secretOf(text string) *v1.Secret {
	return &v1.Secret{Data: map[string][]byte{"key": []byte(text)}}
}

// isMemory reports whether a path is of a file system in memory.
func isMemory(t *testing.T, path string) bool {
	var stat syscall.Statfs_t
	require.NoError(t, syscall.Statfs(path, &stat))
	return stat.Type == 0x01021994
}

// VC-15: files that may be secret are in memory, and files of a ConfigMap are not. They follow changes
// of their objects, and TearDown removes them.
func TestSecretsInMemory_VC15(t *testing.T) {
	needsMounts(t)
	fields := []v1.DownwardAPIVolumeFile{{Path: "name", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}}
	w := newHarness(t,
		v1.Volume{Name: "s", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "s"}}},
		v1.Volume{Name: "d", VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{Items: fields}}},
		v1.Volume{Name: "p", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{{DownwardAPI: &v1.DownwardAPIProjection{Items: fields}}}}}},
		configMap("c"))
	w.objects.maps["c"], w.objects.secrets["s"] = &v1.ConfigMap{}, secretOf("secret")
	w.secretsInMemory()
	w.setUp()
	for name, want := range map[string]bool{"s": true, "d": true, "p": true, "c": false} {
		assert.Equal(t, want || isMemory(t, w.path()), isMemory(t, w.path("volumes", name)), name)
	}
	assert.Equal(t, "secret", w.read("volumes/s/key"))
	w.objects.secrets["s"] = secretOf("other")
	w.setUp()
	assert.Equal(t, "other", w.read("volumes/s/key"))
	assert.Equal(t, 3, mountsBelow(t, w.path()), "each is mounted once")
	require.NoError(t, w.dir.TearDown(context.Background(), "u"))
	assert.Equal(t, 0, mountsBelow(t, w.path()))
	assert.NoDirExists(t, w.path())
}

// Files that containers have mounted stay on disk. After a crash during the first SetUp, or a restart
// of the machine, the files are written again in memory.
func TestSecretsInMemory_VC15_FilesThatAreThere(t *testing.T) {
	needsMounts(t)
	w := newHarness(t, v1.Volume{Name: "s", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "s"}}})
	w.objects.secrets["s"] = secretOf("secret")
	w.setUp()
	w.secretsInMemory()
	w.setUp()
	assert.Equal(t, 0, mountsBelow(t, w.path()))
	require.NoError(t, w.dir.TearDown(context.Background(), "u"))
	w.setUp()
	assert.Equal(t, 1, mountsBelow(t, w.path()))
	require.NoError(t, syscall.Unmount(w.path("volumes/s"), syscall.MNT_DETACH))
	w.setUp()
	assert.True(t, isMemory(t, w.path("volumes/s")))
	assert.Equal(t, "secret", w.read("volumes/s/key"))
	require.NoError(t, w.dir.TearDown(context.Background(), "u"))
}

// A volume in huge pages is a file system of its own, with pages of the size that the pod requests, once.
func TestHugePages(t *testing.T) {
	needsMounts(t)
	size := "hugepages-2Mi"
	w := newHarness(t, v1.Volume{Name: "h", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumHugePages}}})
	w.pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(4711))}
	err := w.dir.SetUp(context.Background(), w.pod)
	require.EqualError(t, err, `volumes: volume "h": the pod requests no huge pages, which the medium HugePages needs`)
	w.pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceName(size): resource.MustParse("4Mi")}
	if err := w.dir.SetUp(context.Background(), w.pod); errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.EPERM) {
		t.Skip("this machine has no such pages: ", err)
	}
	w.setUp()
	var stat syscall.Statfs_t
	require.NoError(t, syscall.Statfs(w.path("volumes/h"), &stat))
	assert.Equal(t, uint32(0x958458f6), uint32(stat.Type), "hugetlbfs")
	assert.EqualValues(t, 2<<20, stat.Bsize)
	info, _ := os.Stat(w.path("volumes/h"))
	assert.Equal(t, os.ModeDir|os.ModeSetgid|0o777, info.Mode())
	assert.Equal(t, 4711, group(info))
	assert.Equal(t, 1, mountsBelow(t, w.path()), "mounted once")
	require.NoError(t, w.dir.TearDown(context.Background(), "u"))
	assert.Equal(t, 0, mountsBelow(t, w.path()))
	assert.NoDirExists(t, w.path())
}
