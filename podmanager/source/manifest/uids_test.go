package manifest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

var rewriteUIDs = flag.Bool("rewrite-uids", false, "write testdata/uids.txt anew: each line that changes restarts a pod of somebody at an upgrade")

// corpusUIDs returns the UIDs of all pods of testdata/uids, one per line.
func corpusUIDs(t *testing.T, former bool) string {
	t.Helper()
	files, err := os.ReadDir("testdata/uids")
	require.NoError(t, err)
	var out strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join("testdata/uids", f.Name()))
		require.NoError(t, err)
		for _, from := range []struct {
			path string
			url  bool
		}{{"/etc/manifests/" + f.Name(), false}, {"https://server/" + f.Name(), true}} {
			pods, err := manifest.UIDsOf(data, "node-1", from.path, from.url, former)
			require.NoError(t, err, f.Name())
			for _, line := range pods {
				fmt.Fprintln(&out, from.path, line)
			}
		}
	}
	return out.String()
}

// TestUIDs_CF10_Golden: manifests in every form have the UIDs of earlier versions, so that an upgrade restarts no pod.
// New files differ only in the items of a PodList without apiVersion and kind.
func TestUIDs_CF10_Golden(t *testing.T) {
	former := corpusUIDs(t, true)
	if *rewriteUIDs {
		require.NoError(t, os.WriteFile("testdata/uids.golden", []byte(former), 0o644))
	}
	want, err := os.ReadFile("testdata/uids.golden")
	require.NoError(t, err)
	assert.Equal(t, string(want), former)
	var moved []string
	was := strings.Split(former, "\n")
	for i, line := range strings.Split(corpusUIDs(t, false), "\n") {
		if line != was[i] {
			moved = append(moved, line)
		}
	}
	assert.Equal(t, []string{
		"/etc/manifests/podlist-half.json default/a-node-1 9fc9b5393eb504145619caa74182b0e6",
		"/etc/manifests/podlist-half.json default/b-node-1 9d7596d0c623675360ce749a95e69bb8",
		"https://server/podlist-half.json default/a-node-1 6c746132a4f83bb65ac6347d96bd1516",
		"https://server/podlist-half.json default/b-node-1 1da97c495c84e62885f9c007a069799b",
		"/etc/manifests/podlist-untyped.yaml default/a-node-1 4c250cfd8143434d3eea280bb20bd3d3",
		"https://server/podlist-untyped.yaml default/a-node-1 775e8a9739b5f7b5a3118ca25c5fa0b6",
	}, moved)
}

// TestUIDs_CF10_OfAPodList: in a PodList a pod has the same UID with and without apiVersion and kind. It is the UID of
// the pod in a document of its own.
func TestUIDs_CF10_OfAPodList(t *testing.T) {
	const pod = `"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}`
	uids := map[string]bool{}
	for _, item := range []string{"", `"kind": "Pod",`, `"apiVersion": "v1",`, `"apiVersion": "v1", "kind": "Pod",`} {
		got, err := manifest.UIDsOf([]byte(`{"apiVersion": "v1", "kind": "PodList", "items": [{`+item+pod+`}]}`), "n1", "/m/f", false, false)
		require.NoError(t, err)
		uids[got[0]] = true
	}
	got, err := manifest.UIDsOf([]byte(`{"apiVersion": "v1", "kind": "Pod", `+pod+`}`), "n1", "/m/f", false, false)
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{got[0]: true}, uids)
}

// TestKeep_CF10_AnUpgradeKeepsUIDs: pods of a file that an earlier version has read keep their UIDs over restarts and
// changes, as long as the file exists.
func TestKeep_CF10_AnUpgradeKeepsUIDs(t *testing.T) {
	const list = `{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}]}`
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t)
		state := filepath.Join(t.TempDir(), "state")
		uid := func(former bool, text string) string {
			got, err := manifest.UIDsOf([]byte(text), "n1", d.file("f"), false, former)
			require.NoError(t, err)
			return got[0]
		}
		scanned := func() string {
			s, err := d.source.Scan(t.Context())
			require.NoError(t, err)
			return s.Pods[0].Namespace + "/" + s.Pods[0].Name + " " + string(s.Pods[0].UID)
		}
		run := func() {
			stop, got := d.runUntilStopped()
			<-got
			synctest.Wait()
			stop()
		}
		require.NotEqual(t, uid(true, list), uid(false, list))
		require.NoError(t, manifest.KeepAs(state, d.file("f"), list))
		d.write("f", list)
		d.openKept(state)
		run()
		assert.Equal(t, uid(true, list), scanned(), "after the upgrade")
		changed := strings.Replace(list, `"i"`, `"j"`, 1)
		d.write("f", changed)
		d.openKept(state)
		run()
		d.openKept(state)
		assert.Equal(t, uid(true, changed), scanned(), "after a change and a restart")
		d.write("f", "no manifest")
		d.openKept(state)
		assert.Equal(t, uid(true, changed), scanned(), "while the file is bad")
		d.remove("f")
		run()
		d.write("f", list)
		d.openKept(state)
		run()
		assert.Equal(t, uid(false, list), scanned(), "a new file")
		d.openKept(state)
		assert.Equal(t, uid(false, list), scanned(), "and after a restart")
	})
}
