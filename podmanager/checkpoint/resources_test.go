package checkpoint_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// allocated returns the resources of a pod whose container c requests an amount of cpu.
func allocated(cpu string) allocation.PodResources {
	return allocation.PodResources{Generation: 3, Containers: map[string]v1.ResourceRequirements{
		"c": {Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}},
	}}
}

// openResources returns a Resources in the state after the start of an agent, and its log.
func openResources(t *testing.T, root string) (*checkpoint.Resources, string) {
	t.Helper()
	var log bytes.Buffer
	r, err := checkpoint.NewResources(checkpoint.Config{Root: root, Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	return r, strings.ReplaceAll(log.String(), root+"/", "")
}

// The next agent gets the last saved resources, once. A pod without resources of its own stays without them after
// an upgrade (RZ-14, RZ-18).
func TestResources_RZ14_NextAgent(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state", "resources")
	r, _ := openResources(t, root)
	require.NoError(t, r.SaveResources(newPod("web"), allocated("1")))
	require.NoError(t, r.SaveResources(newPod("web"), allocated("1500m")))
	_, found := r.ConsumeResources(newPod("web"))
	assert.False(t, found, "it is not of an agent before this one")

	r, log := openResources(t, root)
	assert.Empty(t, log)
	_, found = r.ConsumeResources(newPod("other"))
	assert.False(t, found)
	got, found := r.ConsumeResources(newPod("web"))
	assert.True(t, found)
	c := got.Containers["c"]
	assert.Equal(t, "1500m", c.Requests.Cpu().String())
	assert.EqualValues(t, 3, got.Generation)
	assert.Nil(t, got.Pod)
	_, found = r.ConsumeResources(newPod("web"))
	assert.False(t, found)
	assert.Equal(t, []string{"uid-web.json"}, fileNames(t, root), "it is for the agent after this one, too")

	uids, err := r.Pods(func(types.UID) bool { return true }, 10)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"uid-web"}, uids)
	require.NoError(t, r.Remove(t.Context(), "uid-web", func(types.UID) bool { return false }))
	assert.Equal(t, []string{"uid-web.json"}, fileNames(t, root))
	require.NoError(t, r.Remove(t.Context(), "uid-web", func(types.UID) bool { return true }))
	require.NoError(t, r.DropResources("uid-web"))
	assert.Empty(t, fileNames(t, root))
}

// A pod that was replaced under its UID does not get the resources of its predecessor.
func TestResources_RZ14_AnotherPod(t *testing.T) {
	root := t.TempDir()
	r, _ := openResources(t, root)
	require.NoError(t, r.SaveResources(newPod("web"), allocated("1")))
	r, _ = openResources(t, root)
	another := newPod("web")
	another.Spec.Containers[0].Command = []string{"serve", "more"}
	_, found := r.ConsumeResources(another)
	assert.False(t, found)
}

// A damaged file does not fail the start: it is reported, renamed and ignored (RZ-15). A file of another version
// stays in place for that version.
func TestResources_RZ15_Damaged(t *testing.T) {
	root := t.TempDir()
	r, _ := openResources(t, root)
	for _, name := range []string{"good", "changed", "empty", "later"} {
		require.NoError(t, r.SaveResources(newPod(name), allocated("1")))
	}
	edit := func(name string, change func(text string) string) {
		file := filepath.Join(root, "uid-"+name+".json")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, []byte(change(string(text))), 0o600))
	}
	edit("changed", func(text string) string { return strings.Replace(text, `"cpu":"1"`, `"cpu":"9"`, 1) })
	edit("empty", func(string) string { return "" })
	edit("later", func(text string) string { return strings.Replace(text, `"version":1`, `"version":2`, 1) })

	r, log := openResources(t, root)
	assert.Equal(t, 3, strings.Count(log, "cannot read a file with allocated resources; it is ignored"), log)
	assert.Equal(t, []string{"uid-changed.json.damaged", "uid-empty.json.damaged", "uid-good.json", "uid-later.json"}, fileNames(t, root))
	_, found := r.ConsumeResources(newPod("changed"))
	assert.False(t, found)
	_, found = r.ConsumeResources(newPod("good"))
	assert.True(t, found)
}

// A file without the fields that later versions of this package have added is read: without a checksum and a generation
// (RZ-15, RZ-18). Fields that this version does not have are ignored.
func TestResources_RZ15_RZ18_OlderFormat(t *testing.T) {
	root := t.TempDir()
	r, _ := openResources(t, root)
	require.NoError(t, r.SaveResources(newPod("web"), allocated("1500m")))
	file := filepath.Join(root, "uid-web.json")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	older, _, found := strings.Cut(string(text), `,"sum":`)
	require.True(t, found)
	older = strings.Replace(older, `"generation":3,`, "", 1) + `,"later":{"field":1}}`
	require.NoError(t, os.WriteFile(file, []byte(older), 0o600))

	r, log := openResources(t, root)
	assert.Empty(t, log)
	got, found := r.ConsumeResources(newPod("web"))
	assert.True(t, found)
	c := got.Containers["c"]
	assert.Equal(t, "1500m", c.Requests.Cpu().String())
	assert.Zero(t, got.Generation)
	assert.Nil(t, got.Pod)
}
