package node_test

import (
	"io/fs"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

const webManifest = `{apiVersion: v1, kind: Pod, metadata: {name: web, uid: web}, spec: {containers: [{name: c, image: "x:1", command: [serve]}]}}`

// directory is one whose files can be replaced while they are read.
type directory struct {
	mu    sync.Mutex
	files fstest.MapFS
}

func newDirectory(name, text string) *directory {
	d := &directory{}
	d.replaceFile(name, text)
	return d
}

// replaceFile makes a file the only file. A reader of the former file continues to read it.
func (d *directory) replaceFile(name, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files = fstest.MapFS{name: {Data: []byte(text)}}
}

func (d *directory) Open(name string) (fs.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files.Open(name)
}

// runFiles runs a node with a directory of manifests.
func runFiles(t *testing.T, machine *memory.Runtime, files *directory, state string) *runningParts {
	s, err := manifest.New(manifest.Config{FS: files, Path: ".", NodeName: "n", StateDir: state})
	require.NoError(t, err)
	return runConfig(t, node.Config{Name: "n", Runtime: machine, Pods: node.PodsConfig{Sources: map[string]source.Source{"file": s}}})
}

// TestSourceFaults_OfARunningPod: the explanation of a running pod says that its manifest could not be
// read.
func TestSourceFaults_OfARunningPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, files := memory.New(memory.Config{}), newDirectory("web.yaml", webManifest)
		n := runFiles(t, machine, files, "")
		time.Sleep(time.Minute)
		assert.Equal(t, []source.Faults{{Source: "file"}}, n.Sources().Faults())
		e, ok := n.Explain("web")
		require.True(t, ok)
		assert.Equal(t, "default/web-n is Running: its container runs and is ready", e.Sentence)
		assert.Nil(t, e.Fault)

		files.replaceFile("web.yaml", "kind: [")
		time.Sleep(time.Minute)
		assert.Equal(t, 1, n.Sources().Faults()[0].Count)
		e, ok = n.Explain("web")
		require.True(t, ok)
		assert.Equal(t, "default/web-n is Running: its container runs and is ready; but a manifest of it has a fault", e.Sentence)
		assert.Equal(t, "web.yaml: line 1: not YAML: did not find expected node content; its last good version stays in force",
			e.Fault.Path+": "+e.Fault.Reason+"; "+e.Fault.Effect)
		assert.NoError(t, n.Health().Err, "the node is not sick")
		require.NoError(t, n.stopNode())
	})
}

// TestSourceFaults_I47_RestartWithAFaultyFile: the pod goes on. With a state directory the node
// goes on to see to it; without one it leaves it alone.
func TestSourceFaults_I47_RestartWithAFaultyFile(t *testing.T) {
	for name, c := range map[string]struct {
		text           string
		keep           bool
		left, attended bool
		says           string
	}{
		"half, kept":  {"kind: [", true, true, true, "default/web-n is Running: its container runs and is ready; but a manifest of it has a fault"},
		"empty, kept": {"", true, true, true, "default/web-n is Running: its container runs and is ready; but a manifest of it has a fault"},
		"half": {"kind: [", false, true, false, "default/web-n is Pending: no source has delivered it, but it is not removed while a manifest has a fault: " +
			"web.yaml: line 1: not YAML: did not find expected node content"},
		"empty": {"", false, false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				state := ""
				if c.keep {
					state = t.TempDir()
				}
				machine, files := memory.New(memory.Config{}), newDirectory("web.yaml", webManifest)
				first := runFiles(t, machine, files, state)
				time.Sleep(time.Minute)
				began := machine.SnapshotPod("web").Containers[0].ID
				require.NoError(t, first.stopNode())

				files.replaceFile("web.yaml", c.text)
				second := runFiles(t, machine, files, state)
				time.Sleep(time.Hour)
				if !c.left {
					assert.Empty(t, runningContainers(machine), "an empty file that never held a pod, as far as this process knows")
				} else {
					assert.Equal(t, []string{"web-n/c"}, runningContainers(machine))
					assert.Equal(t, began, machine.SnapshotPod("web").Containers[0].ID, "the very same container")
					e, ok := second.Explain(types.UID("web"))
					require.True(t, ok)
					assert.Equal(t, c.says, e.Sentence)
				}
				assert.Equal(t, c.attended, len(second.Sources().Desired().GetPods()) == 1)
				require.NoError(t, second.stopNode())
			})
		})
	}
}
