//go:build linux

package manifest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// testingT is a *testing.T or a *rapid.T.
type testingT interface {
	require.TestingT
	Helper()
	Logf(format string, args ...any)
}

// comparison is two sources of one directory. One scans all files each time. The other scans the files that the events of
// inotify name. Both must do the same.
type comparison struct {
	t          testingT
	root, dir  string
	all, named *comparedSource
	events     *manifest.EventScanner
	scans      int
	fullScans  int // scans of all files that the events have caused
}

// comparedSource is a source with its state directory and its transcript.
type comparedSource struct {
	source   *manifest.Source
	state    string
	problems []string
	resolved []string
}

// The bounds of the sources, so that a few files exceed them.
const (
	maxFilesCompared  = 9
	maxMemoryCompared = 1 << 20
)

// newComparison creates both sources for a new directory below root.
func newComparison(t testingT, root string) *comparison {
	c := &comparison{t: t, root: root, dir: filepath.Join(root, "m")}
	require.NoError(t, os.Mkdir(c.dir, 0o700))
	c.start()
	return c
}

// start creates both sources, as at the start of the agent, and scans all files.
func (c *comparison) start() {
	c.t.Helper()
	c.close()
	c.all, c.named = c.newSource("state-all"), c.newSource("state-named")
	all, errAll := c.all.source.Scan(context.Background())
	events, named, errNamed := c.named.source.NewEventScanner(context.Background())
	require.True(c.t, errNamed == nil || errors.Is(errNamed, manifest.ErrListing), "%v", errNamed)
	c.events = events
	c.compare(all, errAll, named, errNamed)
}

func (c *comparison) close() {
	if c.events != nil {
		c.events.Close()
	}
}

func (c *comparison) newSource(state string) *comparedSource {
	one := &comparedSource{state: filepath.Join(c.root, state)}
	var err error
	one.source, err = manifest.New(manifest.Config{
		Path: c.dir, NodeName: "n1", StateDir: one.state, MaxFiles: maxFilesCompared, MaxMemory: maxMemoryCompared, ReadTimeout: time.Minute,
		Clock:    clocktesting.NewFakeClock(time.Unix(0, 0)),
		Report:   func(p manifest.Problem) { one.problems = append(one.problems, fmt.Sprint(p, p.Kept, p.Effect())) },
		Resolved: func(f source.Fault) { one.resolved = append(one.resolved, f.String()) },
	})
	require.NoError(c.t, err)
	return one
}

// scan scans with both sources after all events, compares the results, and returns the names of the pods.
func (c *comparison) scan() string {
	c.t.Helper()
	c.scans++
	last := fmt.Sprintf(".last-%d", c.scans)
	require.NoError(c.t, os.Symlink("nowhere", filepath.Join(c.dir, last)))
	require.NoError(c.t, os.Remove(filepath.Join(c.dir, last)), "it must not count for the bound of names")
	late, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	named, full, errNamed := c.events.ScanAfter(late, last)
	require.NoError(c.t, late.Err())
	if full {
		c.fullScans++
	}
	all, errAll := c.all.source.Scan(late)
	c.compare(all, errAll, named, errNamed)
	return strings.Join(names(named), " ")
}

// compare compares everything that the users of a source see, and clears the transcripts.
func (c *comparison) compare(all source.Snapshot, errAll error, named source.Snapshot, errNamed error) {
	c.t.Helper()
	require.Equal(c.t, errAll, errNamed)
	require.Equal(c.t, names(all), names(named))
	for i := range all.Pods {
		require.Equal(c.t, all.Pods[i], named.Pods[i])
		wantPath, _ := c.all.source.Locate(all.Pods[i].UID)
		path, _ := c.named.source.Locate(all.Pods[i].UID)
		require.Equal(c.t, wantPath, path)
		wantFault, _ := c.all.source.FaultOf(all.Pods[i].UID)
		fault, _ := c.named.source.FaultOf(all.Pods[i].UID)
		require.Equal(c.t, c.sameState(wantFault.String()), c.sameState(fault.String()))
	}
	want, got := c.all.takeTranscript(), c.named.takeTranscript()
	require.Equal(c.t, c.sameState(want), c.sameState(got))
	require.Equal(c.t, c.all.source.Held(), c.named.source.Held())
}

// takeTranscript returns the problems in their order, the resolved faults and the active faults.
func (one *comparedSource) takeTranscript() string {
	slices.Sort(one.resolved) // Files that are removed at once are forgotten in any order.
	text := fmt.Sprintf("problems:\n%s\nresolved:\n%s\nfaults:\n%v", strings.Join(one.problems, "\n"), strings.Join(one.resolved, "\n"), one.source.Faults())
	one.problems, one.resolved = nil, nil
	return text
}

// sameState replaces the names of both state directories by one name.
func (c *comparison) sameState(text string) string {
	return strings.NewReplacer(c.all.state, "STATE", c.named.state, "STATE").Replace(text)
}

// save saves the good versions of both sources, and compares the saved files.
func (c *comparison) save() {
	c.t.Helper()
	for c.all.source.KeepSome(context.Background()) {
	}
	for c.named.source.KeepSome(context.Background()) {
	}
	require.Equal(c.t, c.sameState(c.all.takeTranscript()), c.sameState(c.named.takeTranscript()))
	require.Equal(c.t, savedVersions(c.t, c.all.state), savedVersions(c.t, c.named.state))
}

// savedVersions returns the files in a state directory by name. It returns nil if that is no directory.
func savedVersions(t testingT, state string) map[string]string {
	entries, err := os.ReadDir(state)
	if err != nil {
		return nil
	}
	saved := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(state, e.Name()))
		require.NoError(t, err)
		saved[e.Name()] = string(text)
	}
	return saved
}

func (c *comparison) file(name string) string { return filepath.Join(c.dir, name) }

func (c *comparison) write(name, text string) {
	c.t.Helper()
	require.NoError(c.t, os.WriteFile(c.file(name), []byte(text), 0o600))
}

// replace writes a hidden file and renames it to name.
func (c *comparison) replace(name, text string) {
	c.t.Helper()
	c.write(".new", text)
	require.NoError(c.t, os.Rename(c.file(".new"), c.file(name)))
}

func (c *comparison) remove(name string) {
	c.t.Helper()
	require.NoError(c.t, os.RemoveAll(c.file(name)))
}

// link replaces name by a symbolic link.
func (c *comparison) link(target, name string) {
	c.t.Helper()
	_ = os.Remove(c.file(".link"))
	require.NoError(c.t, os.Symlink(target, c.file(".link")))
	require.NoError(c.t, os.Rename(c.file(".link"), c.file(name)))
}

// eachState calls f for both state directories.
func (c *comparison) eachState(f func(state string) error) {
	c.t.Helper()
	for _, one := range []*comparedSource{c.all, c.named} {
		require.NoError(c.t, f(one.state))
	}
}

// damageSaved replaces the content of all saved versions.
func (c *comparison) damageSaved() {
	c.t.Helper()
	c.eachState(func(state string) error {
		files, err := filepath.Glob(filepath.Join(state, "manifest-file-*"))
		for _, file := range files {
			err = errors.Join(err, os.WriteFile(file, []byte("{"), 0o600))
		}
		return err
	})
}

// blockState puts a file in the place of each state directory, so that nothing can be saved. unblockState puts the
// directory back.
func (c *comparison) blockState() {
	c.t.Helper()
	c.eachState(func(state string) error {
		if info, err := os.Stat(state); err == nil && !info.IsDir() {
			return nil
		}
		if err := os.Rename(state, state+".away"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return os.WriteFile(state, nil, 0o600)
	})
}

func (c *comparison) unblockState() {
	c.t.Helper()
	c.eachState(func(state string) error {
		if info, err := os.Stat(state); err != nil || info.IsDir() {
			return nil
		}
		if err := os.Remove(state); err != nil {
			return err
		}
		if err := os.Rename(state+".away", state); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	})
}
