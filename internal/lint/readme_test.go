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

// TestReadme_Layers: the drawing in doc.go is the table of layers. TestPackages holds the list of packages.
func TestReadme_Layers(t *testing.T) {
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
			if namesPackage(word) {
				drawn[layer] = append(drawn[layer], word)
			}
		}
	}
	h := Podkeel()
	want := map[string][]string{"0": h.Base}
	for _, r := range h.Rows {
		want[r.Layer.String()] = append(want[r.Layer.String()], r.Dir)
	}
	for layer, dirs := range want {
		assert.ElementsMatch(t, dirs, drawn[layer], "layer %s", layer)
	}
	assert.Len(t, drawn, len(want))
}

// namesPackage reports whether a word of the drawing names a package of the codebase or of its base.
func namesPackage(word string) bool {
	if slices.Contains(Podkeel().Base, word) || strings.Contains(word, "*") {
		return true
	}
	_, err := os.Stat(filepath.Join("../..", word))
	return err == nil
}
