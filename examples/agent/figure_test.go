package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/figure"
)

// TestFigure_Table draws the agent's table on a terminal, eight seconds after the start of the embedded examples.
func TestFigure_Table(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmulator(t, 200, 30)
		var table string
		time.AfterFunc(8500*time.Millisecond, func() { table = table5(e) })
		code := run([]string{"--listen", "", "--node-name", "edge", "--for", "10s"}, nil, e, e)
		require.Equal(t, exitOK, code)
		figure.AssertFile(t, "../../internal/figure/agent.svg", drawTerminal(t, table))
	})
}

// drawTerminal draws a terminal with the table. Each cell has its own place, because the font of the reader is
// unknown.
func drawTerminal(t *testing.T, table string) *figure.Figure {
	const lineHeight, charWidth, left, textTop = 20, 9, 16, 64
	lines := strings.Split(strings.TrimRight(table, "_\n"), "\n")
	require.NotEmpty(t, lines)
	var columns []int
	for _, heading := range columnHeadings() {
		columns = append(columns, strings.Index(lines[0], heading))
	}
	p := figure.New(720, textTop+lineHeight*len(lines), "The agent's table of pods on a terminal", "#14181d")
	p.DrawText(left, 30, "#9aa4b1", "$ go run ./examples/agent", figure.Mono)
	for row, line := range lines {
		for i, column := range columns {
			end := len(line)
			if i+1 < len(columns) {
				end = columns[i+1]
			}
			cell := strings.TrimSpace(line[column:end])
			p.DrawText(left+charWidth*column, textTop+lineHeight*row, cellColour(row, columnHeadings()[i], cell), cell, figure.Mono)
		}
	}
	return p
}

// cellColour returns the colour of a cell: good, bad or neutral.
func cellColour(row int, heading, cell string) string {
	switch {
	case row == 0:
		return "#9aa4b1"
	case heading != "STATUS":
		return "#e6e9ee"
	case cell == "Running":
		return "#6fdc96"
	case cell == "Completed":
		return "#8ab4f8"
	default:
		return "#f0b35a"
	}
}
