package lint

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const maxTestsCell = 5 // More are not listed in a row.

var (
	rulesRow  = regexp.MustCompile(`^\| ([A-Z]+-?\d+) \| (.*) \| (.*) \| ?(.*?) ?\|$`)
	rulesTest = regexp.MustCompile("`([^`]+)`")
)

// Rule is a row of a RULES.md.
type Rule struct {
	ID         ID
	Line       int
	Sentence   string
	Tests      []string
	Difference string
}

// checkRuleTables compares the RULES.md of each package with the ids that the package cites. Each cited id
// needs a row with a sentence, and each row needs a test or a file in testdata that cites its id. A package
// without citations needs no RULES.md.
func checkRuleTables(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		if slices.Contains(h.Unruled, p.Dir) || p.Dir == "internal/lint" { // Its ids are examples.
			continue
		}
		cited, err := findCitations(r.m, p)
		if err != nil {
			r.reportFile(p.Dir, "cannot be read: %v", err)
			continue
		}
		file := path.Join(p.Dir, "RULES.md")
		text, err := os.ReadFile(filepath.Join(r.m.Root, file))
		if os.IsNotExist(err) {
			if len(cited) > 0 {
				r.reportFile(p.Dir, "cites %s in %s and has no RULES.md that says what it means", cited[0].ID, cited[0].File)
			}
			continue
		}
		checkRuleTable(r, file, parseRulesTableRows(string(text)), cited)
	}
}

// checkRuleTable reports rows of one RULES.md that are out of order or without a sentence, rows whose tests do
// not agree with the citations, and cited ids without a row.
func checkRuleTable(r *findings, file string, rows []Rule, cited []Citation) {
	rowOf := map[ID]bool{}
	for i, row := range rows {
		if i > 0 && compareIDs(rows[i-1].ID, row.ID) >= 0 {
			r.reportLine(file, row.Line, "%s is out of order, or there twice", row.ID)
		}
		if row.Sentence == "" {
			r.reportLine(file, row.Line, "%s has no sentence that says what the rule is", row.ID)
		}
		rowOf[row.ID] = true
		checkRuleTests(r, file, row, cited)
	}
	for _, c := range cited {
		if !rowOf[c.ID] {
			r.reportLine(c.File, c.Line, "cites %s, which %s does not have", c.ID, file)
		}
	}
}

// checkRuleTests reports a row whose id no test cites, a test in the row that does not cite the id, and a row
// that lists no test although a test cites the id.
func checkRuleTests(r *findings, file string, row Rule, cited []Citation) {
	tests := testsCitingRule(row.ID, cited)
	if len(tests) == 0 {
		r.reportLine(file, row.Line, "no test or story of this package cites %s", row.ID)
	}
	for _, name := range row.Tests {
		if !slices.Contains(tests, name) {
			r.reportLine(file, row.Line, "%s does not cite %s: go test ./internal/lint -run TestRuleTables -rewrite", name, row.ID)
		}
	}
	if len(row.Tests) == 0 && len(tests) > 0 {
		r.reportLine(file, row.Line, "%s names no test: go test ./internal/lint -run TestRuleTables -rewrite", row.ID)
	}
}

// testsCitingRule returns the tests that cite a rule, without duplicates: first those with the id in their
// name, then files in testdata, then other test functions, then test files.
func testsCitingRule(id ID, cited []Citation) []string {
	var out []string
	for _, c := range cited {
		if c.ID == id && c.Test != "" {
			out = append(out, c.Test)
		}
	}
	rank := func(name string) string {
		switch {
		case slices.Contains(findIDs(name), id):
			return "1" + name
		case strings.Contains(name, "/"):
			return "2" + name
		case testedName.MatchString(name):
			return "3" + name
		}
		return "4" + name
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
	return slices.Compact(out)
}

// reportLine adds a finding for a line of a file.
func (r *findings) reportLine(file string, line int, format string, args ...any) {
	r.all = append(r.all, Finding{file, line, r.rule, fmt.Sprintf(format, args...)})
}

// parseRulesTableRows returns the table rows of a RULES.md whose first cell has exactly one id.
func parseRulesTableRows(text string) []Rule {
	var out []Rule
	number := 0
	for line := range strings.Lines(text) {
		number++
		m := rulesRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		ids := findIDs(m[1])
		if len(ids) != 1 {
			continue
		}
		rule := Rule{ID: ids[0], Line: number, Sentence: strings.TrimSpace(m[2]), Difference: m[4]}
		for _, name := range rulesTest.FindAllStringSubmatch(m[3], -1) {
			rule.Tests = append(rule.Tests, name[1])
		}
		out = append(out, rule)
	}
	return out
}

// RewriteTests returns a RULES.md in which each row lists the tests that cite its rule.
func RewriteTests(text string, cited []Citation) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		rows := parseRulesTableRows(line)
		if len(rows) != 1 {
			b.WriteString(line)
			continue
		}
		row := rows[0]
		tests := testsCitingRule(row.ID, cited)
		more := ""
		if len(tests) > maxTestsCell {
			tests, more = tests[:maxTestsCell], fmt.Sprintf(" and %d more", len(tests)-maxTestsCell)
		}
		cell := ""
		if len(tests) > 0 {
			cell = "`" + strings.Join(tests, "`, `") + "`" + more
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.ID, row.Sentence, cell, row.Difference)
	}
	return b.String()
}
