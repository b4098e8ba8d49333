package main

import (
	"fmt"
	"strings"
)

const (
	// columnGap is the number of spaces between two columns.
	columnGap = 3
	// shortestName is the minimum width of a shortened name on a narrow terminal.
	shortestName = 12
)

// formatColumns formats rows of cells as lines with aligned columns. If the lines would be wider than width, it
// shortens the cells of the first column, the names, but not below shortestName.
func formatColumns(cells [][]string, width int) []string {
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
				cell = shortenMiddle(cell, widths[0])
			}
			fmt.Fprintf(&b, "%-*s", widths[j]+columnGap, cell)
		}
		rows[i] = strings.TrimRight(b.String(), " ")
	}
	return rows
}

// columnWidths returns the width of the widest cell of each column.
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

// shortenMiddle replaces the middle of a name by two dots if the name is longer than width. It keeps both ends,
// because many names differ only there.
func shortenMiddle(name string, width int) string {
	if len(name) <= width {
		return name
	}
	tail := (width - 2) / 2
	return name[:width-2-tail] + ".." + name[len(name)-tail:]
}
