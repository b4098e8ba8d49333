package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// dir is a directory of manifests with a source, and the problems that the source has reported.
type dir struct {
	t        *testing.T
	path     string
	source   *manifest.Source
	problems []manifest.Problem
}

// newDir creates a directory with a source for it, or for one file in it.
func newDir(t *testing.T, only ...string) *dir {
	d := &dir{t: t, path: t.TempDir()}
	d.open(manifest.Config{Path: filepath.Join(append([]string{d.path}, only...)...)})
	return d
}

// open creates the source, as at the start of the agent.
func (d *dir) open(cfg manifest.Config) {
	cfg.NodeName = "n1"
	cfg.Report = func(p manifest.Problem) { d.problems = append(d.problems, p) }
	s, err := manifest.New(cfg)
	require.NoError(d.t, err)
	d.source = s
}

func (d *dir) file(name string) string { return filepath.Join(d.path, name) }

func (d *dir) write(name, content string) {
	d.t.Helper()
	require.NoError(d.t, os.WriteFile(d.file(name), []byte(content), 0o600))
}

func (d *dir) remove(name string) {
	d.t.Helper()
	require.NoError(d.t, os.RemoveAll(d.file(name)))
}

// scan scans once and returns the names of the pods, whether the snapshot is incomplete, and new problems as "file:line
// kind [kept]".
func (d *dir) scan() string {
	d.t.Helper()
	d.problems = nil
	snapshot, err := d.source.Scan(d.t.Context())
	words := names(snapshot)
	if err != nil {
		require.ErrorIs(d.t, err, manifest.ErrListing)
		words = append(words, "error")
	}
	for _, p := range d.problems {
		words = append(words, d.told(p))
	}
	return strings.Join(words, " ")
}

func names(s source.Snapshot) (words []string) {
	for _, p := range s.Pods {
		words = append(words, p.Name)
	}
	if s.Incomplete {
		words = append(words, "incomplete")
	}
	return words
}

func (d *dir) told(p manifest.Problem) string {
	rel, err := filepath.Rel(d.path, p.Path)
	require.NoError(d.t, err)
	s := fmt.Sprintf("[%s:%d %s", rel, p.Line, kind(p.Err))
	if p.Kept {
		s += " kept"
	}
	return s + "]"
}

func podYAML(name, image string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, image: %s}]}\n", name, image)
}
