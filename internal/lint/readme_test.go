package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadme_Floors: the drawing in the README is the floor table, and its list
// of packages has all that an importer can get.
func TestReadme_Floors(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, readme, _ := strings.Cut(string(text), "## The floors")
	drawing, _, _ := strings.Cut(strings.SplitN(readme, "```\n", 2)[1], "```")
	drawn := map[string][]string{}
	floor := ""
	for line := range strings.Lines(drawing) {
		words := strings.Fields(line)
		if line[0] != ' ' {
			floor = words[0]
		}
		for _, word := range words {
			if room(word) {
				drawn[floor] = append(drawn[floor], word)
			}
		}
	}
	h := Podkeel()
	want := map[string][]string{"0": h.Ground}
	for _, r := range h.Rooms {
		want[r.Floor.String()] = append(want[r.Floor.String()], r.Dir)
		if !strings.HasPrefix(r.Dir, "examples/") && !strings.Contains(r.Dir, "internal/") {
			assert.Contains(t, readme, "\n| ["+r.Dir+"]("+r.Dir+"/doc.go) | ")
		}
	}
	for floor, dirs := range want {
		assert.ElementsMatch(t, dirs, drawn[floor], "floor %s", floor)
	}
	assert.Len(t, drawn, len(want))
}

// room is true of the words in the drawing that name a package of the house or
// of the ground.
func room(word string) bool {
	if slices.Contains(Podkeel().Ground, word) || strings.Contains(word, "*") {
		return true
	}
	_, err := os.Stat(filepath.Join("../..", word))
	return err == nil
}
