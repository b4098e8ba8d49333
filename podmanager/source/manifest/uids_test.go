package manifest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

var rewriteUIDs = flag.Bool("rewrite-uids", false, "write testdata/uids.txt anew: each line that changes restarts a pod of somebody at an upgrade")

// corpusUIDs returns the UIDs of all pods of testdata/uids, a line for each.
func corpusUIDs(t *testing.T, load func(data []byte, node, path string, url bool) ([]string, error)) string {
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
			pods, err := load(data, "node-1", from.path, from.url)
			require.NoError(t, err, f.Name())
			for _, line := range pods {
				fmt.Fprintln(&out, from.path, line)
			}
		}
	}
	return out.String()
}

// TestUIDs_CF10_Golden: the UIDs of manifests in every form are those of the versions before this one,
// or an upgrade would restart pods.
func TestUIDs_CF10_Golden(t *testing.T) {
	got := corpusUIDs(t, manifest.UIDsOf)
	if *rewriteUIDs {
		require.NoError(t, os.WriteFile("testdata/uids.golden", []byte(got), 0o644))
	}
	want, err := os.ReadFile("testdata/uids.golden")
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}
