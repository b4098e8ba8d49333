package plain_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/internal/plain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"node: pod default/web: runtime: not found": "pod default/web: not found",
		"runtime: not found":                        "not found",
		"volumes: objects: ConfigMap a/b: runtime: not found\npleg: no list for 4m0s": "ConfigMap a/b: not found\nno list for 4m0s",
		"it failed (runtime: not ready; cri: x)":                                      "it failed (not ready; x)",
		"pod node: it is fine":                                                        "pod node: it is fine",
		"the runtime: is what it is":                                                  "the runtime: is what it is",
		`container "x": exit code 3`:                                                  `container "x": exit code 3`,
		"http://node:80/runtime":                                                      "http://node:80/runtime",
		"podsync: CreateContainerConfigError: volumes: x":                             "x",
		"podsync: CrashLoopBackOff":                                                   "CrashLoopBackOff",
		"it failed: podsync: Completed: 3":                                            "it failed: 3",
	} {
		assert.Equal(t, want, plain.Text(text))
	}
}

// TestText_EveryPackage: the prefix of every package of the module is removed.
func TestText_EveryPackage(t *testing.T) {
	prefix := regexp.MustCompile(`(?:errors\.New|Errorf)\("([a-z]+): `)
	found := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "examples" || entry.Name() == "e2e" || entry.Name() == "clusterlab" || strings.HasSuffix(entry.Name(), "test")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		for _, m := range prefix.FindAllStringSubmatch(string(text), -1) {
			if m[1] != file.Name.Name {
				continue
			}
			found++
			assert.Equal(t, "broken", plain.Text(m[1]+": broken"), path)
		}
		return nil
	}))
	assert.Greater(t, found, 200)
}

// TestSentence: errors are shown without prefixes, and other arguments unchanged.
func TestSentence(t *testing.T) {
	err := fmt.Errorf("podsync: %w", errors.New("runtime: not found"))
	assert.Equal(t, "Error: not found, said node: runtime: x, 3", plain.Sentence("Error: %v, said %s, %d", err, "node: runtime: x", 3))
	assert.Contains(t, plain.Sentence("Error: %v", broken{}), "PANIC", "an error that panics costs nothing")
	assert.EqualError(t, err, "podsync: runtime: not found", "the arguments are not changed")
}

type broken struct{}

func (broken) Error() string { panic("broken") }
