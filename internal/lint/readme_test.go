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

// TestReadme_Layers: the drawing in doc.go is the table of layers, and the README's
// list of packages has all that an importer can get.
func TestReadme_Layers(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	readme := string(text)
	assert.LessOrEqual(t, strings.Count(readme, "\n"), 200, "the README takes two minutes to read: details stand beside their package")
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, drawing, _ := strings.Cut(string(doc), "// # Layers\n")
	drawing = strings.ReplaceAll(drawing, "//\t", "")
	drawing, _, _ = strings.Cut(drawing[strings.Index(drawing, "\n6 ")+1:], "package lint")
	drawn := map[string][]string{}
	layer := ""
	for line := range strings.Lines(drawing) {
		words := strings.Fields(line)
		if line[0] != ' ' {
			layer = words[0]
		}
		for _, word := range words {
			if row(word) {
				drawn[layer] = append(drawn[layer], word)
			}
		}
	}
	h := Podkeel()
	want := map[string][]string{"0": h.Base}
	for _, r := range h.Rows {
		want[r.Layer.String()] = append(want[r.Layer.String()], r.Dir)
		if !strings.HasPrefix(r.Dir, "examples/") && !slices.Contains(strings.Split(r.Dir, "/"), "internal") {
			assert.Regexp(t, `(?m)^\| .*\[`+r.Dir+`\]\(`+r.Dir+`/doc\.go\).* \| `, readme, "a row may name several packages")
		}
	}
	for layer, dirs := range want {
		assert.ElementsMatch(t, dirs, drawn[layer], "layer %s", layer)
	}
	assert.Len(t, drawn, len(want))
}

// row is true of the words in the drawing that name a package of the codebase or
// of the ground.
func row(word string) bool {
	if slices.Contains(Podkeel().Base, word) || strings.Contains(word, "*") {
		return true
	}
	_, err := os.Stat(filepath.Join("../..", word))
	return err == nil
}
