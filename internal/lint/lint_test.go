package lint

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the findings in testdata anew, to be defended in review")

// loadPodkeel parses this repository once for all tests. They only read it.
var loadPodkeel = sync.OnceValues(func() (*Module, error) { return Load("../..", Podkeel().Module) })

func loadModule(t *testing.T) *Module {
	t.Helper()
	m, err := loadPodkeel()
	require.NoError(t, err)
	return m
}

// TestCodebase holds the rules against this repository.
func TestCodebase(t *testing.T) {
	h := Podkeel()
	m := loadModule(t)
	require.Greater(t, len(m.Packages), 10, "the repository was not read")
	if found := Check(m, h); len(found) > 0 {
		t.Errorf("%d findings\n%s", len(found), formatFindings(found))
	}
}

// TestRules holds each rule against a small module that breaks it.
func TestRules(t *testing.T) {
	for name, rule := range allRules() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata", name)
			h := fixtureCodebase(name)
			m, err := Load(dir, h.Module)
			require.NoError(t, err)
			r := &findings{m: m, rule: name}
			rule(r, h)
			require.NotEmpty(t, r.all, "a rule that nothing breaks is no rule")
			got := formatFindings(sortFindings(r.all))
			want := filepath.Join("testdata", name+".txt")
			if *rewrite {
				require.NoError(t, os.WriteFile(want, []byte(got), 0o644))
			}
			text, err := os.ReadFile(want)
			require.NoError(t, err)
			assert.Equal(t, string(text), got)
		})
	}
}

// fixtureCodebase returns the codebase of the faulty packages in testdata.
func fixtureCodebase(rule string) Codebase {
	h := Codebase{
		Module: "module.test",
		Rows: []Row{
			{"words", Words, Layer1a},
			{"core", Pure, Layer1b},
			{"passive", Passive, Layer2},
			{"shell", Shell, Layer3},
			{"neighbour", Shell, Layer3},
			{"syncer", Shell, Layer3},
			{"edge", Edge, Layer4},
			{"kit", Kit, Layer4},
			{"loop", Shell, Layer5a},
			{"program", Main, Layer6},
		},
		Base: []string{"example.com/ground"},
		SoleImporters: []SoleImporter{
			{"example.com/heavy", []string{"edge"}},
			{"example.com/ground/heavy", []string{"edge"}},
			{"example.com/testing", []string{"test"}},
		},
	}
	switch rule {
	case "size":
		h.Limits.FileLines = 10
		h.Simulated = []string{"shell"}
	case "summary":
		h.Tiers = map[string]Tier{"core": Experimental, "passive": Beta, "edge": Experimental}
	case "decoder":
		h.Documents = "core"
	case "hidden":
		h.Hidden = []string{"core Config.Known queue"}
	case "toplevel":
		h.TopLevel = []string{"pleg", "go.mod"}
	case "table":
		h.Rows = []Row{{"core", Pure, Layer1b}, {"cellar", Pure, Layer1b}, {"program", Main, Layer6}, {"shows/*", Main, Layer6}, {"none/*", Main, Layer6}}
	case "layer":
		h.Stairs = []Stair{{"syncer", "shell", "it may"}, {"loop", "shell", "it might"}}
	}
	return h
}

// TestLoad_AFileThatDoesNotParse must not be passed over.
func TestLoad_AFileThatDoesNotParse(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package"), 0o644))
	_, err := Load(dir, "module.test")
	assert.Error(t, err)
}

// TestTable is the sanity of the table itself.
func TestTable(t *testing.T) {
	h := Podkeel()
	var dirs []string
	for _, r := range h.Rows {
		assert.False(t, slices.Contains(dirs, r.Dir), "%s stands there twice", r.Dir)
		dirs = append(dirs, r.Dir)
		top, _, _ := strings.Cut(r.Dir, "/")
		assert.Contains(t, h.TopLevel, top)
	}
	assert.Equal(t, "1a 5c 6", fmt.Sprint(Layer1a, " ", Layer5c, " ", Layer6))
}

func formatFindings(found []Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}
