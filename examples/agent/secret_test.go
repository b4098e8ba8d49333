package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReplaceable: a kubeconfig is written over one of its own, and over nothing that
// somebody would miss.
func TestReplaceable(t *testing.T) {
	dir := t.TempDir()
	const own = `{"clusters":[{"name":"podkeel"}],"users":[{"name":"podkeel"}],"contexts":[{"name":"podkeel"}]}`
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"empty":           {" \n", nil},
		"own":             {own, nil},
		"own, as YAML":    {"clusters:\n- name: podkeel\n  cluster: {server: x}\nusers:\n- name: podkeel\n", nil},
		"another cluster": {"clusters: [{name: kind}]\n", errOthers},
		"two clusters":    {"clusters: [{name: podkeel}, {name: kind}]\n", errOthers},
		"another user":    {"clusters: [{name: podkeel}]\nusers: [{name: podkeel}, {name: me}]\n", errOthers},
		"another context": {"clusters: [{name: podkeel}]\ncontexts: [{name: other}]\n", errOthers},
		"other text":      {"127.0.0.1 localhost\n", errOthers},
		"no cluster":      {"{}\n", errOthers},
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		assert.Equal(t, c.want, replaceable(path), name)
		require.NoError(t, os.Symlink(path, path+" link"))
		assert.Equal(t, c.want, replaceable(path+" link"), name)
	}
	assert.NoError(t, replaceable(filepath.Join(dir, "none")))
	assert.Equal(t, errNotRegular, replaceable(os.DevNull))
	assert.Equal(t, errNotRegular, replaceable(dir))
}

// TestWriteKubeconfig: an agent that would destroy another file does not start, and one whose
// credentials others could read takes that from them.
func TestWriteKubeconfig(t *testing.T) {
	dir := t.TempDir()
	o := defaults()
	o.manifests, o.listen, o.stateDir = t.TempDir(), "", dir
	o.api.kubeconfig = filepath.Join(dir, "config")
	require.NoError(t, os.WriteFile(o.api.kubeconfig, []byte("clusters: [{name: kind}]\n"), 0o600))
	_, err := newAgent(o, io.Discard, io.Discard)
	require.ErrorIs(t, err, errOthers)
	text, err := os.ReadFile(o.api.kubeconfig)
	require.NoError(t, err)
	assert.Equal(t, "clusters: [{name: kind}]\n", string(text))

	secret := filepath.Join(dir, credentialsFile)
	assert.NoFileExists(t, secret)
	require.NoError(t, writeSecret(secret, []byte("x")))
	require.NoError(t, os.Chmod(secret, 0o644))
	text, err = readSecret(secret)
	require.NoError(t, err)
	assert.Equal(t, "x", string(text))
	info, err := os.Stat(secret)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "link")))
	_, err = readSecret(filepath.Join(dir, "link"))
	require.Error(t, err, "who swaps it chooses the credentials")
}
