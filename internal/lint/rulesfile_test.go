package lint

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRuleTables_Needed: the lists of packages without rules, or with long comments, shrink when a package gets rules
// or shorter comments.
func TestRuleTables_Needed(t *testing.T) {
	h := Podkeel()
	m := loadModule(t)
	unruled, uncontracted := h.Unruled, h.Uncontracted
	h.Unruled, h.Uncontracted = nil, nil
	rules, docs := &findings{m: m, rule: "ruletable"}, &findings{m: m, rule: "contract"}
	checkRuleTables(rules, h)
	checkCommentLengthsAndIDs(docs, h)
	assert.Empty(t, dirsWithoutFinding(unruled, rules.all), "packages that need not be listed as unruled")
	assert.Empty(t, dirsWithoutFinding(uncontracted, docs.all), "packages that need not be listed as uncontracted")
}

// dirsWithoutFinding returns the directories without a finding.
func dirsWithoutFinding(dirs []string, found []Finding) []string {
	var out []string
	for _, dir := range dirs {
		about := func(f Finding) bool { return f.File == dir || path.Dir(f.File) == dir }
		if !slices.ContainsFunc(found, about) {
			out = append(out, dir)
		}
	}
	return out
}

// TestRuleTables_Tests writes the tests that cite a rule into its row, with -rewrite.
func TestRuleTables_Tests(t *testing.T) {
	if !*rewrite {
		t.Skip("only with -rewrite: TestHouse checks what stands there")
	}
	m := loadModule(t)
	for _, p := range m.Packages {
		name := filepath.Join(m.Root, p.Dir, "RULES.md")
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		cited, err := findCitations(m, p)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, []byte(RewriteTests(string(text), cited)), 0o644))
	}
}

// TestRewriteTests puts tests with the id in their names first, and counts the rest.
func TestRewriteTests(t *testing.T) {
	row := "text\n| B-001 | It keeps. | `TestGone` | None. |\n| I2 | It does. |  | |\n"
	id := findIDs("B-001")[0]
	var cited []Citation
	for _, test := range []string{"b_test.go", "TestB", "testdata/a.txt", "TestZ_B001", "TestA", "TestC", "TestA"} {
		cited = append(cited, Citation{ID: id, Test: test})
	}
	want := "text\n| B-001 | It keeps. | `TestZ_B001`, `testdata/a.txt`, `TestA`, `TestB`, `TestC` and 1 more | None. |\n| I2 | It does. |  |  |\n"
	assert.Equal(t, want, RewriteTests(row, cited))
	again := parseRulesTableRows(want)
	assert.Equal(t, []string{"TestZ_B001", "testdata/a.txt", "TestA", "TestB", "TestC"}, again[0].Tests)
	assert.Equal(t, "None.", again[0].Difference)
}

// TestIDs are what counts as the id of a rule.
func TestIDs(t *testing.T) {
	for text, want := range map[string]string{
		"B-001, B-003 to B-005; I7":           "[B-001 B-003 B-004 B-005 I7]",
		"TestX_B098toB100_Numbers":            "[B-098 B-099 B-100]",
		"TestX_I1ToI3":                        "[I1 I2 I3]",
		"TestX_CA1_I37":                       "[CA-1 I37]",
		"I34-I36 (KC-2)":                      "[KC-2 I34 I35 I36]",
		"UTF-8 KEP-12 aB-001 x/I7 F100 v1_F3": "[]",
	} {
		assert.Equal(t, want, fmt.Sprint(findIDs(text)), text)
	}
}
