package checkpoint_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/podworkers/podsync"
)

var ready = []podsync.ContainerState{
	{Name: "c", ID: "c1", StartedAt: time.Date(2026, 1, 1, 12, 0, 0, 123456789, time.UTC), Started: true, Ready: true},
	{Name: "d", ID: "d1", Replaced: true},
}

// openContainers returns a Containers in the state after the start of an agent, and its log.
func openContainers(t *testing.T, root string) (*checkpoint.Containers, string) {
	t.Helper()
	var log bytes.Buffer
	c, err := checkpoint.NewContainers(checkpoint.Config{Root: root, Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	return c, strings.ReplaceAll(log.String(), root+"/", "")
}

// The next agent gets the last saved states, once, with times exact to the nanosecond.
func TestContainers_NextAgent(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state", "containers")
	c, _ := openContainers(t, root)
	require.NoError(t, c.SaveContainers(newPod("web"), ready[:1]))
	require.NoError(t, c.SaveContainers(newPod("web"), ready))
	assert.Empty(t, c.ConsumeContainers(newPod("web")), "it is not of an agent before this one")
	info, err := os.Stat(filepath.Join(root, "uid-web.json"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	c, log := openContainers(t, root)
	assert.Empty(t, log)
	assert.Empty(t, c.ConsumeContainers(newPod("other")))
	assert.Equal(t, ready, c.ConsumeContainers(newPod("web")))
	assert.Empty(t, c.ConsumeContainers(newPod("web")))
	assert.Equal(t, []string{"uid-web.json"}, fileNames(t, root), "it is for the agent after this one, too")
}

// A pod that was replaced under its UID does not get the states.
func TestContainers_AnotherPod(t *testing.T) {
	for name, change := range map[string]func(*v1.Pod){
		"hash":      func(p *v1.Pod) { p.Spec.Containers[0].Command = []string{"serve", "more"} },
		"name":      func(p *v1.Pod) { p.Name = "other" },
		"namespace": func(p *v1.Pod) { p.Namespace = "other" },
	} {
		root := t.TempDir()
		c, _ := openContainers(t, root)
		require.NoError(t, c.SaveContainers(newPod("web"), ready))
		c, _ = openContainers(t, root)
		another := newPod("web")
		change(another)
		assert.Empty(t, c.ConsumeContainers(another), name)
	}
}

// A later agent does not get dropped states. Dropping them again is not an error.
func TestContainers_Drop(t *testing.T) {
	root := t.TempDir()
	c, _ := openContainers(t, root)
	for _, name := range []string{"c", "a", "b"} {
		require.NoError(t, c.SaveContainers(newPod(name), ready))
	}
	c, _ = openContainers(t, root)
	uids, err := c.Pods(func(uid types.UID) bool { return uid != "uid-a" }, 10)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"uid-b", "uid-c"}, uids)
	uids, err = c.Pods(isAnyPod, 2)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"uid-a", "uid-b"}, uids)

	require.NoError(t, c.DropContainers("uid-a"))
	require.NoError(t, c.DropContainers("uid-a"))
	require.NoError(t, c.DropContainers("../web"))
	assert.Empty(t, c.ConsumeContainers(newPod("a")))
	assert.Equal(t, []string{"uid-b.json", "uid-c.json"}, fileNames(t, root))
}

// An unreadable file is reported in one sentence and ignored; the others are read.
func TestNewContainers_BadFiles(t *testing.T) {
	root := t.TempDir()
	c, _ := openContainers(t, root)
	require.NoError(t, c.SaveContainers(newPod("web"), ready))
	good, err := os.ReadFile(filepath.Join(root, "uid-web.json"))
	require.NoError(t, err)
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	put("a-cut.json", string(good[:40]))
	put("b-copy.json", string(good))
	put("c-version.json", strings.Replace(string(good), `"version":1`, `"version":2`, 1))
	put("d-uid.json", strings.Replace(string(good), "uid-web", "../web", 1))
	put("e-large.json", string(good)+strings.Repeat(" ", checkpoint.MaxSize))
	require.NoError(t, os.Symlink(filepath.Join(root, "uid-web.json"), filepath.Join(root, "f-link.json")))
	put(".uid-web", "half of it")

	c, log := openContainers(t, root)
	assert.Equal(t, 6, strings.Count(log, `msg="cannot read a file with container states; it is ignored"`), log)
	for _, why := range []string{"unexpected end of JSON input", "which has another file", "its version is 2, expected 1", "it has more than 262144 bytes"} {
		assert.Contains(t, log, why)
	}
	assert.Equal(t, ready, c.ConsumeContainers(newPod("web")))
	assert.NotContains(t, fileNames(t, root), ".uid-web", "what was not finished is nothing")
}

// A failed write is an error, and the old file stays.
func TestContainers_Errors(t *testing.T) {
	root := t.TempDir()
	c, _ := openContainers(t, root)
	odd := newPod("web")
	odd.UID = "../web"
	assert.Error(t, c.SaveContainers(odd, ready))
	many := make([]podsync.ContainerState, 10000)
	assert.EqualError(t, c.SaveContainers(newPod("web"), many), fmt.Sprintf("checkpoint: it has more than %d bytes", checkpoint.MaxSize))
	require.NoError(t, os.RemoveAll(root))
	require.ErrorIs(t, c.SaveContainers(newPod("web"), ready), os.ErrNotExist)

	_, err := checkpoint.NewContainers(checkpoint.Config{Root: "containers"})
	assert.EqualError(t, err, `checkpoint: Config.Root is no absolute path: "containers"`)
	_, err = checkpoint.NewContainers(checkpoint.Config{Root: filepath.Join(os.DevNull, "containers")})
	require.Error(t, err)
}
