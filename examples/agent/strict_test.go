package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

const oddManifest = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: c, image: i}]\n  clusterIP: none\n"

// TestStrict: the agent runs a pod with an unknown field, and its log names line and field. With
// --strict, and for agent run, the manifest is faulty.
func TestStrict(t *testing.T) {
	for _, strict := range []bool{false, true} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(oddManifest), 0o600))
		o := defaults()
		args := []string{"--manifests", dir, "--state-dir", t.TempDir(), "--node-name", "n"}
		if strict {
			args = append(args, "--strict")
		}
		line, err := o.allFlags().parseWithoutSettingOptions(args)
		require.NoError(t, err)
		require.NoError(t, o.applyCommandLine(line))
		var log strings.Builder
		files, err := o.newManifestOrExampleSource(slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, err)
		snapshot, err := files.(*manifest.Source).Scan(t.Context())
		require.NoError(t, err)
		if strict {
			assert.Empty(t, snapshot.Pods)
			assert.Contains(t, log.String(), `web.yaml: line 6: spec.clusterIP: unknown field" effect="nothing of this file runs"`)
			continue
		}
		require.Len(t, snapshot.Pods, 1)
		assert.Equal(t, 1, strings.Count(log.String(), "\n"), "one warning")
		assert.Contains(t, log.String(), `web.yaml: line 6: spec.clusterIP: unknown field, ignored" effect="its pods run without them"`)
	}
	file := filepath.Join(t.TempDir(), "web.yaml")
	require.NoError(t, os.WriteFile(file, []byte(oddManifest), 0o600))
	var out strings.Builder
	assert.Equal(t, 2, run([]string{"run", file}, nil, io.Discard, &out))
	assert.Contains(t, out.String(), "line 6: spec.clusterIP: unknown field")
}
