package main

import (
	"fmt"
	"strings"
)

const (
	// columnGap is between two columns.
	columnGap = 3
	// shortestName is what is left of a long name on a narrow terminal.
	shortestName = 12
)

// layout puts cells into columns that are as wide as need be. If that is wider
// than the terminal, long names are shortened.
func layout(cells [][]string, width int) []string {
	widths := columnWidths(cells)
	total := -columnGap
	for _, w := range widths {
		total += w + columnGap
	}
	if over := total - (width - 1); over > 0 && len(widths) > 0 {
		widths[0] = max(widths[0]-over, min(widths[0], shortestName))
	}
	rows := make([]string, len(cells))
	for i, row := range cells {
		var b strings.Builder
		for j, cell := range row {
			if j == 0 {
				cell = shorten(cell, widths[0])
			}
			fmt.Fprintf(&b, "%-*s", widths[j]+columnGap, cell)
		}
		rows[i] = strings.TrimRight(b.String(), " ")
	}
	return rows
}

func columnWidths(cells [][]string) []int {
	var widths []int
	for _, row := range cells {
		for j, cell := range row {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], len(cell))
		}
	}
	return widths
}

// shorten keeps the beginning and the end of a name, as many differ there only.
func shorten(name string, width int) string {
	if len(name) <= width {
		return name
	}
	tail := (width - 2) / 2
	return name[:width-2-tail] + ".." + name[len(name)-tail:]
}
