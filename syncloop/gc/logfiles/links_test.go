package logfiles_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
)

// GC-9: a link leads to the log of a container, and is removed with the log. Other links stay.
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
	assert.Equal(t, []string{"foreign.log", "web_ns_c-lost.log"}, tree(t, links), "the container may run and write the log again")
	require.NoError(t, os.RemoveAll(filepath.Join(top, "logs/ns_web_u1")))
	_, err = d.Sweep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"foreign.log"}, tree(t, links))

	long := runtime.PodRef{UID: "u2", Name: strings.Repeat("a", 253), Namespace: "ns"}
	require.NoError(t, d.Link(long, "c", strings.Repeat("1", 64), 0))
	assert.Contains(t, tree(t, links), long.Name[:251]+".log")
	_, err = logfiles.New(logfiles.Config{Root: top, Links: "links"})
	assert.EqualError(t, err, `logfiles: Config.Links is no absolute path: "links"`)
}

// GC-9: the link to a log is removed with the log, without a Sweep: for attempts and for pods, in
// a root of this node and in a shared one. Otherwise a crashing container would leave a dead link each
// time.
func TestLink_GC9_GoesWithItsLog(t *testing.T) {
	for name, records := range map[string]string{"own": "", "shared": "records"} {
		t.Run(name, func(t *testing.T) {
			m := &machine{t, t.TempDir()}
			d := m.agent("a", func(c *logfiles.Config) {
				if c.Records = ""; records != "" {
					c.Records = m.path(records)
				}
			})
			dir := m.run(d, web, "0")
			for attempt, id := range []string{"0", "1", "2", "3"} {
				m.write(filepath.Join(dir, "c", id+".log"), "x")
				m.write(filepath.Join(dir, "other", id+".log"), "x")
				require.NoError(t, d.Link(web, "c", id, uint32(attempt)))
				require.NoError(t, d.Link(web, "other", id, uint32(attempt)))
			}
			others := []string{"web_ns_other-0.log", "web_ns_other-1.log", "web_ns_other-2.log", "web_ns_other-3.log"}
			require.NoError(t, d.RemoveAttempts(web, "c", []uint32{1, 3}))
			assert.Equal(t, append([]string{"web_ns_c-1.log", "web_ns_c-3.log"}, others...), tree(t, m.path("containers")))
			require.NoError(t, d.RemoveAttempts(web, "c", []uint32{3}))
			assert.Equal(t, append([]string{"web_ns_c-3.log"}, others...), tree(t, m.path("containers")))
			require.NoError(t, d.Remove(t.Context(), "u1", all))
			assert.Empty(t, tree(t, m.path("containers")))
		})
	}
}

// F95: the link to a log stays during a rotation, also if the agent was killed between the two
// steps of a rotation or another program has removed the log of a running container. Otherwise log
// collectors would not find the container again. A link to an attempt without files is removed.
func TestLink_F95_StaysWhileItsLogIsRotated(t *testing.T) {
	m := &machine{t, t.TempDir()}
	d := m.agent("a")
	dir := m.run(d, web, "a0")
	sweep := func() []string {
		_, err := d.Sweep(t.Context())
		require.NoError(t, err)
		return tree(t, m.path("containers"))
	}
	m.write(filepath.Join(dir, "c/0.log"), strings.Repeat("large ", int(limits.MaxBytes)))
	require.NoError(t, d.Rotate(t.Context(), logfiles.Log{Pod: web, Container: "c"}, limits, now, func(context.Context) error {
		assert.NoFileExists(t, filepath.Join(dir, "c/0.log"))
		assert.Equal(t, []string{"web_ns_c-a0.log"}, sweep())
		m.write(filepath.Join(dir, "c/0.log"), "")
		return nil
	}))
	require.NoError(t, os.Remove(filepath.Join(dir, "c/0.log")))
	d = m.agent("a")
	assert.Equal(t, []string{"web_ns_c-a0.log"}, sweep())
	require.NoError(t, os.Remove(filepath.Join(dir, "c/0.log.20260101-000130")))
	assert.Equal(t, []string{"web_ns_c-a0.log"}, sweep())
	m.write(filepath.Join(dir, "c/1.log"), "the next attempt")
	assert.Empty(t, sweep())
}
