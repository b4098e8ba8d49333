package manifest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// Manifests that a node can run and an API server rejects: earlier versions of this package accepted them.
const (
	shared  = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostPID: true, shareProcessNamespace: true, containers: [{name: c, image: i}]}\n"
	unnamed = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {container.apparmor.security.beta.kubernetes.io/none: strict}}\nspec: {containers: [{name: c, image: i}]}\n"
)

// asKept replaces the content of the files saved in a state directory by a text.
func asKept(t *testing.T, state, text string) {
	files := savedFiles(t, state)
	require.Len(t, files, 1)
	was, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var file map[string]any
	require.NoError(t, json.Unmarshal(was, &file))
	sum := sha256.Sum256([]byte(text))
	file["sum"], file["body"] = hex.EncodeToString(sum[:]), []byte(text)
	now, err := json.Marshal(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files[0], now, 0o600))
}

// TestKeep_RuleOfANewVersion: the pod of a file that an earlier version has accepted keeps running, with a fault, if a
// new pod like it would be rejected. After a change of the file it is a new pod.
func TestKeep_RuleOfANewVersion(t *testing.T) {
	for name, text := range map[string]string{"field": shared, "annotation": unnamed} {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			d := newDir(t)
			d.openKept(state)
			d.write("a", text)
			require.Equal(t, "incomplete [a:4 invalid]", lineless(d.scan()), "a new one is refused")

			d.write("a", podYAML("a", "i"))
			require.Equal(t, "a-n1", d.scan())
			require.False(t, d.source.KeepSome(t.Context()))
			asKept(t, state, text)
			d.write("a", text)
			d.openKept(state)
			assert.Equal(t, "a-n1 [a:4 invalid kept]", lineless(d.scan()))
			assert.Equal(t, "a-n1", d.scan(), "told once")
			faults := d.source.Faults()
			require.Equal(t, 1, faults.Count)
			assert.Equal(t, "its last good version stays in force", faults.First[0].Effect)

			d.write("a", text+"# more\n")
			assert.Equal(t, "a-n1 [a:4 invalid kept]", lineless(d.scan()), "a new version is refused, and the old one stays")
			d.write("a", podYAML("b", "i"))
			assert.Equal(t, "b-n1", d.scan())
			assert.Zero(t, d.source.Faults().Count)
		})
	}
}

// lineless replaces the number of each line by 4.
func lineless(told string) string {
	return string(bytes.ReplaceAll([]byte(told), []byte("a:3 "), []byte("a:4 ")))
}

// TestURL_RuleOfANewVersion: the same rule holds for the answer of a server.
func TestURL_RuleOfANewVersion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	w := &web{answer: says(200, podYAML("a", "i"), "ETag", `"1"`)}
	s, _ := w.open(t, manifest.URLConfig{StateDir: dir})
	_, err := s.Poll(t.Context())
	require.NoError(t, err)
	asKept(t, dir, shared)

	w.set(says(304, ""))
	s, problems := w.open(t, manifest.URLConfig{StateDir: dir})
	snapshot, err := s.Poll(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"a-n1"}, names(snapshot))
	require.Len(t, *problems, 1)
	assert.Contains(t, (*problems)[0], "spec.shareProcessNamespace: true: expected false with hostPID")
	assert.Equal(t, 1, s.Faults().Count)

	w.set(says(200, shared, "ETag", `"2"`))
	snapshot, err = s.Poll(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"a-n1"}, names(snapshot))
	assert.Len(t, *problems, 1, "told once")
	w.set(says(200, podYAML("b", "i"), "ETag", `"3"`))
	snapshot, err = s.Poll(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"b-n1"}, names(snapshot))
	assert.Zero(t, s.Faults().Count)
}
