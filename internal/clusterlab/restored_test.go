package clusterlab_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// restoreEtcd stops the control plane and starts it with the etcd data of a directory, or with empty data.
func (j *joint) restoreEtcd(data string) {
	j.Helper()
	j.lab.KillServer()
	j.lab.KillEtcd()
	now := filepath.Join(j.lab.Dir(), "etcd")
	require.NoError(j, os.RemoveAll(now))
	if data != "" {
		require.NoError(j, os.CopyFS(now, os.DirFS(data)))
	}
	require.NoError(j, j.lab.StartEtcd())
	require.NoError(j, j.lab.StartServer(j.Context()))
}

// backupEtcd stops the control plane, copies the data of etcd, and starts the control plane again.
func (j *joint) backupEtcd() (data string) {
	j.Helper()
	j.lab.KillServer()
	j.lab.KillEtcd()
	data = filepath.Join(j.TempDir(), "etcd")
	require.NoError(j, os.CopyFS(data, os.DirFS(filepath.Join(j.lab.Dir(), "etcd"))))
	require.NoError(j, j.lab.StartEtcd())
	require.NoError(j, j.lab.StartServer(j.Context()))
	return data
}

// createConfigMaps creates ConfigMaps, so that the resource version of the server grows.
func (j *joint) createConfigMaps(n int) {
	j.Helper()
	for i := range n {
		_, err := j.admin.Create(j.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("w-", time.Now().UnixNano(), "-", i)}})
		require.NoError(j, err)
	}
}

func (j *joint) deletePod(name string, grace int64) {
	j.Helper()
	require.NoError(j, j.admin.Delete(j.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, &grace))
}

// TestRestored: etcd is restored from a backup, so that all versions go back under the same
// names and UIDs. The node follows the restored state: it reports the statuses of pods and of
// the node again, and sees changes although their versions are lower than before.
func TestRestored(t *testing.T) {
	j := joinCluster(t)
	kept, removed := j.createPod("kept"), j.createPod("removed")
	j.waitForRunning("kept", "removed")
	data := j.backupEtcd()
	j.waitForRunning("kept", "removed")
	j.createConfigMaps(20)
	j.deletePod("removed", 0)
	later := j.createPod("later")
	j.kubectl("label", "node", "n1", "since=backup")
	j.kubectl("label", "pod", "kept", "since=backup")
	j.waitForRunning("kept", "later")
	j.createConfigMaps(300)
	before := j.onMachine()

	j.restoreEtcd(data)
	ready := time.Now()
	j.waitForRunning("kept", "removed")
	t.Logf("what the backup has is Running after %s", time.Since(ready).Round(time.Second))
	assert.Equal(t, before[kept], j.onMachine()[kept], "it goes on")
	waitForObjects(t, j.seen.NodeFeed(), "Ready", func(have map[string]*v1.Node) bool {
		return have["n1"] != nil && isReady(have["n1"])
	})
	j.kubectl("label", "node", "n1", "since=restored")
	fresh := j.createPod("fresh", func(s *v1.PodSpec) { s.NodeSelector = map[string]string{"since": "restored"} })
	j.waitForRunning("kept", "removed", "fresh")
	j.deletePod("kept", 5)
	j.waitForRunning("removed", "fresh")
	assert.ElementsMatch(t, []types.UID{removed, fresh}, slices.Collect(maps.Keys(j.onMachine())), "not %s", later)
	t.Logf("all is as it should be after %s", time.Since(ready).Round(time.Second))
}

// TestRestored_Nothing: etcd has lost all data, and the API server is empty. The node registers again, and runs the
// pods that are bound to it afterwards.
func TestRestored_Nothing(t *testing.T) {
	j := joinCluster(t)
	j.createPod("lost")
	j.waitForRunning("lost")
	j.createConfigMaps(100)
	j.restoreEtcd("")
	require.NoError(t, j.lab.Prepare(context.Background()))
	waitForObjects(t, j.seen.NodeFeed(), "Ready", func(have map[string]*v1.Node) bool {
		return have["n1"] != nil && isReady(have["n1"])
	})
	fresh := j.createPod("fresh")
	j.waitForRunning("fresh")
	assert.ElementsMatch(t, []types.UID{fresh}, slices.Collect(maps.Keys(j.onMachine())))
}

func isReady(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue })
}
