//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample holds the durations of one operation, by bare calls and by the agent.
type sample struct{ floor, ours []time.Duration }

func (s *sample) addRound(floor, ours time.Duration) {
	s.floor, s.ours = append(s.floor, floor), append(s.ours, ours)
}

// medianDuration returns the median of the durations. It panics if there are none.
func medianDuration(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// target is the most that ours may be, and how people say that.
type target func(floor time.Duration) (most time.Duration, text string)

// floorPlusMarginTarget returns a target: the duration that direct CRI calls need (the floor) plus a margin.
func floorPlusMarginTarget(margin time.Duration) target {
	return func(floor time.Duration) (time.Duration, string) { return floor + margin, "floor + " + margin.String() }
}

// atMostTarget returns a target with a fixed upper limit.
func atMostTarget(d time.Duration) target {
	return func(time.Duration) (time.Duration, string) { return d, d.String() }
}

// table is the table of medians that the command prints at the end.
type table struct {
	title string
	rows  [][]string
}

// addComparisonRow adds a row that compares the durations of direct CRI calls (the floor) with the agent's durations,
// and says whether the agent's median meets the target.
func (t *table) addComparisonRow(what string, s sample, aim target, load string) {
	floor, ours := medianDuration(s.floor), medianDuration(s.ours)
	most, text := aim(floor)
	t.addRow(what, formatSpread(s.floor), formatSpread(s.ours),
		fmt.Sprintf("%.2f", float64(ours)/float64(floor)), text, ours <= most, load)
}

// addRow adds a row to the table. If targetMet is false, the row says that the target was missed. An empty aim
// means that the figure has no target.
func (t *table) addRow(what, floor, ours, ratio, aim string, targetMet bool, load string) {
	if aim != "" {
		aim = "≤ " + aim
	}
	if !targetMet {
		aim += ", **missed**"
	}
	t.rows = append(t.rows, []string{what, floor, ours, ratio, aim, load})
}

// String is the table in the manner of the README.
func (t *table) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s\n\n| | floor | ours | ratio | target | load |\n|---|---|---|---|---|---|\n", t.title)
	for _, row := range t.rows {
		fmt.Fprintf(&s, "| %s |\n", strings.Join(row, " | "))
	}
	return s.String()
}

// formatSpread returns the median, the minimum and the maximum of some durations as text.
func formatSpread(d []time.Duration) string {
	return fmt.Sprintf("%s (%s to %s)", formatMilliseconds(medianDuration(d)), formatMilliseconds(slices.Min(d)), formatMilliseconds(slices.Max(d)))
}

func formatMilliseconds(d time.Duration) string {
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}

func formatMegabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

func formatPercent(share float64) string { return fmt.Sprintf("%.2f %%", share) }

func itoa(n int) string { return strconv.Itoa(n) }
