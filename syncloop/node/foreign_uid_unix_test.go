//go:build unix

package node_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// copyWithName returns a copy of a pod with another name and the same UID.
func copyWithName(pod *v1.Pod, name string) *v1.Pod {
	copied := pod.DeepCopy()
	copied.Name = name
	return copied
}

const dbPod = `
metadata: {name: db}
spec:
  terminationGracePeriodSeconds: 1
  hostAliases: [{ip: 10.1.2.3, hostnames: [db]}]
  volumes: [{name: data, emptyDir: {}}]
  containers: [{name: c, image: "i:1", command: [serve], volumeMounts: [{name: data, mountPath: /data}]}]
`

const dbFault = `pod default/db-node: the UID belongs to another pod: pod default/db-node of source file has the UID "db" of pod default/db`

// TestNode_F97_AManifestWithTheUIDOfARunningPod: the running pod keeps its volumes, its name and
// its container, also over a restart in which the source of the manifest is first.
func TestNode_F97_AManifestWithTheUIDOfARunningPod(t *testing.T) {
	h := newHost(t)
	synctest.Test(t, func(t *testing.T) {
		h.t = t
		file := source.NewHandle()
		h.config = func(c *node.Config) { c.Pods.Sources = map[string]source.Source{"file": file} }
		h.bootMachine()
		db := h.applyManifest(dbPod)
		h.writeFile("mine", "agent/pods/db/volumes/data/file")
		require.NoError(t, file.Apply(copyWithName(db, "db-node")))
		h.passTime(2 * time.Minute)
		whole := func(what string) {
			t.Helper()
			assert.Equal(t, "mine", h.readAsContainer("db/c", "/data", "file"), what)
			assert.Zero(t, h.containerStatus("db").RestartCount, what)
			assert.Equal(t, []string{"db/c"}, runningContainers(h.machine), what)
			assert.Len(t, h.Pods(), 1, what)
			assert.Equal(t, dbFault+" of source api, and is not run until that pod is removed", h.Sources().Faults()[0].First[0].String(), what)
		}
		whole("while it runs")
		assert.Equal(t, []string{`db-node FailedValidation: Error validating pod default/db-node from file, ignoring: the UID belongs to another pod: pod default/db-node of source file has the UID "db" of pod default/db of source api, and is not run until that pod is removed`}, h.takeWarnings())

		require.NoError(t, h.stopNode())
		file = source.NewHandle()
		require.NoError(t, file.Apply(copyWithName(db, "db-node")))
		h.config = func(c *node.Config) {
			c.Pods.Sources, c.Pods.AwaitHost = map[string]source.Source{"file": file}, true
		}
		h.startAgent()
		h.passTime(time.Minute)
		assert.Equal(t, []string{"db/c"}, runningContainers(h.machine))
		assert.Equal(t, dbFault+", which this node has records or volumes of, and is not run until every source has delivered its pods", h.Sources().Faults()[0].First[0].String())
		require.NoError(t, h.Apply(db))
		h.SetComplete()
		h.passTime(time.Minute)
		whole("after a restart")

		h.Delete("db")
		h.passTime(time.Minute)
		assert.Equal(t, []string{"db-node/c"}, runningContainers(h.machine), "now the UID is free")
		assert.NoFileExists(t, h.hostPathOf("db-node/c", "/data", "file"), "with volumes of its own")
		assert.Empty(t, h.Sources().Faults())
	})
}

// TestNode_F97_ARuntimeThatWasReset: when the runtime has lost all of its records, the volumes record the owner of a
// UID. A pod of another source under that UID gets none of the volumes, even if its source delivers first and the
// owner's source is late.
func TestNode_F97_ARuntimeThatWasReset(t *testing.T) {
	for _, late := range []bool{false, true} {
		h := newHost(t)
		synctest.Test(t, func(t *testing.T) {
			h.t = t
			web := source.NewHandle()
			h.config = func(c *node.Config) { c.Pods.Sources = map[string]source.Source{"http": web} }
			h.bootMachine()
			db := h.decodePod(dbPod)
			require.NoError(t, web.Apply(db))
			h.passTime(time.Minute)
			h.writeFile("mine", "agent/pods/db/volumes/data/file")

			require.NoError(t, h.stopNode())
			h.machine = memory.New(memory.Config{Hooks: memory.Hooks{Call: h.recordCreate}})
			file := source.NewHandle()
			web = source.NewHandleWith(source.HandleConfig{Incomplete: late})
			require.NoError(t, file.Apply(copyWithName(db, "db-node")))
			if !late {
				require.NoError(t, web.Apply(db))
			}
			h.config = func(c *node.Config) { c.Pods.Sources = map[string]source.Source{"file": file, "http": web} }
			h.startAgent()
			h.passTime(time.Minute)
			if late {
				assert.Empty(t, runningContainers(h.machine))
				assert.Equal(t, dbFault+", which this node has records or volumes of, and is not run until every source has delivered its pods", h.Sources().Faults()[0].First[0].String())
				require.NoError(t, web.Apply(db))
				web.SetComplete()
				h.passTime(time.Minute)
			}
			assert.Equal(t, []string{"db/c"}, runningContainers(h.machine))
			assert.Equal(t, "mine", h.readAsContainer("db/c", "/data", "file"))
			assert.Equal(t, dbFault+" of source http, and is not run until that pod is removed", h.Sources().Faults()[0].First[0].String())
		})
	}
}

// TestNode_F97_RenamedWhileNoAgentRan: the volumes of the former pod stay until its container has
// been stopped and its records are removed. Then the pod of the new name runs, with volumes of its
// own. It does not matter whether the container ran or had ended.
func TestNode_F97_RenamedWhileNoAgentRan(t *testing.T) {
	for _, volume := range []string{"volumes: [{name: data, emptyDir: {}}]", "volumes: []"} {
		h := newHost(t)
		synctest.Test(t, func(t *testing.T) {
			h.t = t
			h.bootMachine()
			db := h.applyManifest(dbPod)
			h.writeFile("mine", "agent/pods/db/volumes/data/file")
			require.NoError(t, h.stopNode())
			renamed := copyWithName(db, "other")
			if volume == "volumes: []" {
				renamed.Spec.Volumes, renamed.Spec.Containers[0].VolumeMounts = nil, nil
			}
			h.startAgent(renamed)
			h.passTime(time.Minute)
			assert.Equal(t, []string{"other/c"}, runningContainers(h.machine))
			assert.NoFileExists(t, h.pathOnDisk("agent/pods/db/volumes/data/file"))
			assert.Contains(t, h.readAsContainer("other/c", "/etc/hosts"), "other")
			assert.Empty(t, h.takeWarnings())
		})
	}
}
