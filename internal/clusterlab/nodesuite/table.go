package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// row is the row of a spec in NODESUITE.md. An outcome is empty if the spec has not run on that node.
type row struct{ podkeel, kubelet, why string }

// table is NODESUITE.md.
type table struct {
	head string // the text before the table
	rows map[string]*row
}

// tableHead is the head of the table.
const tableHead = "| spec | podkeel | kubelet | why |\n|---|---|---|---|\n"

// readTable reads a table. A file that does not exist is an empty table.
func readTable(file string) (*table, error) {
	t := &table{rows: map[string]*row{}}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) || file == "" {
		return t, nil
	} else if err != nil {
		return nil, err
	}
	head, body, found := strings.Cut(string(text), tableHead)
	if t.head = head; !found {
		return nil, fmt.Errorf("%s has no table of specs", file)
	}
	for line := range strings.Lines(body) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 4 {
			return nil, fmt.Errorf("%s: a row of a spec has %d cells: %s", file, len(cells), line)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		t.rows[cells[0]] = &row{podkeel: cells[1], kubelet: cells[2], why: cells[3]}
	}
	return t, nil
}

// escapeCell returns the text with "/" for each "|", so that it can be a cell of a table.
func escapeCell(text string) string { return strings.ReplaceAll(text, "|", "/") }

// storeResults stores the results of a node. A spec that passes on Podkeel needs no reason.
func (t *table) storeResults(node string, results []result) {
	for _, r := range results {
		name := escapeCell(r.Spec)
		line := t.rows[name]
		if line == nil {
			line = &row{}
			t.rows[name] = line
		}
		if node == nodeKubelet {
			line.kubelet = r.Outcome
			continue
		}
		if line.podkeel = r.Outcome; r.Outcome == "passed" {
			line.why = ""
		} else if r.Outcome == "skipped" {
			line.why = escapeCell("skipped: " + r.Message)
		} else if line.why == "" || strings.HasPrefix(line.why, "skipped: ") {
			line.why = escapeCell("to be explained: " + r.Message)
		}
	}
}

// writeFile writes the table to a file. It does nothing without a file.
func (t *table) writeFile(file string) error {
	if file == "" {
		return nil
	}
	var b strings.Builder
	b.WriteString(t.head + tableHead)
	for _, name := range slices.Sorted(maps.Keys(t.rows)) {
		r := t.rows[name]
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, r.podkeel, r.kubelet, r.why)
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// printAndCheckResults prints the specs that did not pass with their reasons. It returns an error if the table says that one of them
// passes, or if no spec has run.
func (t *table) printAndCheckResults(out io.Writer, node string, results []result) error {
	worse := 0
	for _, r := range results {
		recorded := t.rows[escapeCell(r.Spec)]
		if recorded == nil {
			recorded = &row{}
		}
		before := recorded.podkeel
		if node == nodeKubelet {
			before = recorded.kubelet
		}
		switch {
		case r.Outcome == "passed":
		case before == "passed":
			worse++
			fmt.Fprintf(out, "FAILED: %s: %s\n", r.Spec, r.Message)
		default:
			fmt.Fprintf(out, "%s: %s: %s\n", r.Outcome, r.Spec, recorded.why)
		}
	}
	if worse > 0 {
		return fmt.Errorf("%d specs did not pass that NODESUITE.md marks as passed", worse)
	}
	if len(results) == 0 {
		return errors.New("no spec has run")
	}
	return nil
}
