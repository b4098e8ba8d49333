package lint

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the findings in testdata anew, to be defended in review")

// TestHouse holds the rules against this repository.
func TestHouse(t *testing.T) {
	h := Podkeel()
	m, err := Load("../..", h.Module)
	require.NoError(t, err)
	require.Greater(t, len(m.Packages), 10, "the repository was not read")
	if found := Check(m, h); len(found) > 0 {
		t.Errorf("%d findings\n%s", len(found), lines(found))
	}
}

// TestRules holds each rule against a small house that breaks it.
func TestRules(t *testing.T) {
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata", name)
			h := fixture(name)
			m, err := Load(dir, h.Module)
			require.NoError(t, err)
			r := &findings{m: m, rule: name}
			rule(r, h)
			require.NotEmpty(t, r.all, "a rule that nothing breaks is no rule")
			got := lines(sorted(r.all))
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

// fixture is the house in which the broken ones of testdata are judged.
func fixture(rule string) House {
	h := House{
		Module: "house.test",
		Rooms: []Room{
			{"words", Words, Floor1a},
			{"core", Pure, Floor1b},
			{"quiet", Quiet, Floor2},
			{"shell", Shell, Floor3},
			{"neighbour", Shell, Floor3},
			{"syncer", Shell, Floor3},
			{"edge", Edge, Floor4},
			{"kit", Kit, Floor4},
			{"loop", Shell, Floor5a},
			{"program", Main, Floor6},
		},
		Ground: []string{"example.com/ground"},
		Doors: []Door{
			{"example.com/heavy", []string{"edge"}},
			{"example.com/testing", []string{"test"}},
		},
	}
	switch rule {
	case "size":
		h.Limits.FileLines = 10
		h.Simulated = []string{"shell"}
	case "hidden":
		h.Hidden = []string{"core Config.Known queue"}
	case "toplevel":
		h.TopLevel = []string{"pleg", "go.mod"}
	case "room":
		h.Rooms = []Room{{"core", Pure, Floor1b}, {"cellar", Pure, Floor1b}, {"program", Main, Floor6}, {"shows/*", Main, Floor6}, {"none/*", Main, Floor6}}
	case "floor":
		h.Stairs = []Stair{{"syncer", "shell", "it may"}, {"loop", "shell", "it might"}}
	}
	return h
}

// TestLoad_AFileThatDoesNotParse must not be passed over.
func TestLoad_AFileThatDoesNotParse(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package"), 0o644))
	_, err := Load(dir, "house.test")
	assert.Error(t, err)
}

// TestTable is the sanity of the table itself.
func TestTable(t *testing.T) {
	h := Podkeel()
	var dirs []string
	for _, r := range h.Rooms {
		assert.False(t, slices.Contains(dirs, r.Dir), "%s stands there twice", r.Dir)
		dirs = append(dirs, r.Dir)
		top, _, _ := strings.Cut(r.Dir, "/")
		assert.Contains(t, h.TopLevel, top)
	}
	assert.Equal(t, "1a 5c 6", fmt.Sprint(Floor1a, " ", Floor5c, " ", Floor6))
}

func lines(found []Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}
