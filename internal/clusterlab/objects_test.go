package clusterlab_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	joined "github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/node"
)

// onDisk returns an edit that stores volumes on a disk.
func onDisk(root string) func(*joined.Config) {
	return func(c *joined.Config) {
		c.Volumes = func(n node.Config) (podsync.Volumes, podsync.Files, error) {
			dir, err := volumes.New(volumes.Config{Root: root, Objects: n.Volumes.Objects, Tokens: n.Volumes.Tokens})
			return dir, dir, err
		}
	}
}

// mountConfigMapAndSecret returns an edit that mounts a ConfigMap and a Secret with the same name.
func mountConfigMapAndSecret(name string) func(*v1.PodSpec) {
	return func(spec *v1.PodSpec) {
		spec.Volumes = []v1.Volume{
			{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: name}}}},
			{Name: "key", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: name}}},
		}
		spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "conf", MountPath: "/conf"}, {Name: "key", MountPath: "/key"}}
	}
}

// TestJoin_Objects: an update of a ConfigMap or a Secret reaches the files of a running pod
// within ten seconds, also when the server was killed meanwhile; a pod starts when the objects
// appear that it waits for.
func TestJoin_Objects(t *testing.T) {
	root := t.TempDir()
	j := joinCluster(t, onDisk(root))
	put := func(name, value string) {
		meta := metav1.ObjectMeta{Namespace: "default", Name: name}
		conf, key := &v1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"k": value}}, &v1.Secret{ObjectMeta: meta, Data: map[string][]byte{"k": []byte(value)}}
		if _, err := j.admin.Update(t.Context(), conf); err != nil {
			_, err = j.admin.Create(t.Context(), conf)
			require.NoError(t, err)
			_, err = j.admin.Create(t.Context(), key)
			require.NoError(t, err)
			return
		}
		_, err := j.admin.Update(t.Context(), key)
		require.NoError(t, err)
	}
	within := func(uid types.UID, value, what string) {
		t.Helper()
		began := time.Now()
		dir := filepath.Join(root, "pods", string(uid), "volumes")
		for _, volume := range []string{"conf", "key"} {
			for text := ""; text != value; {
				read, _ := os.ReadFile(filepath.Join(dir, volume, "k"))
				text = string(read)
				require.Less(t, time.Since(began), 10*time.Second, "%s: %s has %q", what, volume, text)
				<-time.After(time.Millisecond)
			}
		}
		t.Logf("%s: %v", what, time.Since(began).Round(time.Millisecond))
	}

	put("early", "1")
	began := time.Now()
	uid := j.createPod("web", mountConfigMapAndSecret("early"))
	j.waitForRunning("web")
	t.Logf("bound to Running: %v", time.Since(began).Round(time.Millisecond))
	within(uid, "1", "files of a running pod")
	put("early", "2")
	within(uid, "2", "an update")
	j.lab.KillServer()
	require.NoError(t, j.lab.StartServer(t.Context()))
	put("early", "3")
	within(uid, "3", "an update after the server was killed")

	waits := j.createPod("waits", mountConfigMapAndSecret("late"))
	waitForObjects(t, j.seen.PodFeed(), "two pods", func(have map[string]*v1.Pod) bool { return len(have) == 2 })
	put("late", "1")
	began = time.Now()
	j.waitForRunning("web", "waits")
	t.Logf("appeared to Running: %v", time.Since(began).Round(time.Millisecond))
	within(waits, "1", "files of a running pod")
	assert.Equal(t, map[types.UID]string{uid: "web/c attempt 0", waits: "waits/c attempt 0"}, j.onMachine())
}
