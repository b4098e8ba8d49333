package localapi

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// aliasBomb is a text of YAML of about so many bytes that is gigabytes with its aliases written out.
func aliasBomb(bytes int) string {
	return "a: &a [" + strings.Repeat("x,", bytes/8) + "]\nb: &b [" + strings.Repeat("*a,", bytes/8) + "]\nc: [" + strings.Repeat("*b,", bytes/8) + "]\n"
}

// TestReplaceable_AliasBomb: a file in the place of the kubeconfig costs little, whatever is in it.
func TestReplaceable_AliasBomb(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(aliasBomb(800_000)), 0o600))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	assert.Equal(t, ErrForeignFile, checkKubeconfigReplaceable(path))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20), "all that was ever allocated, garbage too")
}

// TestReplaceable: NewService replaces its own kubeconfig, and no file of another
// program.
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
		"another cluster": {"clusters: [{name: kind}]\n", ErrForeignFile},
		"two clusters":    {"clusters: [{name: podkeel}, {name: kind}]\n", ErrForeignFile},
		"another user":    {"clusters: [{name: podkeel}]\nusers: [{name: podkeel}, {name: me}]\n", ErrForeignFile},
		"another context": {"clusters: [{name: podkeel}]\ncontexts: [{name: other}]\n", ErrForeignFile},
		"other text":      {"127.0.0.1 localhost\n", ErrForeignFile},
		"no cluster":      {"{}\n", ErrForeignFile},
		"an alias bomb":   {aliasBomb(800_000), ErrForeignFile},
		"own and a bomb":  {"clusters: [{name: podkeel}]\n" + aliasBomb(800_000), ErrForeignFile},
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		assert.Equal(t, c.want, checkKubeconfigReplaceable(path), name)
		require.NoError(t, os.Symlink(path, path+" link"))
		assert.Equal(t, c.want, checkKubeconfigReplaceable(path+" link"), name)
	}
	assert.NoError(t, checkKubeconfigReplaceable(filepath.Join(dir, "none")))
	assert.Equal(t, errNotRegular, checkKubeconfigReplaceable(os.DevNull))
	assert.Equal(t, errNotRegular, checkKubeconfigReplaceable(dir))
}

// TestCertificate_ClockNotSet: a certificate that is made while the clock stands at 1970 is valid then, and once the
// clock is right.
func TestCertificate_ClockNotSet(t *testing.T) {
	boot := time.Unix(60, 0)
	c := certificateTemplate("x", boot, certLifetime)
	for _, now := range []time.Time{boot, minPlausibleTime, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)} {
		assert.False(t, now.Before(c.NotBefore), now)
		assert.False(t, now.After(c.NotAfter), now)
	}
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	c = certificateTemplate("x", now, certLifetime)
	assert.Equal(t, now.Add(-time.Hour), c.NotBefore)
	assert.Equal(t, now.Add(certLifetime), c.NotAfter)
}

// TestParseCredentials_ExpiredCA: the error says since when.
func TestParseCredentials_ExpiredCA(t *testing.T) {
	expired, err := newCredentialsFromTemplate(certificateTemplate("podkeel", minPlausibleTime, -time.Hour))
	require.NoError(t, err)
	text, err := expired.Marshal()
	require.NoError(t, err)
	_, err = ParseCredentials(text)
	assert.ErrorIs(t, err, ErrBadCredentials)
	assert.EqualError(t, err, "localapi: these are no usable credentials: the CA has expired on 2025-12-31")
}

// TestKeepCredentials: the credentials are generated once, and other users can neither read nor replace them.
func TestKeepCredentials(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "credentials.json")
	first, err := KeepCredentials(path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o644))
	again, err := KeepCredentials(path)
	require.NoError(t, err)
	assert.Equal(t, first.Kubeconfig("a:1"), again.Kubeconfig("a:1"))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, os.Symlink(path, filepath.Join(dir, "link")))
	_, err = KeepCredentials(filepath.Join(dir, "link"))
	require.Error(t, err, "who swaps it chooses the credentials")
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	_, err = KeepCredentials(path)
	assert.EqualError(t, err, path+": localapi: these are no usable credentials: they are not JSON, or have no token; remove the file to generate new ones")
	replaced, err := ReplaceCredentials(path)
	require.NoError(t, err)
	assert.NotEqual(t, first.Token, replaced.Token)
	again, err = KeepCredentials(path)
	require.NoError(t, err)
	assert.Equal(t, replaced.Kubeconfig("a:1"), again.Kubeconfig("a:1"))
	_, err = ReplaceCredentials(filepath.Join(dir, "none", "credentials.json"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	none := filepath.Join(dir, "none", "credentials.json")
	got, err := KeepCredentials(none)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "localapi: "+none+": ")
	assert.Nil(t, got, "credentials that were not kept")
}
