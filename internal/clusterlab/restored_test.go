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

// restore stops the control plane and starts it with the etcd data of a directory, or with empty data.
func (j *joint) restore(data string) {
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

// backup copies the data of etcd, which is restarted for it.
func (j *joint) backup() (data string) {
	j.Helper()
	j.lab.KillServer()
	j.lab.KillEtcd()
	data = filepath.Join(j.TempDir(), "etcd")
	require.NoError(j, os.CopyFS(data, os.DirFS(filepath.Join(j.lab.Dir(), "etcd"))))
	require.NoError(j, j.lab.StartEtcd())
	require.NoError(j, j.lab.StartServer(j.Context()))
	return data
}

// writes has the versions of the server grow.
func (j *joint) writes(n int) {
	j.Helper()
	for i := range n {
		_, err := j.admin.Create(j.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("w-", time.Now().UnixNano(), "-", i)}})
		require.NoError(j, err)
	}
}

func (j *joint) remove(name string, grace int64) {
	j.Helper()
	require.NoError(j, j.admin.Delete(j.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, &grace))
}

// TestRestored: etcd is restored from a backup, so that all versions go back under the same
// names and UIDs. The node follows the restored state: it reports the statuses of pods and of
// the node again, and sees changes although their versions are lower than before.
func TestRestored(t *testing.T) {
	j := join(t)
	kept, removed := j.bind("kept"), j.bind("removed")
	j.running("kept", "removed")
	data := j.backup()
	j.running("kept", "removed")
	j.writes(20)
	j.remove("removed", 0)
	later := j.bind("later")
	j.kubectl("label", "node", "n1", "since=backup")
	j.kubectl("label", "pod", "kept", "since=backup")
	j.running("kept", "later")
	j.writes(300)
	before := j.onMachine()

	j.restore(data)
	ready := time.Now()
	j.running("kept", "removed")
	t.Logf("what the backup has is Running after %s", time.Since(ready).Round(time.Second))
	assert.Equal(t, before[kept], j.onMachine()[kept], "it goes on")
	until(t, j.seen.NodeFeed(), "Ready", func(have map[string]*v1.Node) bool {
		return have["n1"] != nil && isReady(have["n1"])
	})
	j.kubectl("label", "node", "n1", "since=restored")
	fresh := j.bind("fresh", func(s *v1.PodSpec) { s.NodeSelector = map[string]string{"since": "restored"} })
	j.running("kept", "removed", "fresh")
	j.remove("kept", 5)
	j.running("removed", "fresh")
	assert.ElementsMatch(t, []types.UID{removed, fresh}, slices.Collect(maps.Keys(j.onMachine())), "not %s", later)
	t.Logf("all is as it should be after %s", time.Since(ready).Round(time.Second))
}

// TestRestored_Nothing: etcd has lost all data, and the API server is empty. The node registers again, and runs the
// pods that are bound to it afterwards.
func TestRestored_Nothing(t *testing.T) {
	j := join(t)
	j.bind("lost")
	j.running("lost")
	j.writes(100)
	j.restore("")
	require.NoError(t, j.lab.Prepare(context.Background()))
	until(t, j.seen.NodeFeed(), "Ready", func(have map[string]*v1.Node) bool {
		return have["n1"] != nil && isReady(have["n1"])
	})
	fresh := j.bind("fresh")
	j.running("fresh")
	assert.ElementsMatch(t, []types.UID{fresh}, slices.Collect(maps.Keys(j.onMachine())))
}

func isReady(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue })
}
