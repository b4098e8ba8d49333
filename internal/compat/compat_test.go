//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPage: the page equals the page that the program renders from the stored results. Each stored result has a row.
func TestPage(t *testing.T) {
	results, err := readResults("results.json")
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join("../..", pageFile))
	require.NoError(t, err)
	assert.Equal(t, renderPage(pageHead, pageTables(), results), string(page), "run: go run ./internal/compat -page")
	for table, rows := range results {
		for row := range rows {
			_, err := selectRows(pageTables(), []string{table + "/" + row})
			assert.NoError(t, err)
		}
	}
}

// TestDecideCell: the steps of a column decide its verdict, and the other steps do not.
func TestDecideCell(t *testing.T) {
	build := Step{Command: "build", Compiles: []string{"core"}}
	tests := Step{Command: "test", Tests: map[string][]string{"core": nil}}
	named := Step{Command: "test -v", Tests: map[string][]string{"core": {"TestA", "TestB/2"}}}
	other := Step{Command: "other", Tests: map[string][]string{"agent": nil}}
	good := StepResult{Ran: true, Succeeded: true}
	bad := StepResult{Ran: true, Fault: "TestA fails"}
	for name, c := range map[string]struct {
		steps   []Step
		results []StepResult
		want    string
	}{
		"no step of the column":               {[]Step{other}, []StepResult{good}, "not run"},
		"a step has not run":                  {[]Step{build}, []StepResult{{}}, "not run: not run: build"},
		"it compiles":                         {[]Step{build}, []StepResult{good}, "compiles"},
		"it does not compile":                 {[]Step{build, tests}, []StepResult{bad, bad}, "no: TestA fails"},
		"the tests have passed":               {[]Step{build, tests}, []StepResult{good, good}, "tested"},
		"the tests have failed":               {[]Step{build, tests}, []StepResult{good, bad}, "compiles: TestA fails"},
		"the tests have not run":              {[]Step{build, tests}, []StepResult{good, {}}, "compiles: not run: test"},
		"only tests, and they have failed":    {[]Step{tests}, []StepResult{bad}, "no: TestA fails"},
		"the other column does not count":     {[]Step{tests, other}, []StepResult{good, bad}, "tested"},
		"later tests have failed":             {[]Step{tests, named}, []StepResult{good, bad}, "compiles: TestA has not passed: TestA fails"},
		"all named tests have passed":         {[]Step{named}, []StepResult{{Ran: true, Fault: "TestC fails", Passed: []string{"TestB/2", "TestA"}}}, "tested"},
		"a named test has not passed":         {[]Step{named}, []StepResult{{Ran: true, Fault: "panic", Passed: []string{"TestA"}}}, "no: TestB/2 has not passed: panic"},
		"a named test was skipped":            {[]Step{named}, []StepResult{{Ran: true, Succeeded: true, Passed: []string{"TestA"}}}, "no: TestB/2 was skipped"},
		"the name of another test is similar": {[]Step{named}, []StepResult{{Ran: true, Succeeded: true, Passed: []string{"TestA", "TestB/22"}}}, "no: TestB/2 was skipped"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, decideCell("core", c.steps, c.results).String()) })
	}
}

// TestWorseCells: a cell that proves less than the stored one is worse, also if no command has run now.
func TestWorseCells(t *testing.T) {
	row := selectedRow{Table{Name: "platforms", Columns: []string{"core", "all"}}, Row{Name: "linux/386"}}
	result := func(core, all Verdict) RowResult {
		return RowResult{Cells: map[string]Cell{"core": {core, ""}, "all": {all, "reason"}}}
	}
	assert.Empty(t, worseCells(row, result(Tested, Compiles), result(Tested, Compiles)))
	assert.Empty(t, worseCells(row, result(Compiles, No), result(Tested, NotRun)))
	assert.Equal(t, []string{
		`platforms/linux/386, core: stored "tested", now "compiles"`, `platforms/linux/386, all: stored "compiles", now "no: reason"`,
	}, worseCells(row, result(Tested, Compiles), result(Compiles, No)))
	assert.Equal(t, []string{`platforms/linux/386, core: stored "tested", now "not run"`}, worseCells(row, result(Tested, No), result(NotRun, Tested)))
	assert.Equal(t, []string{`platforms/linux/386, all: stored "compiles", now "no: reason"`}, worseCells(row, RowResult{}, result(Compiles, No)),
		"a new row has to compile")
}

// TestSelectRows: an argument names a table or a row, and a wrong one is an error that names it.
func TestSelectRows(t *testing.T) {
	small := []Table{{Name: "a", Rows: []Row{{Name: "x/y"}, {Name: "z"}}}, {Name: "b", Rows: []Row{{Name: "z"}}}}
	for arguments, want := range map[string][]string{"": {"a/x/y", "a/z", "b/z"}, "a": {"a/x/y", "a/z"}, "a/x/y": {"a/x/y"}} {
		var in, names []string
		if arguments != "" {
			in = []string{arguments}
		}
		selected, err := selectRows(small, in)
		require.NoError(t, err)
		for _, s := range selected {
			names = append(names, s.String())
		}
		assert.Equal(t, want, names)
	}
	_, err := selectRows(small, []string{"a", "z"})
	assert.EqualError(t, err, "no table or row has the name z")
}

// TestReadOutput: the fault of a failed command is a failed test, an error of the compiler, or the last line.
func TestReadOutput(t *testing.T) {
	for text, want := range map[string]StepResult{
		"--- PASS: TestA (0.1s)\n    --- PASS: TestB/c (0s)\n--- SKIP: TestD (0s)\nok\n":                      {Ran: true, Succeeded: true, Passed: []string{"TestA", "TestB/c"}},
		"--- PASS: TestA (0.1s)\n    --- FAIL: TestB/c (0s)\n--- FAIL: TestB (0s)\nFAIL\n":                    {Ran: true, Passed: []string{"TestA"}, Fault: "TestB/c fails"},
		"# example.org/a\na/b.go:3:5: constant 4294967296 overflows int\na/b.go:4:5: too many errors\nFAIL\n": {Ran: true, Fault: "a/b.go:3:5: constant 4294967296 overflows int"},
		"go: downloading\ngo: no network\n\n":                                                                 {Ran: true, Fault: "go: no network"},
		"":                                                                                                    {Ran: true},
	} {
		assert.Equal(t, want, readOutput(text, want.Succeeded), text)
	}
}

// TestRenderPage: a page with every kind of cell. Rows with the same commands share a place in the list of commands.
func TestRenderPage(t *testing.T) {
	join := Step{Command: "test {row}", Compiles: []string{"join"}, Tests: map[string][]string{"join": {"A/{row}/x", "B"}}}
	table := Table{
		Name: "servers", Title: "Servers", Intro: "An introduction.", Subject: "server", Columns: []string{"join", "logs"},
		Rows: []Row{
			{Name: "1.1", Steps: []Step{join, {Command: "logs"}}},
			{Name: "1.2", Steps: []Step{{Command: "two", Tests: map[string][]string{"logs": nil}}}},
			{Name: "1.3", Steps: []Step{join, {Command: "logs"}}},
		},
	}
	results := Results{"servers": {
		"1.1": {Versions: "v1.1.7", Cells: map[string]Cell{"join": {Verdict: Tested}, "logs": {Compiles, "TestLogs fails"}}},
		"1.2": {Cells: map[string]Cell{"join": {No, "B was skipped"}, "logs": {Verdict: Tested}}},
	}}
	page, err := os.ReadFile("testdata/page.md")
	require.NoError(t, err)
	assert.Equal(t, string(page), renderPage("# Page\n", []Table{table}, results))
	assert.Equal(t, Step{Command: "test 1.3", Compiles: []string{"join"}, Tests: map[string][]string{"join": {"A/1.3/x", "B"}}}, table.Rows[2].namedSteps()[0])
}

// TestRunRow: the commands run in order in a copy, and a failed build ends the row.
func TestRunRow(t *testing.T) {
	root := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), []byte("v1.2.3\n"), 0o600))
	table := Table{Name: "t", Columns: []string{"core", "agent"}}
	row := Row{Name: "r", InCopy: true, Versions: "cat file", Steps: []Step{
		{Command: "test -e file; echo changed >>file; rm file; echo v2 >file", Compiles: []string{"core"}},
		{Command: "echo '--- PASS: TestA (0.00s)'", Tests: map[string][]string{"core": {"TestA"}}},
		{Command: "echo a.go:1: wrong; false | true; echo reached", Compiles: []string{"agent"}},
		{Command: "echo never", Tests: map[string][]string{"agent": nil}},
	}}
	result, err := runRow(t.Context(), root, selectedRow{table, row})
	require.NoError(t, err)
	assert.Equal(t, RowResult{Versions: "v2", Cells: map[string]Cell{"core": {Verdict: Tested}, "agent": {No, "a.go:1: wrong"}}}, result)
	left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "podkeel-compat-*"))
	require.NoError(t, err)
	assert.Empty(t, left, "the copy is removed")
	text, err := os.ReadFile(filepath.Join(root, "file"))
	require.NoError(t, err)
	assert.Equal(t, "v1.2.3\n", string(text), "the copy has changed, the repository has not")
}
