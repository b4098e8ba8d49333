package objects_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/objects"
	"github.com/podkeel/podkeel/runtime"
)

var background = context.Background()

// files are in a directory, by path.
func files(t *testing.T, contents map[string]string) (*objects.Files, string) {
	dir := t.TempDir()
	for name, text := range contents {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	f, err := objects.NewFiles(dir)
	require.NoError(t, err)
	return f, dir
}

func TestNewFiles_Relative(t *testing.T) {
	_, err := objects.NewFiles("here")
	assert.EqualError(t, err, `objects: "here" is no absolute path`)
}

func TestFiles_Manifest(t *testing.T) {
	f, _ := files(t, map[string]string{
		"configmaps/ns/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\nimmutable: true\ndata: {x: '1'}\nbinaryData: {z: AQI=}\n",
		"configmaps/ns/b.json": `{"data":{"x":"2"}}`,
		"secrets/ns/s.yml":     "data: {k: cHc=}\nstringData: {l: plain}\n",
	})
	m, err := f.ConfigMap(background, "ns", "a")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"x": "1"}, m.Data)
	assert.Equal(t, map[string][]byte{"z": {1, 2}}, m.BinaryData)
	assert.True(t, *m.Immutable)
	m, err = f.ConfigMap(background, "ns", "b")
	require.NoError(t, err)
	assert.Equal(t, "2", m.Data["x"])
	assert.Equal(t, "ns/b", m.Namespace+"/"+m.Name)
	s, err := f.Secret(background, "ns", "s")
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"k": []byte("pw")}, s.Data)
	assert.Equal(t, map[string]string{"l": "plain"}, s.StringData)
}

func TestFiles_Keys(t *testing.T) {
	f, dir := files(t, map[string]string{"secrets/ns/s/k": "\x00\xff", "secrets/ns/s/..data/x": "", "configmaps/ns/.k/x": "", "configmaps/ns/m/x": "1"})
	s, err := f.Secret(background, "ns", "s")
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"k": {0, 0xff}}, s.Data)
	m, err := f.ConfigMap(background, "ns", "m")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"x": "1"}, m.Data)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "configmaps/ns/m/x"), []byte("2"), 0o644))
	m, err = f.ConfigMap(background, "ns", "m")
	require.NoError(t, err)
	assert.Equal(t, "2", m.Data["x"], "the file is read again")
}

func TestFiles_Absent_I47(t *testing.T) {
	f, dir := files(t, map[string]string{"configmaps/ns/m/x": "1"})
	for _, name := range []string{"gone", "..", "../m", "", "M", "a/b"} {
		_, err := f.ConfigMap(background, "ns", name)
		assert.ErrorIs(t, err, runtime.ErrNotFound, name)
		_, err = f.ConfigMap(background, name, "m")
		assert.ErrorIs(t, err, runtime.ErrNotFound, name)
	}
	require.NoError(t, os.RemoveAll(dir))
	_, err := f.ConfigMap(background, "ns", "m")
	require.Error(t, err)
	assert.NotErrorIs(t, err, runtime.ErrNotFound, "a disk that is not mounted says nothing about its files")
	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err = f.Secret(ctx, "ns", "m")
	assert.ErrorIs(t, err, context.Canceled)
}

func TestFiles_Bad(t *testing.T) {
	long := strings.Repeat("x", objects.MaxBytes/2+1)
	f, dir := files(t, map[string]string{
		"configmaps/ns/typo.yaml": "dta: {}\n", "configmaps/ns/other.yaml": "metadata: {name: another}\n", "configmaps/ns/kind.yaml": "kind: Secret\n",
		"configmaps/ns/broken.yaml": "{", "configmaps/ns/large/a": long, "configmaps/ns/large/b": long, "configmaps/ns/key/a b": "",
		"configmaps/ns/dir/sub/x": "", "configmaps/ns/huge.json": strings.Repeat(" ", 2*objects.MaxBytes+1),
	})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "configmaps/ns/out"), 0o755))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "configmaps/ns/out/x")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "configmaps/ns/dangling"), 0o755))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "configmaps/ns/dangling/x")))
	for name, want := range map[string]string{
		"typo": "unknown field", "other": `the manifest has the name "another"`, "kind": `the manifest has the kind "Secret"`, "broken": "configmaps/ns/broken.yaml: line 1: not JSON: unexpected EOF",
		"large": "it has more than the", "key": `"a b" is no key`, "dir": `key "sub": a directory: expected a regular file`, "huge": "it has more than the 2097152 bytes", "out": "escapes",
		"dangling": `key "x"`,
	} {
		_, err := f.ConfigMap(background, "ns", name)
		assert.ErrorContains(t, err, want, name)
		assert.NotErrorIs(t, err, runtime.ErrNotFound, name)
	}
}

// A directory that is itself a mounted ConfigMap has links in it.
func TestFiles_F28_LinksInside(t *testing.T) {
	f, dir := files(t, map[string]string{"configmaps/ns/m/..v/x": "1"})
	require.NoError(t, os.Symlink("..v", filepath.Join(dir, "configmaps/ns/m/..data")))
	require.NoError(t, os.Symlink("..data/x", filepath.Join(dir, "configmaps/ns/m/x")))
	m, err := f.ConfigMap(background, "ns", "m")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"x": "1"}, m.Data)
}

func TestMap_Copies(t *testing.T) {
	m, s := objects.NewMap(), &v1.Secret{Data: map[string][]byte{"k": {1}}}
	m.ApplySecret(s)
	s.Data["k"][0] = 2
	found, err := m.Secret(background, "", "")
	require.NoError(t, err)
	assert.Equal(t, []byte{1}, found.Data["k"])
	m.DeleteSecret("", "")
	_, err = m.Secret(background, "", "")
	assert.ErrorIs(t, err, runtime.ErrNotFound)
}
