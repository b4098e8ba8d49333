package volumes_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/runtime"
)

// objects is a podsync.Objects with the same objects in every namespace.
type objects struct {
	maps    map[string]*v1.ConfigMap
	secrets map[string]*v1.Secret
	err     error
}

func (o *objects) ConfigMap(_ context.Context, _, name string) (*v1.ConfigMap, error) {
	if o.err != nil {
		return nil, o.err
	}
	if m := o.maps[name]; m != nil {
		return m, nil
	}
	return nil, runtime.ErrNotFound
}

func (o *objects) Secret(_ context.Context, _, name string) (*v1.Secret, error) {
	if s := o.secrets[name]; s != nil {
		return s, nil
	}
	return nil, runtime.ErrNotFound
}

// harness is a directory with one pod.
type harness struct {
	t       *testing.T
	root    string
	dir     *volumes.Dir
	objects *objects
	pod     *v1.Pod
}

func newHarness(t *testing.T, vols ...v1.Volume) *harness {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := &harness{t: t, root: filepath.Join(root, "agent"), objects: &objects{maps: map[string]*v1.ConfigMap{}, secrets: map[string]*v1.Secret{}}}
	w.dir, err = volumes.New(volumes.Config{Root: w.root, Objects: w.objects, HostsFile: filepath.Join(root, "hosts")})
	require.NoError(t, err)
	w.pod = &v1.Pod{Spec: v1.PodSpec{Volumes: vols, Containers: []v1.Container{{Name: "c"}}}}
	w.pod.Name, w.pod.Namespace, w.pod.UID = "p", "ns", "u"
	t.Cleanup(func() { assert.NoError(t, w.dir.TearDown(context.Background(), "u")) })
	return w
}

func (w *harness) path(names ...string) string {
	return filepath.Join(append([]string{w.root, "pods", "u"}, names...)...)
}

func (w *harness) setUp() {
	w.t.Helper()
	require.NoError(w.t, w.dir.SetUp(context.Background(), w.pod))
}

func (w *harness) mount(m v1.VolumeMount) (runtime.Mount, error) {
	m.MountPath = "/at"
	c := &v1.Container{Name: "c", VolumeMounts: []v1.VolumeMount{m}}
	mounts, err := w.dir.Mounts(context.Background(), w.pod, c, func(s string) (string, error) { return s, nil })
	if err != nil {
		return runtime.Mount{}, err
	}
	return mounts[0], nil
}

func (w *harness) read(names ...string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.path(names...))
	require.NoError(w.t, err)
	return string(text)
}

func empty(name string) v1.Volume { return v1.Volume{Name: name} }

func configMap(name string, change ...func(*v1.ConfigMapVolumeSource)) v1.Volume {
	s := &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: name}}
	for _, f := range change {
		f(s)
	}
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{ConfigMap: s}}
}

func hostPath(path string, kind v1.HostPathType) v1.Volume {
	return v1.Volume{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: path, Type: &kind}}}
}

func needsRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can do this")
	}
}

func TestNew_Faults(t *testing.T) {
	_, err := volumes.New(volumes.Config{Root: "x", HostsFile: "y"})
	assert.EqualError(t, err, "volumes: invalid config: Root is no absolute path: \"x\"\nHostsFile is no absolute path: \"y\"")
}

func TestEmptyDir(t *testing.T) {
	w := newHarness(t, empty("v"))
	w.setUp()
	info, err := os.Stat(w.path("volumes/v"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o777), info.Mode().Perm(), "whatever the umask")
	require.NoError(t, os.WriteFile(w.path("volumes/v/x"), nil, 0o600))
	require.NoError(t, os.Chmod(w.path("volumes/v"), 0o700))
	w.setUp()
	assert.FileExists(t, w.path("volumes/v/x"))
	info, _ = os.Stat(w.path("volumes/v"))
	assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm(), "what the pod made of it is left as it is")
	m, err := w.mount(v1.VolumeMount{Name: "v"})
	require.NoError(t, err)
	assert.Equal(t, runtime.Mount{ContainerPath: "/at", HostPath: w.path("volumes/v")}, m)
}

func TestEmptyDir_FSGroup(t *testing.T) {
	needsRoot(t)
	w := newHarness(t, empty("v"), configMap("m"))
	w.objects.maps["m"] = &v1.ConfigMap{Data: map[string]string{"a": "1"}}
	w.pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(4711))}
	w.setUp()
	info, _ := os.Stat(w.path("volumes/v"))
	assert.Equal(t, fs.ModeDir|fs.ModeSetgid|0o777, info.Mode())
	assert.Equal(t, 4711, group(info))
	info, _ = os.Stat(w.path("volumes/m/a"))
	assert.Equal(t, fs.FileMode(0o644), info.Mode())
	assert.Equal(t, 4711, group(info))
}

func TestConfigMap(t *testing.T) {
	w := newHarness(t, configMap("m"))
	w.objects.maps["m"] = &v1.ConfigMap{Data: map[string]string{"a": "1", "b": "2"}}
	w.setUp()
	assert.Equal(t, "1", w.read("volumes/m/a"))
	info, _ := os.Stat(w.path("volumes/m/a"))
	assert.Equal(t, fs.FileMode(0o644), info.Mode())
	target, _ := os.Readlink(w.path("volumes/m/a"))
	assert.Equal(t, "..data/a", target)
	first, _ := os.Readlink(w.path("volumes/m/..data"))
	w.setUp()
	again, _ := os.Readlink(w.path("volumes/m/..data"))
	assert.Equal(t, first, again, "nothing has changed")

	w.objects.maps["m"] = &v1.ConfigMap{Data: map[string]string{"a": "3", "c": "4"}}
	w.setUp()
	assert.Equal(t, "3", w.read("volumes/m/a"))
	entries, _ := os.ReadDir(w.path("volumes/m"))
	assert.Len(t, entries, 4, "..data, its version, a, c")
	assert.NoFileExists(t, w.path("volumes/m/b"))
	m, err := w.mount(v1.VolumeMount{Name: "m"})
	require.NoError(t, err)
	assert.True(t, m.ReadOnly)

	w.objects.maps["m"] = nil
	err = w.dir.SetUp(context.Background(), w.pod)
	assert.ErrorIs(t, err, runtime.ErrNotFound)
	assert.EqualError(t, err, `volumes: volume "m": there is no ConfigMap ns/m: runtime: not found`)
	assert.Equal(t, "3", w.read("volumes/m/a"), "running containers keep their files")
	w.objects.err = errors.New("disk on fire")
	assert.ErrorIs(t, w.dir.SetUp(context.Background(), w.pod), w.objects.err)
}

// A reader that opens ..data sees one complete version.
func TestConfigMap_Atomic(t *testing.T) {
	w := newHarness(t, configMap("m"))
	w.objects.maps["m"] = &v1.ConfigMap{Data: map[string]string{"a": "old", "b": "old"}}
	w.setUp()
	at, err := os.OpenRoot(w.path("volumes/m/..data"))
	require.NoError(t, err)
	defer at.Close()
	a, err := at.ReadFile("a")
	require.NoError(t, err)
	w.objects.maps["m"] = &v1.ConfigMap{Data: map[string]string{"a": "new", "b": "new"}}
	w.setUp()
	b, err := at.ReadFile("b")
	assert.Equal(t, "old", string(a))
	assert.True(t, errors.Is(err, fs.ErrNotExist) || string(b) == "old", "%s", b)
}

func TestConfigMap_Immutable(t *testing.T) {
	w := newHarness(t, configMap("m"))
	w.objects.maps["m"] = &v1.ConfigMap{Data: map[string]string{"a": "1"}}
	w.setUp()
	w.objects.maps["m"] = &v1.ConfigMap{Data: map[string]string{"a": "2"}, Immutable: new(true)}
	w.setUp()
	assert.Equal(t, "2", w.read("volumes/m/a"), "it has become so")
	w.objects.maps["m"] = &v1.ConfigMap{Data: map[string]string{"a": "3"}}
	w.setUp()
	assert.Equal(t, "2", w.read("volumes/m/a"))
}

func TestConfigMap_Items(t *testing.T) {
	w := newHarness(t, configMap("m", func(s *v1.ConfigMapVolumeSource) {
		s.Items = []v1.KeyToPath{{Key: "a", Path: "x/y/a", Mode: new(int32(0o400))}, {Key: "b", Path: "x/b"}}
		s.DefaultMode = new(int32(0o604))
	}))
	w.objects.maps["m"] = &v1.ConfigMap{Data: map[string]string{"a": "1", "b": "2", "c": "3"}}
	w.setUp()
	assert.Equal(t, "1", w.read("volumes/m/x/y/a"))
	info, _ := os.Stat(w.path("volumes/m/x/y/a"))
	assert.Equal(t, fs.FileMode(0o400), info.Mode())
	info, _ = os.Stat(w.path("volumes/m/x/b"))
	assert.Equal(t, fs.FileMode(0o604), info.Mode())
	assert.NoFileExists(t, w.path("volumes/m/c"))
}

// An agent may die at any point. The next one continues.
func TestConfigMap_HalfDone(t *testing.T) {
	w := newHarness(t, configMap("m"), empty("v"))
	w.objects.maps["m"] = &v1.ConfigMap{Data: map[string]string{"a": "1"}}
	w.setUp()
	version, _ := os.Readlink(w.path("volumes/m/..data"))
	for _, change := range []func(){
		func() { require.NoError(t, os.Remove(w.path("volumes/m/a"))) },
		func() { require.NoError(t, os.Remove(w.path("volumes/m/..data"))) },
		func() { require.NoError(t, os.Symlink("x", w.path("volumes/m/..link"))) },
		func() { require.NoError(t, os.Mkdir(w.path("volumes/m/..v-old"), 0o700)) },
		func() { require.NoError(t, os.Mkdir(w.path("staging/v"), 0o700)) },
		func() { require.NoError(t, os.RemoveAll(w.path("volumes/v"))) },
	} {
		change()
		w.setUp()
		assert.Equal(t, "1", w.read("volumes/m/a"))
		entries, err := os.ReadDir(w.path("volumes/m"))
		require.NoError(t, err)
		names := []string{}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		assert.Equal(t, []string{"..data", version, "a"}, names)
		assert.DirExists(t, w.path("volumes/v"))
	}
}

func TestProjected(t *testing.T) {
	w := newHarness(t, v1.Volume{Name: "all", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
		{Secret: &v1.SecretProjection{LocalObjectReference: v1.LocalObjectReference{Name: "s"}}},
		{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{{Path: "labels", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}}},
	}}}})
	w.objects.secrets["s"] = &v1.Secret{Data: map[string][]byte{"k": {0, 1}}, Immutable: new(true)}
	w.pod.Labels = map[string]string{"a": "1"}
	w.setUp()
	assert.Equal(t, "\x00\x01", w.read("volumes/all/k"))
	assert.Equal(t, `a="1"`, w.read("volumes/all/labels"))
	w.pod.Labels = map[string]string{"a": "2"}
	w.setUp()
	assert.Equal(t, `a="2"`, w.read("volumes/all/labels"), "labels are not immutable")
}

func TestHostPath(t *testing.T) {
	w := newHarness(t)
	at := filepath.Dir(w.root)
	file, dir := filepath.Join(at, "file"), filepath.Join(at, "dir")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Mkdir(dir, 0o700))
	for _, c := range []struct {
		path string
		kind v1.HostPathType
		want string
	}{
		{at + "/gone", "", ""},
		{dir, v1.HostPathDirectory, ""},
		{file, v1.HostPathDirectory, "no Directory: a regular file"},
		{at + "/gone", v1.HostPathDirectory, "no such file or directory"},
		{file, v1.HostPathFile, ""},
		{dir, v1.HostPathFile, "no File: a directory"},
		{at + "/new/er", v1.HostPathDirectoryOrCreate, ""},
		{file, v1.HostPathDirectoryOrCreate, "no DirectoryOrCreate: a regular file"},
		{at + "/newfile", v1.HostPathFileOrCreate, ""},
		{at + "/a/b", v1.HostPathFileOrCreate, "no such file or directory"},
		{file, v1.HostPathSocket, "no Socket: a regular file"},
		{"/dev/null", v1.HostPathCharDev, ""},
		{"/dev/null", v1.HostPathBlockDev, "no BlockDevice: a character device"},
		{file, v1.HostPathCharDev, "no CharDevice: a regular file"},
	} {
		w.pod.Spec.Volumes = []v1.Volume{hostPath(c.path, c.kind)}
		err := w.dir.SetUp(context.Background(), w.pod)
		if c.want == "" {
			assert.NoError(t, err, "%s %s", c.path, c.kind)
			continue
		}
		assert.ErrorContains(t, err, c.want, "%s %s", c.path, c.kind)
	}
	assert.DirExists(t, at+"/new/er")
	assert.FileExists(t, at+"/newfile")
}

func TestSetUp_F10_UID(t *testing.T) {
	w := newHarness(t, empty("v"))
	w.pod.UID = "../../x"
	assert.ErrorContains(t, w.dir.SetUp(context.Background(), w.pod), "invalid UID")
	assert.NoError(t, w.dir.TearDown(context.Background(), "../../x"))
	assert.NoError(t, w.dir.TearDown(context.Background(), ".."))
	_, err := w.dir.ReadTerminationLog("..", "c", 0, 1)
	assert.Error(t, err)
	_, err = w.dir.TerminationLog(w.pod, "../c", 0)
	assert.Error(t, err)
	w.pod.UID = "u"
	_, err = w.dir.TerminationLog(w.pod, "../c", 0)
	assert.Error(t, err)
}

func TestTearDown(t *testing.T) {
	w := newHarness(t, empty("v"))
	require.NoError(t, w.dir.TearDown(context.Background(), "u"), "there is nothing")
	w.setUp()
	outside := filepath.Join(filepath.Dir(w.root), "outside")
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "x"), 0o755))
	require.NoError(t, os.Symlink(outside, w.path("volumes/v/link")))
	require.NoError(t, os.MkdirAll(w.path("volumes/v/a/b/c"), 0o755))
	require.NoError(t, w.dir.TearDown(context.Background(), "u"))
	require.NoError(t, w.dir.TearDown(context.Background(), "u"), "twice")
	assert.NoDirExists(t, w.path())
	assert.DirExists(t, filepath.Join(outside, "x"), "no link is followed")
	require.NoError(t, os.Symlink(outside, w.path()))
	require.NoError(t, w.dir.TearDown(context.Background(), "u"))
	assert.DirExists(t, filepath.Join(outside, "x"))
}

func TestHosts(t *testing.T) {
	w := newHarness(t)
	path, err := w.dir.Hosts(w.pod, []string{"10.0.0.9"}, []string{"p"})
	require.NoError(t, err)
	assert.Equal(t, w.path("etc-hosts"), path)
	assert.True(t, strings.HasPrefix(w.read("etc-hosts"), "# Kubernetes-managed hosts file.\n"))
	assert.Contains(t, w.read("etc-hosts"), "\n10.0.0.9\tp\n")
	before, _ := os.Stat(path)
	_, err = w.dir.Hosts(w.pod, []string{"10.0.0.10"}, []string{"p"})
	require.NoError(t, err)
	after, _ := os.Stat(path)
	assert.True(t, os.SameFile(before, after), "who has it mounted sees the change")
	assert.NotContains(t, w.read("etc-hosts"), "10.0.0.9\t")
	assert.Equal(t, fs.FileMode(0o644), after.Mode())

	w.pod.Spec.HostNetwork = true
	_, err = w.dir.Hosts(w.pod, nil, nil)
	require.NoError(t, err, "a node without a hosts file")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(w.root), "hosts"), []byte("192.0.2.1 node\n"), 0o600))
	_, err = w.dir.Hosts(w.pod, nil, nil)
	require.NoError(t, err)
	assert.Contains(t, w.read("etc-hosts"), "\n192.0.2.1 node\n")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(w.root), "hosts"), make([]byte, 2<<20), 0o600))
	_, err = w.dir.Hosts(w.pod, nil, nil)
	assert.ErrorContains(t, err, "more than 1048576 bytes")

	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink("/etc/passwd", path))
	w.pod.Spec.HostNetwork = false
	_, err = w.dir.Hosts(w.pod, nil, nil)
	assert.EqualError(t, err, "volumes: not a regular file: a symbolic link")
}

func TestTerminationLog_KC8(t *testing.T) {
	w := newHarness(t)
	text, err := w.dir.ReadTerminationLog("u", "c", 0, 10)
	require.NoError(t, err)
	assert.Empty(t, text, "KC-9: there is none")
	path, err := w.dir.TerminationLog(w.pod, "c", 0)
	require.NoError(t, err)
	assert.Equal(t, w.path("containers/c/0"), path)
	info, _ := os.Stat(path)
	assert.Equal(t, fs.FileMode(0o666), info.Mode(), "whatever the umask")
	require.NoError(t, os.WriteFile(path, []byte("good bye"), 0))
	_, err = w.dir.TerminationLog(w.pod, "c", 0)
	require.NoError(t, err, "a reply was lost")
	for limit, want := range map[int]string{3: "bye", 8: "good bye", 100: "good bye", 0: "", -1: ""} {
		text, err := w.dir.ReadTerminationLog("u", "c", 0, limit)
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
	}
	text, err = w.dir.ReadTerminationLog("u", "c", 1, 10)
	require.NoError(t, err)
	assert.Empty(t, text)
}

// A container that crashes for years leaves ten.
func TestTerminationLog_Bounded(t *testing.T) {
	w := newHarness(t)
	for i := range uint32(30) {
		_, err := w.dir.TerminationLog(w.pod, "c", i)
		require.NoError(t, err)
	}
	entries, _ := os.ReadDir(w.path("containers/c"))
	assert.Len(t, entries, 10)
	assert.FileExists(t, w.path("containers/c/29"))
}

func TestSubPath_Files(t *testing.T) {
	w := newHarness(t, configMap("m"))
	w.objects.maps["m"] = &v1.ConfigMap{Data: map[string]string{"a": "1"}}
	w.setUp()
	m, err := w.mount(v1.VolumeMount{Name: "m", SubPath: "a"})
	require.NoError(t, err)
	info, err := os.Lstat(m.HostPath)
	require.NoError(t, err)
	assert.True(t, info.Mode().IsRegular(), "%s has no link in it", m.HostPath)
	assert.True(t, strings.HasPrefix(m.HostPath, w.path("volumes/m/..v-")))
	_, err = w.mount(v1.VolumeMount{Name: "m", SubPath: "no"})
	assert.ErrorIs(t, err, fs.ErrNotExist, "nothing is made there")
}

// SetUp of many volumes costs each the same.
func TestSetUp_ManyVolumes(t *testing.T) {
	n := longtest.Count(200, 1000)
	var vols []v1.Volume
	for i := range n {
		v := configMap("m")
		v.Name = fmt.Sprint("v", i)
		vols = append(vols, v)
	}
	w := newHarness(t, vols...)
	w.objects.maps["m"] = &v1.ConfigMap{Data: map[string]string{"a": "1"}}
	w.setUp()
	w.setUp()
	entries, _ := os.ReadDir(w.path("volumes"))
	assert.Len(t, entries, n)
}

func BenchmarkSetUp(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir, err := volumes.New(volumes.Config{Root: b.TempDir(), Objects: &objects{maps: map[string]*v1.ConfigMap{"m": {Data: map[string]string{"a": "1"}}}}})
			require.NoError(b, err)
			pod := &v1.Pod{}
			pod.UID = "u"
			for i := range n {
				v := configMap("m")
				v.Name = fmt.Sprint("v", i)
				pod.Spec.Volumes = append(pod.Spec.Volumes, v)
			}
			require.NoError(b, dir.SetUp(context.Background(), pod))
			for b.Loop() {
				if err := dir.SetUp(context.Background(), pod); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/volume")
		})
	}
}

// A manifest can name the UID of an earlier pod with another name. The new pod gets none of the files
// of the earlier one, even if no agent ran when that was deleted.
func TestSetUp_UIDUnderAnotherName(t *testing.T) {
	w := newHarness(t, empty("v"))
	w.setUp()
	require.NoError(t, os.WriteFile(w.path("volumes/v/old"), []byte("secret"), 0o600))
	w.setUp()
	assert.Equal(t, "secret", w.read("volumes/v/old"), "its own stays")

	again, err := volumes.New(volumes.Config{Root: w.root})
	require.NoError(t, err)
	other := w.pod.DeepCopy()
	other.Name = "other"
	require.NoError(t, again.SetUp(context.Background(), other))
	assert.NoFileExists(t, w.path("volumes/v/old"))
	assert.DirExists(t, w.path("volumes/v"))
	assert.Equal(t, "ns/other\n", w.read("owner"))
	entries, err := os.ReadDir(filepath.Join(w.root, "pods"))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "the former tree has been removed")

	other.Namespace = "another"
	_, err = again.TerminationLog(other, "c", 0)
	require.NoError(t, err)
	assert.NoDirExists(t, w.path("volumes"))
	left, err := again.Sweep(context.Background())
	require.NoError(t, err)
	assert.Zero(t, left)
}

// TestSetUp_F97_NotWhileContainersAreKnown: while the runtime has a container of the UID, or cannot
// list its containers, SetUp of a pod of another name fails and the existing volumes stay.
func TestSetUp_F97_NotWhileContainersAreKnown(t *testing.T) {
	w := newHarness(t, empty("v"))
	w.setUp()
	require.NoError(t, os.WriteFile(w.path("volumes/v/old"), []byte("data"), 0o600))
	again, err := volumes.New(volumes.Config{Root: w.root})
	require.NoError(t, err)
	known, failure, asked := true, error(nil), 0
	again.GuardDiscards(func(uid types.UID) (bool, error) {
		assert.Equal(t, w.pod.UID, uid)
		asked++
		return known, failure
	})
	require.NoError(t, again.SetUp(context.Background(), w.pod), "its own pod is set up")
	assert.Zero(t, asked)
	other := w.pod.DeepCopy()
	other.Name = "other"
	calls := map[string]func() error{
		"SetUp": func() error { return again.SetUp(context.Background(), other) },
		"Hosts": func() error {
			_, err := again.Hosts(other, []string{"10.0.0.1"}, []string{"other"})
			return err
		},
		"TerminationLog": func() error {
			_, err := again.TerminationLog(other, "c", 0)
			return err
		},
	}
	for name, call := range calls {
		known, failure = true, nil
		require.ErrorIs(t, call(), podsync.ErrVolumesOfAnotherPod, name)
		known, failure = false, errors.New("it is away")
		require.ErrorIs(t, call(), failure, name)
		assert.Equal(t, "data", w.read("volumes/v/old"), name)
		assert.Equal(t, "ns/p\n", w.read("owner"), name)
	}
	known, failure = false, nil
	require.NoError(t, calls["SetUp"]())
	assert.NoFileExists(t, w.path("volumes/v/old"))
	assert.Equal(t, "ns/other\n", w.read("owner"))
}

// TestOwnerOf_F97: OwnerOf returns the pod that a directory was created for, also in a later process.
func TestOwnerOf_F97(t *testing.T) {
	w := newHarness(t, empty("v"))
	w.setUp()
	again, err := volumes.New(volumes.Config{Root: w.root})
	require.NoError(t, err)
	owner, found := again.OwnerOf(w.pod.UID)
	assert.True(t, found)
	assert.Equal(t, types.NamespacedName{Namespace: "ns", Name: "p"}, owner)
	for _, uid := range []types.UID{"unknown", "../" + w.pod.UID, ""} {
		_, found = again.OwnerOf(uid)
		assert.False(t, found, uid)
	}
	for _, said := range []string{"", "no pod at all\n"} {
		require.NoError(t, os.WriteFile(w.path("owner"), []byte(said), 0o600))
		_, found = again.OwnerOf(w.pod.UID)
		assert.False(t, found, said)
	}
}

// A directory without an owner file, or with one that a power failure has emptied, is kept.
func TestSetUp_OwnerUnknown(t *testing.T) {
	w := newHarness(t, empty("v"))
	w.setUp()
	for _, change := range []func(string) error{os.Remove, func(at string) error { return os.Truncate(at, 0) }} {
		require.NoError(t, os.WriteFile(w.path("volumes/v/mine"), nil, 0o600))
		require.NoError(t, change(w.path("owner")))
		require.NoError(t, os.WriteFile(w.path(".owner"), nil, 0o600)) // It was cut short.
		w.setUp()
		assert.FileExists(t, w.path("volumes/v/mine"))
		assert.Equal(t, "ns/p\n", w.read("owner"))
	}
}

// An owner file that has no name of a pod is damaged. The data of the pod stay, and the error names the
// file until it is repaired.
func TestSetUp_OwnerDamaged(t *testing.T) {
	w := newHarness(t, empty("v"))
	w.setUp()
	require.NoError(t, os.WriteFile(w.path("volumes/v/mine"), nil, 0o600))
	for _, text := range []string{"ns\x6ep\n", "n\x33/\x10\n", "ns/p\n" + strings.Repeat("\x00", 2000), "ns/P\n", "\n", "/\n"} {
		require.NoError(t, os.WriteFile(w.path("owner"), []byte(text), 0o600))
		err := w.dir.SetUp(t.Context(), w.pod)
		require.ErrorContains(t, err, "/u/owner: it is damaged: expected the namespace and the name of a pod", text)
		assert.FileExists(t, w.path("volumes/v/mine"), text)
	}
	require.NoError(t, os.Remove(w.path("owner")))
	w.setUp()
	assert.FileExists(t, w.path("volumes/v/mine"))
}

// TestMounts_MissingDirectories: after a SetUp that has failed because of an object, Mounts returns no path that is gone.
// The runtime would create an empty directory there.
func TestMounts_MissingDirectories(t *testing.T) {
	host := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.Mkdir(host, 0o755))
	w := newHarness(t, empty("v"), configMap("conf"), hostPath(host, v1.HostPathDirectory))
	w.objects.maps["conf"] = &v1.ConfigMap{Data: map[string]string{"k": "1"}}
	w.setUp()
	w.objects.err = errors.New("no server")
	err := w.dir.SetUp(t.Context(), w.pod)
	require.ErrorIs(t, err, w.objects.err)
	assert.True(t, volume.IsOnlyNotUpdated(err))
	w.objects.err = nil
	delete(w.objects.maps, "conf")
	assert.True(t, volume.IsOnlyNotUpdated(w.dir.SetUp(t.Context(), w.pod)))
	for _, name := range []string{"v", "conf", "host"} {
		_, err := w.mount(v1.VolumeMount{Name: name})
		require.NoError(t, err, name)
	}
	require.NoError(t, os.Remove(host))
	require.NoError(t, os.RemoveAll(w.path("volumes")))
	assert.False(t, volume.IsOnlyNotUpdated(w.dir.SetUp(t.Context(), w.pod)), "the directory of the host is gone")
	require.NoError(t, os.RemoveAll(w.path("volumes")))
	for _, name := range []string{"v", "conf", "host"} {
		_, err := w.mount(v1.VolumeMount{Name: name})
		require.ErrorIs(t, err, fs.ErrNotExist, name)
	}
}
