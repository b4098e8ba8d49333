package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWorkflow_Steps: the workflow runs every step of .ci/run as a job of its own, and no other.
func TestWorkflow_Steps(t *testing.T) {
	words := func(file, pattern, between string) []string {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		require.NoError(t, err)
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		require.NotNil(t, found, "%s has no %s", file, pattern)
		return strings.Split(string(found[1]), between)
	}
	assert.Equal(t, words(".ci/run", `readonly steps=\(([^)]*)\)`, " "), words(".github/workflows/ci.yml", `step: \[([^]]*)\]`, ", "))
}

// TestGitHub_Links: the files that the pages of .github link to exist.
func TestGitHub_Links(t *testing.T) {
	links := 0
	for _, page := range []string{"../../.github/CONTRIBUTING.md", "../../.github/SECURITY.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllSubmatch(text, -1) {
			links++
			_, err := os.Stat(filepath.Join(filepath.Dir(page), string(link[1])))
			assert.NoError(t, err, page)
		}
	}
	assert.Greater(t, links, 10, "the search itself is broken")
}
