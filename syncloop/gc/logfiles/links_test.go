package logfiles_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
)

// GC-9: a link leads to the log of a container, and goes with the log; other links stay.
func TestLink_GC9(t *testing.T) {
	none, top := logs(t, "logs/ns_web_u1/c/0.log", "logs/ns_web_u1/c/1.log", "away/f")
	require.NoError(t, none.Link(web, "c", "id-0", 0))
	links := filepath.Join(top, "links")
	d, err := logfiles.New(logfiles.Config{Root: filepath.Join(top, "logs") + "/", Links: links})
	require.NoError(t, err)
	left, err := d.Sweep(t.Context())
	require.NoError(t, err)
	assert.Zero(t, left)
	require.NoError(t, d.Link(web, "c", "id-0", 0))
	require.NoError(t, d.Link(web, "c", "id-0", 0))
	require.NoError(t, d.Link(web, "c", "id-1", 1))
	require.NoError(t, os.Symlink(filepath.Join(top, "nowhere"), filepath.Join(links, "foreign.log")))
	target, err := os.Readlink(filepath.Join(links, "web_ns_c-id-1.log"))
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(top, "logs/ns_web_u1/c/1.log"), target)
	text, err := os.ReadFile(filepath.Join(links, "web_ns_c-id-1.log"))
	require.NoError(t, err)
	assert.Equal(t, "x", string(text))
	require.NoError(t, d.RemoveAttempts(web, "c", []uint32{1}))
	assert.Equal(t, []string{"foreign.log", "web_ns_c-id-1.log"}, tree(t, links))
	require.NoError(t, d.Remove(t.Context(), "u1", all))
	assert.Equal(t, []string{"foreign.log"}, tree(t, links))

	require.NoError(t, os.MkdirAll(filepath.Join(top, "logs/ns_web_u1/c"), 0o755))
	require.NoError(t, d.Link(web, "c", "lost", 0)) // Its log is gone by other hands.
	_, err = d.Sweep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"foreign.log"}, tree(t, links))

	long := runtime.PodRef{UID: "u2", Name: strings.Repeat("a", 253), Namespace: "ns"}
	require.NoError(t, d.Link(long, "c", strings.Repeat("1", 64), 0))
	assert.Contains(t, tree(t, links), long.Name[:251]+".log")
	_, err = logfiles.New(logfiles.Config{Root: top, Links: "links"})
	assert.EqualError(t, err, `logfiles: Config.Links is no absolute path: "links"`)
}
