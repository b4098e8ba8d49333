package node_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// disk is a directory for logs and one for volumes.
type disk struct {
	t   *testing.T
	top string
}

func (d disk) nodeConfig(machine *memory.Runtime) node.Config {
	dir, err := volumes.New(volumes.Config{Root: filepath.Join(d.top, "agent")})
	require.NoError(d.t, err)
	return node.Config{Runtime: machine, Volumes: node.VolumesConfig{Manager: dir}, Logs: node.LogsConfig{Root: filepath.Join(d.top, "logs")}}
}

// writeLog writes a log file, as a runtime on a disk would.
func (d disk) writeLog(pod, file string) {
	path := filepath.Join(d.top, "logs", "default_"+pod+"_"+pod, "c", file)
	require.NoError(d.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(d.t, os.WriteFile(path, nil, 0o644))
}

// listNames returns the names in a directory, which are the names of pods.
func (d disk) listNames(below string) (names []string) {
	entries, err := os.ReadDir(filepath.Join(d.top, below))
	require.NoError(d.t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func withVolume(pod *v1.Pod) *v1.Pod {
	pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/v"}}
	return pod
}

// HC-2, SP-24, GC-8: directories of pods of an earlier agent are removed when every source has
// delivered. Directories of desired pods stay, and are removed with their pods. KC-2: on a replaced
// machine the restart count does not begin at zero.
func TestNode_HC2_DirectoriesOfFormerAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disk{t, t.TempDir()}
		first := runConfig(t, d.nodeConfig(memory.New(memory.Config{})))
		require.NoError(t, first.Apply(withVolume(newPod("keep", "serve"))))
		require.NoError(t, first.Apply(withVolume(newPod("gone", "serve"))))
		time.Sleep(time.Minute)
		d.writeLog("keep", "0.log")
		d.writeLog("keep", "3.log")
		d.writeLog("gone", "0.log")
		d.writeLog("older", "0.log")
		require.NoError(t, first.stopNode())
		assert.Equal(t, []string{"gone", "keep"}, d.listNames("agent/pods"))

		machine := memory.New(memory.Config{})
		config := d.nodeConfig(machine)
		config.Pods.AwaitHost = true
		var log strings.Builder
		config.Log = slog.New(slog.NewTextHandler(&log, nil))
		second := runConfig(t, config)
		require.NoError(t, second.Apply(withVolume(newPod("keep", "serve"))))
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"gone", "keep"}, d.listNames("agent/pods"), "it has not been told everything yet")
		second.SetComplete()
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"keep"}, d.listNames("agent/pods"))
		assert.Equal(t, []string{"default_keep_keep"}, d.listNames("logs"))
		assert.Equal(t, uint32(4), machine.SnapshotPod("keep").Containers[0].Attempt)

		second.Delete("keep")
		time.Sleep(2 * time.Minute)
		assert.Empty(t, d.listNames("agent/pods"))
		assert.Empty(t, d.listNames("logs"))
		require.NoError(t, second.stopNode())
		assert.Contains(t, log.String(), `msg="removed the volumes of a pod that is gone" uid=gone`)
		assert.Equal(t, 1, strings.Count(log.String(), "removed the volumes"), "the others have ended here")
	})
}

// GC-9, KC-17: of a container that crashes the logs go that have no record.
func TestNode_GC9_LogsOfAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disk{t, t.TempDir()}
		machine := memory.New(memory.Config{})
		n := runConfig(t, d.nodeConfig(machine))
		for _, file := range []string{"0.log", "0.log.20260101-000000.gz", "1.log", "2.log"} {
			d.writeLog("a", file)
		}
		require.NoError(t, n.Apply(newPod("a", "sh", "-c", "sleep 1; exit 1")))
		time.Sleep(time.Second / 2)
		assert.Equal(t, uint32(3), machine.SnapshotPod("a").Containers[0].Attempt, "the first that we have seen is not the first")
		assert.Equal(t, []string{"0.log", "0.log.20260101-000000.gz", "1.log", "2.log"}, d.listNames("logs/default_a_a/c"))
		d.writeLog("a", "3.log")
		d.writeLog("a", "4.log")
		time.Sleep(8 * time.Second)
		require.Len(t, machine.SnapshotPod("a").Containers, 1)
		assert.Equal(t, uint32(4), machine.SnapshotPod("a").Containers[0].Attempt)
		assert.Equal(t, []string{"4.log"}, d.listNames("logs/default_a_a/c"))
		require.NoError(t, n.stopNode())
	})
}

// GC-8: in a directory for logs that others use too, the node removes the directories that it
// has recorded and no others, whatever their names are. The logs of its earlier root go with their pods.
func TestNode_GC8_SharedLogRoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disk{t, t.TempDir()}
		d.writeLog("web", "0.log") // Of a kubelet that ran a pod of this UID.
		d.writeLog("theirs", "0.log")
		config := d.nodeConfig(memory.New(memory.Config{}))
		config.Logs.Records = filepath.Join(d.top, "agent", "logs.made")
		config.Logs.OldRoots = []string{filepath.Join(d.top, "agent", "logs")}
		require.NoError(t, os.MkdirAll(filepath.Join(d.top, "agent/logs/default_earlier_u0/c"), 0o755))
		n := runConfig(t, config)
		require.NoError(t, n.Apply(newPod("web", "serve")))
		require.NoError(t, n.Apply(newPod("db", "serve")))
		time.Sleep(time.Hour)
		names := d.listNames("logs")
		require.Len(t, names, 4)
		assert.Regexp(t, `^default_web_web\.[a-z0-9]{8}$`, names[3])
		assert.Equal(t, []string{"default_db_db", "default_theirs_theirs", "default_web_web"}, names[:3])
		assert.Empty(t, d.listNames("agent/logs"))
		n.Delete("web")
		n.Delete("db")
		time.Sleep(time.Hour)
		assert.Equal(t, []string{"default_theirs_theirs", "default_web_web"}, d.listNames("logs"))
		assert.Empty(t, d.listNames("agent/logs.made"))
		require.NoError(t, n.stopNode())
	})
}
