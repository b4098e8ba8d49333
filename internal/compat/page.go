//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pageFile is the path of the page, from the root of the repository.
const pageFile = "internal/COMPATIBILITY.md"

// Table is a table of the page.
type Table struct {
	// Name selects the table on the command line.
	Name string
	// Title, Intro and Subject are the heading, the text below it, and the head of the first column.
	Title, Intro, Subject string
	Columns               []string
	Rows                  []Row
}

// Row is a row of a table.
type Row struct {
	// Name selects the row, and is its first cell if the result names no versions.
	Name string
	// Steps are the commands. {row} in them is the name of the row.
	Steps []Step
	// Versions is a command that prints the versions that were tested. It runs after the steps.
	Versions string
	// Printed is a regular expression for the versions in the output of the steps, if Versions is empty.
	Printed string
	// InCopy makes the commands run in a copy of the repository, because they change go.mod.
	InCopy bool
	// Informational is true if a worse result is not an error.
	Informational bool
}

// namedSteps returns the steps with the name of the row.
func (r Row) namedSteps() (steps []Step) {
	name := func(text string) string { return strings.ReplaceAll(text, "{row}", r.Name) }
	for _, step := range r.Steps {
		tests := map[string][]string{}
		for column, names := range step.Tests {
			tests[column] = nil
			for _, test := range names {
				tests[column] = append(tests[column], name(test))
			}
		}
		steps = append(steps, Step{Command: name(step.Command), Compiles: step.Compiles, Tests: tests})
	}
	return steps
}

// RowResult is the stored result of a row.
type RowResult struct {
	// Versions names the versions that were tested.
	Versions string          `json:"versions,omitempty"`
	Cells    map[string]Cell `json:"cells"`
}

// Results are the results by table and row.
type Results map[string]map[string]RowResult

// selectedRow is a row with its table.
type selectedRow struct {
	table Table
	row   Row
}

// String returns the argument that selects the row.
func (s selectedRow) String() string { return s.table.Name + "/" + s.row.Name }

// selectRows returns the rows that the arguments name, in the order of the tables. Without arguments it returns all rows.
// An argument names a table, or a table and a row, as in "platforms/linux/386".
func selectRows(tables []Table, arguments []string) (selected []selectedRow, err error) {
	unused := slices.Clone(arguments)
	for _, table := range tables {
		for _, row := range table.Rows {
			s := selectedRow{table, row}
			isNamed := func(argument string) bool { return argument == table.Name || argument == s.String() }
			if len(arguments) == 0 || slices.ContainsFunc(arguments, isNamed) {
				selected = append(selected, s)
			}
			unused = slices.DeleteFunc(unused, isNamed)
		}
	}
	if len(unused) > 0 {
		return nil, fmt.Errorf("no table or row has the name %s", unused[0])
	}
	return selected, nil
}

// readResults reads a file of results. It returns no results if the file does not exist.
func readResults(file string) (Results, error) {
	results := Results{}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return results, nil
	} else if err != nil {
		return nil, err
	}
	return results, json.Unmarshal(text, &results)
}

// storeRow stores the result of a row.
func (r Results) storeRow(row selectedRow, result RowResult) {
	if r[row.table.Name] == nil {
		r[row.table.Name] = map[string]RowResult{}
	}
	r[row.table.Name][row.row.Name] = result
}

// writeFiles writes the results and the page.
func (r Results) writeFiles(root string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(root, "internal/compat/results.json"), append(text, '\n'), 0o644),
		os.WriteFile(filepath.Join(root, pageFile), []byte(renderPage(pageHead, pageTables(), r)), 0o644),
	)
}

// renderPage returns the page.
func renderPage(head string, tables []Table, results Results) string {
	var b strings.Builder
	b.WriteString(head)
	for _, table := range tables {
		renderTable(&b, table, results[table.Name])
	}
	return b.String()
}

// renderTable writes a table, the reasons of its cells, the tests of its columns, and the commands of its rows.
func renderTable(b *strings.Builder, table Table, results map[string]RowResult) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n| %s | %s | made by |\n|%s\n", table.Title, table.Intro, table.Subject,
		strings.Join(table.Columns, " | "), strings.Repeat("---|", len(table.Columns)+2))
	var reasons []string
	for _, row := range table.Rows {
		result := results[row.Name]
		first := row.Name
		if result.Versions != "" {
			first = result.Versions
		}
		fmt.Fprintf(b, "| %s |", first)
		for _, column := range table.Columns {
			cell, found := result.Cells[column]
			if !found {
				cell.Verdict = NotRun
			}
			fmt.Fprintf(b, " %s |", cell.Verdict)
			if cell.Reason != "" {
				reasons = append(reasons, fmt.Sprintf("%s, %s: %s", first, column, cell.Reason))
			}
		}
		fmt.Fprintf(b, " `go run ./internal/compat %s` |\n", selectedRow{table, row})
	}
	writeList(b, "Why a cell is not \"tested\":", reasons)
	writeList(b, "The tests of the columns:", columnTests(table))
	b.WriteString("\nThe commands:\n\n```\n" + rowCommands(table) + "```\n")
}

// columnTests returns a line for each column that has named tests. The names contain {row}, which stands for the name of
// the row.
func columnTests(table Table) (lines []string) {
	for _, column := range table.Columns {
		var names []string
		for _, row := range table.Rows {
			for _, step := range row.Steps {
				for _, name := range step.Tests[column] {
					if !slices.Contains(names, name) {
						names = append(names, name)
					}
				}
			}
		}
		if names != nil {
			lines = append(lines, fmt.Sprintf("%s: `%s`", column, strings.Join(names, "`, `")))
		}
	}
	return lines
}

// rowCommands returns the commands of the rows. Rows with the same commands share one entry, below a line with their
// names.
func rowCommands(table Table) string {
	var texts []string
	rows := map[string][]string{}
	for _, row := range table.Rows {
		text := ""
		for _, step := range row.Steps {
			text += step.Command + "\n"
		}
		if rows[text] == nil {
			texts = append(texts, text)
		}
		rows[text] = append(rows[text], row.Name)
	}
	var b strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&b, "# %s\n%s", strings.Join(rows[text], ", "), text)
	}
	return b.String()
}

// writeList writes a list with a sentence above it. It writes nothing if the list is empty.
func writeList(b *strings.Builder, sentence string, items []string) {
	if len(items) > 0 {
		fmt.Fprintf(b, "\n%s\n\n- %s\n", sentence, strings.Join(items, "\n- "))
	}
}
