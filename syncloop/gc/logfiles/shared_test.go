package logfiles_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
)

// machine is a directory with the log directories of several agents.
type machine struct {
	*testing.T
	top string
}

func (m *machine) path(elements ...string) string {
	return filepath.Join(append([]string{m.top}, elements...)...)
}

// agent is the Dir of an agent with a state directory of its own, started or started again.
func (m *machine) agent(name string, change ...func(*logfiles.Config)) *logfiles.Dir {
	m.Helper()
	cfg := logfiles.Config{Root: m.path("pods"), Links: m.path("containers"), Records: m.path(name, "logs.made")}
	for _, f := range change {
		f(&cfg)
	}
	d, err := logfiles.New(cfg)
	require.NoError(m, err)
	return d
}

// run sets the logs of a pod up and writes the log of an attempt, as a runtime does.
func (m *machine) run(d *logfiles.Dir, pod runtime.PodRef, id string) (dir string) {
	m.Helper()
	require.NoError(m, d.SetUp(pod))
	dir, err := d.LogDir(pod)
	require.NoError(m, err)
	m.write(filepath.Join(dir, "c/0.log"), "log of "+id)
	require.NoError(m, d.Link(pod, "c", id, 0))
	return dir
}

func (m *machine) write(path, text string) {
	m.Helper()
	require.NoError(m, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m, os.WriteFile(path, []byte(text), 0o644))
}

// kubelet leaves the logs of two pods, one with the UID of a pod of the agents, and a link
// to a log that is gone.
func (m *machine) kubelet() {
	m.Helper()
	m.write(m.path("pods/ns_web_u1/c/7.log"), "of a kubelet, long enough for a rotation")
	m.write(m.path("pods/ns_gone_k1/c/0.log"), "of a kubelet")
	require.NoError(m, os.MkdirAll(m.path("containers"), 0o755))
	require.NoError(m, os.Symlink(m.path("pods/ns_web_u1/c/7.log"), m.path("containers/web_ns_c-k7.log")))
	require.NoError(m, os.Symlink(m.path("pods/ns_web_u1/c/6.log"), m.path("containers/web_ns_c-k6.log")))
}

// theirs is everything that the kubelet has left, as it was.
func (m *machine) theirs() {
	m.Helper()
	for path, want := range map[string]string{
		"pods/ns_web_u1/c/7.log": "of a kubelet, long enough for a rotation", "pods/ns_gone_k1/c/0.log": "of a kubelet",
	} {
		text, err := os.ReadFile(m.path(path))
		require.NoError(m, err)
		assert.Equal(m, want, string(text))
	}
	assert.Equal(m, []string{"7.log"}, tree(m.T, m.path("pods/ns_web_u1/c")))
	links := tree(m.T, m.path("containers"))
	assert.Subset(m, links, []string{"web_ns_c-k6.log", "web_ns_c-k7.log"})
}

// GC-8, I38: two agents and what a kubelet has left, side by side in /var/log: each agent rotates
// and removes what its own state directory has recorded, also if all three have the same pod.
func TestShared_GC8_I38_TwoAgentsAndAKubelet(t *testing.T) {
	m := &machine{t, t.TempDir()}
	m.kubelet()
	a, b := m.agent("a"), m.agent("b")
	ofA, ofB := m.run(a, web, "a0"), m.run(b, web, "b0")
	assert.NotEqual(t, ofA, ofB)
	for _, dir := range []string{ofA, ofB} {
		assert.Regexp(t, `/pods/ns_web_u1\.[a-z0-9]{8}$`, dir, "the name is the kubelet's")
	}
	db := runtime.PodRef{UID: "u2", Name: "db", Namespace: "ns"}
	assert.Equal(t, m.path("pods/ns_db_u2"), m.run(b, db, "b1"))

	for d, want := range map[*logfiles.Dir][]types.UID{a: {"u1"}, b: {"u1", "u2"}} {
		uids, err := d.Pods(all, 10)
		require.NoError(t, err)
		assert.Equal(t, want, uids)
	}
	next, err := a.NextAttempt(web, "c")
	require.NoError(t, err)
	assert.Equal(t, uint32(1), next, "attempts of a kubelet do not count for an agent")

	// A log that is not the agent's is not even looked at.
	due, err := a.Due(logfiles.Log{Pod: web, Container: "c", Attempt: 7}, 1)
	require.NoError(t, err)
	assert.True(t, due, "its own log of that attempt is lost")
	_, err = a.Due(logfiles.Log{Pod: db, Container: "c"}, 1)
	require.ErrorIs(t, err, os.ErrNotExist)
	m.write(filepath.Join(ofA, "c/0.log"), strings.Repeat("large ", int(limits.MaxBytes)))
	require.NoError(t, a.Rotate(t.Context(), logfiles.Log{Pod: web, Container: "c"}, limits, now, func(context.Context) error {
		m.write(filepath.Join(ofA, "c/0.log"), "")
		return nil
	}))
	assert.Equal(t, []string{"0.log", "0.log.20260101-000130"}, tree(t, filepath.Join(ofA, "c")))
	require.NoError(t, a.RemoveAttempts(web, "c", []uint32{8}))
	require.NoError(t, a.RemoveAttempts(db, "c", []uint32{8}))
	assert.Empty(t, tree(t, filepath.Join(ofA, "c")))
	assert.Equal(t, []string{"0.log"}, tree(t, filepath.Join(ofB, "c")))
	assert.Equal(t, []string{"0.log"}, tree(t, m.path("pods/ns_db_u2/c")))
	m.theirs()
}

// GC-8: the end of a pod takes the agent's own directories and links, of any name, and nothing else.
func TestShared_GC8_Remove(t *testing.T) {
	m := &machine{t, t.TempDir()}
	m.kubelet()
	a, b := m.agent("a"), m.agent("b")
	ofA, ofB := m.run(a, web, "a0"), m.run(b, web, "b0")
	for range 2 {
		require.NoError(t, a.Remove(t.Context(), "k1", all))
		require.NoError(t, a.Remove(t.Context(), "u1", all))
		left, err := a.Sweep(t.Context())
		require.NoError(t, err)
		assert.Zero(t, left)
		assert.NoDirExists(t, ofA)
		assert.FileExists(t, filepath.Join(ofB, "c/0.log"))
		m.theirs()
		assert.Equal(t, []string{"web_ns_c-b0.log", "web_ns_c-k6.log", "web_ns_c-k7.log"}, tree(t, m.path("containers")))
		assert.Empty(t, tree(t, m.path("a")))
	}
	require.NoError(t, b.Remove(t.Context(), "u1", func(types.UID) bool { return false }))
	assert.FileExists(t, filepath.Join(ofB, "c/0.log"))
}

// A record is read again by the next agent on the state directory, which goes on with the same
// directory; a removal that was cut short is completed.
func TestShared_NextAgent(t *testing.T) {
	m := &machine{t, t.TempDir()}
	m.kubelet()
	dir := m.run(m.agent("a"), web, "a0")
	again := m.agent("a")
	require.NoError(t, again.SetUp(web))
	same, err := again.LogDir(web)
	require.NoError(t, err)
	assert.Equal(t, dir, same)
	next, err := again.NextAttempt(web, "c")
	require.NoError(t, err)
	assert.Equal(t, uint32(1), next)

	require.NoError(t, os.Rename(dir, m.path("elsewhere"))) // As far as a removal came before a crash.
	third := m.agent("a")
	uids, err := third.Pods(all, 10)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"u1"}, uids, "its record is still there, and its link")
	require.NoError(t, third.Remove(t.Context(), "u1", all))
	assert.Empty(t, tree(t, m.path("a")))
	assert.Equal(t, []string{"web_ns_c-k6.log", "web_ns_c-k7.log"}, tree(t, m.path("containers")))
}

// An agent that ended while it made a directory does not know whether it is the directory's maker:
// it takes another one.
func TestShared_EndedWhileItMadeADirectory(t *testing.T) {
	m := &machine{t, t.TempDir()}
	dir := m.run(m.agent("a"), web, "a0")
	record := filepath.Join(m.path("a/logs.made"), tree(t, m.path("a/logs.made"))[0])
	text, err := os.ReadFile(record)
	require.NoError(t, err)
	m.write(record, strings.Replace(string(text), `"made":true`, `"made":false`, 1))
	again := m.agent("a")
	require.NoError(t, again.SetUp(web))
	other, err := again.LogDir(web)
	require.NoError(t, err)
	assert.NotEqual(t, dir, other)
	require.NoError(t, again.Remove(t.Context(), "u1", all))
	assert.FileExists(t, filepath.Join(dir, "c/0.log"))
	assert.NoDirExists(t, other)
}

// A record that cannot be read is left alone, with its directory.
func TestShared_DamagedRecord(t *testing.T) {
	m := &machine{t, t.TempDir()}
	dir := m.run(m.agent("a"), web, "a0")
	record := filepath.Join(m.path("a/logs.made"), tree(t, m.path("a/logs.made"))[0])
	for _, text := range []string{"", "{", `{"root":"pods","name":"ns_web_u1","uid":"u1","made":true}`, `{"root":"/","name":"../x","uid":"u1","made":true}`, `{"root":"/x","name":"a","made":true}`} {
		m.write(record, text)
		again := m.agent("a")
		uids, err := again.Pods(all, 10)
		require.NoError(t, err)
		assert.Empty(t, uids, text)
		require.NoError(t, again.Remove(t.Context(), "u1", all))
		assert.FileExists(t, filepath.Join(dir, "c/0.log"))
	}
}

// Ran is called without a lock, so that it may call back: it would wait for itself otherwise.
func TestShared_RanMayCallBack(t *testing.T) {
	m := &machine{t, t.TempDir()}
	var d *logfiles.Dir
	asked := 0
	d = m.agent("a", func(c *logfiles.Config) {
		c.OwnRoots = []string{t.TempDir()}
		c.Ran = func(uid types.UID) bool {
			asked++
			require.NoError(t, d.Remove(t.Context(), uid, func(types.UID) bool { return false }))
			return false
		}
	})
	require.NoError(t, d.SetUp(web))
	require.NoError(t, d.SetUp(web))
	assert.Equal(t, 1, asked, "a pod with a record needs no question")
}

// An upgrade: the logs of running pods that are in the directory of an earlier version, and those
// in a directory without records, are rotated, counted and removed as before; logs of others in
// the directory that is shared now are not.
func TestShared_Upgrade(t *testing.T) {
	m := &machine{t, t.TempDir()}
	m.kubelet()
	old := m.agent("a", func(c *logfiles.Config) { c.Root, c.Links, c.Records = m.path("a/logs"), m.path("a/links"), "" })
	oldDir := m.run(old, web, "a0")
	db := runtime.PodRef{UID: "u2", Name: "db", Namespace: "ns"}
	unrecorded := m.agent("a", func(c *logfiles.Config) { c.Records = "" })
	dbDir := m.run(unrecorded, db, "a1")

	d := m.agent("a", func(c *logfiles.Config) {
		c.OwnRoots, c.OldLinks = []string{m.path("a/logs"), m.path("pods")}, []string{m.path("a/links")}
		c.Ran = func(uid types.UID) bool { return uid == "u2" }
	})
	next, err := d.NextAttempt(web, "c")
	require.NoError(t, err)
	assert.Equal(t, uint32(1), next)
	for _, pod := range []runtime.PodRef{web, db} {
		log := logfiles.Log{Pod: pod, Container: "c"}
		due, err := d.Due(log, 1)
		require.NoError(t, err)
		assert.True(t, due)
		require.NoError(t, d.Rotate(t.Context(), log, limits, now, func(context.Context) error {
			dir := map[types.UID]string{"u1": oldDir, "u2": dbDir}[pod.UID]
			m.write(filepath.Join(dir, "c/0.log"), "")
			return nil
		}))
	}
	assert.Len(t, tree(t, oldDir), 1, "it is not large enough")
	require.NoError(t, d.SetUp(web))
	dir, err := d.LogDir(web)
	require.NoError(t, err)
	assert.NotEqual(t, oldDir, dir, "a new sandbox logs into the new directory")
	m.write(filepath.Join(dir, "c/1.log"), "the next attempt")
	require.NoError(t, d.Link(web, "c", "a2", 1))
	require.NoError(t, d.Link(web, "c", "a3", 0))
	target, err := os.Readlink(m.path("containers/web_ns_c-a3.log"))
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(oldDir, "c/0.log"), target, "in a sandbox of the earlier version")

	uids, err := d.Pods(all, 10)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"u1", "u2"}, uids)
	for _, uid := range uids {
		require.NoError(t, d.Remove(t.Context(), uid, all))
	}
	_, err = d.Sweep(t.Context())
	require.NoError(t, err)
	for _, gone := range []string{oldDir, dbDir, dir} {
		assert.NoDirExists(t, gone)
	}
	assert.Empty(t, tree(t, m.path("a")))
	m.theirs()
	assert.Equal(t, []string{"web_ns_c-k6.log", "web_ns_c-k7.log"}, tree(t, m.path("containers")))
}

func TestNew_Paths(t *testing.T) {
	for name, cfg := range map[string]logfiles.Config{
		"Records": {Root: "/x", Records: "r"}, "OwnRoots": {Root: "/x", OwnRoots: []string{"/y", ""}}, "OldLinks": {Root: "/x", OldLinks: []string{"y"}},
	} {
		_, err := logfiles.New(cfg)
		assert.ErrorContains(t, err, "logfiles: Config."+name+" is no absolute path: ")
	}
}

// A link in the place of a recorded directory is another program's: the pod gets another directory, and the
// link and what it leads to stay.
func TestShared_PlantedLink(t *testing.T) {
	m := &machine{t, t.TempDir()}
	a := m.agent("a")
	require.Equal(t, m.path("pods/ns_web_u1"), m.run(a, web, "a0"))
	require.NoError(t, os.Rename(m.path("pods/ns_web_u1"), m.path("away")))
	require.NoError(t, os.Symlink("../away", m.path("pods/ns_web_u1")))
	before := tree(t, m.path("away"))
	require.NoError(t, a.SetUp(web))
	dir, err := a.LogDir(web)
	require.NoError(t, err)
	assert.Regexp(t, `/pods/ns_web_u1\.[a-z0-9]{8}$`, dir)
	require.NoError(t, a.Remove(t.Context(), "u1", all))
	assert.NoDirExists(t, dir)
	assert.Equal(t, before, tree(t, m.path("away")))
	assert.FileExists(t, m.path("pods/ns_web_u1/c/0.log"), "the link stays")
}
