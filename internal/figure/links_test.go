package figure_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPages_ShowEachFigure: the pages show exactly the figures of this directory, by relative links.
func TestPages_ShowEachFigure(t *testing.T) {
	drawn, err := filepath.Glob("*.svg")
	require.NoError(t, err)
	var shown []string
	for _, page := range []string{"../../README.md", "../../examples/agent/README.md", "../../examples/tour/README.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, link := range regexp.MustCompile(`!\[.+\]\((.+)\)`).FindAllSubmatch(text, -1) {
			file, err := filepath.Rel("../../internal/figure", filepath.Join(filepath.Dir(page), string(link[1])))
			require.NoError(t, err)
			shown = append(shown, file)
		}
	}
	slices.Sort(shown)
	assert.Equal(t, drawn, slices.Compact(shown))
}
