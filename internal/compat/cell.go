//go:build linux

package main

import (
	"fmt"
	"slices"
)

// Verdict is the text of a cell.
type Verdict string

// The verdicts.
const (
	// Tested: tests have passed.
	Tested Verdict = "tested"
	// Compiles: the code compiles. No test has run, or tests have failed.
	Compiles Verdict = "compiles"
	// No: the code does not compile, or a column that compiles nothing has a failed test.
	No Verdict = "no"
	// NotRun: no command has run.
	NotRun Verdict = "not run"
)

// Cell is a verdict with its reason. Tested has none.
type Cell struct {
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
}

// String returns the verdict and the reason.
func (c Cell) String() string {
	if c.Reason == "" {
		return string(c.Verdict)
	}
	return fmt.Sprintf("%s: %s", c.Verdict, c.Reason)
}

// Step is a command of a row.
type Step struct {
	// Command is run by bash in the root of the repository, or of a copy.
	Command string
	// Compiles are the columns whose code compiles if the command succeeds.
	Compiles []string
	// Tests are the tests that make a column "tested", by column. Without a name the command has to succeed.
	Tests map[string][]string
}

// StepResult is the result of a command.
type StepResult struct {
	Ran, Succeeded bool
	// Passed are the tests that have passed.
	Passed []string
	// Fault is the line of the output with the reason of a failure.
	Fault string
}

// decideCell returns the cell of a column. If a step fails that the column needs to compile, decideCell ignores the later
// steps of the column.
func decideCell(column string, steps []Step, results []StepResult) Cell {
	cell := Cell{Verdict: NotRun}
	for i, step := range steps {
		result := results[i]
		names, isTest := step.Tests[column]
		compiles := slices.Contains(step.Compiles, column)
		switch {
		case !isTest && !compiles:
		case !result.Ran:
			return Cell{cell.Verdict, "not run: " + step.Command}
		case !isTest && !result.Succeeded:
			return Cell{No, result.Fault}
		case isTest && testFault(names, result) != "":
			if cell.Verdict != Compiles && cell.Verdict != Tested {
				return Cell{No, testFault(names, result)}
			}
			return Cell{Compiles, testFault(names, result)}
		case isTest:
			cell.Verdict = Tested
		case cell.Verdict == NotRun:
			cell.Verdict = Compiles
		}
	}
	return cell
}

// testFault names the first of these tests that has not passed, with the reason. It returns "" if all have passed. Without
// names it returns the fault of the command, or "" if the command has succeeded.
func testFault(names []string, result StepResult) string {
	for _, name := range names {
		if slices.Contains(result.Passed, name) {
			continue
		}
		if result.Fault == "" {
			return name + " was skipped"
		}
		return name + " has not passed: " + result.Fault
	}
	if len(names) == 0 && !result.Succeeded {
		return result.Fault
	}
	return ""
}

// isWorse reports whether a cell proves less than the stored cell.
func isWorse(stored, cell Cell) bool { return verdictRank(cell.Verdict) < verdictRank(stored.Verdict) }

// verdictRank returns a larger number for a verdict that proves more.
func verdictRank(v Verdict) int {
	switch v {
	case Tested:
		return 2
	case Compiles:
		return 1
	}
	return 0
}

// worseCells returns a sentence for each cell of a row that proves less than the stored cell. In a row without a stored
// result, each cell must be Tested or Compiles.
func worseCells(row selectedRow, stored, now RowResult) (sentences []string) {
	for _, column := range row.table.Columns {
		before, cell := stored.Cells[column], now.Cells[column]
		if stored.Cells == nil {
			before = Cell{Verdict: Compiles}
		}
		if isWorse(before, cell) {
			sentences = append(sentences, fmt.Sprintf("%s, %s: stored %q, now %q", row, column, before.Verdict, cell))
		}
	}
	return sentences
}
