package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// screen is the part of a terminal that is redrawn, below lines that stay. It
// is pure: it converts lines and rows into bytes. Between two draws the cursor
// is at the beginning of the line below the last row.
type screen struct {
	width, height int
	drawn         []string // the rows that are there
}

// draw returns the bytes that make the terminal show above, each on a line of
// its own that stays, and below it rows, in place of those that were drawn
// before. Rows are cut to the width; if there are more than fit, the last line
// says how many are not shown. Nothing is returned if nothing has changed. After
// a change of size it is unknown where the terminal shows the old rows: it is
// cleared.
func (s *screen) draw(above, rows []string, width, height int) []byte {
	var b bytes.Buffer
	rows = fit(rows, width, height)
	resized := s.width != width || s.height != height
	switch {
	case resized && s.width != 0:
		b.WriteString("\x1b[H\x1b[2J")
	case !resized && len(above) == 0 && slices.Equal(rows, s.drawn):
		return nil
	case len(s.drawn) > 0:
		fmt.Fprintf(&b, "\r\x1b[%dA", len(s.drawn))
	}
	if len(above) > 0 {
		b.WriteString("\x1b[J") // They may be wider than the terminal, and go on where rows were.
	}
	for _, line := range above {
		b.WriteString(printable(line, true) + "\r\n")
	}
	for _, row := range rows {
		b.WriteString("\x1b[K" + row + "\r\n")
	}
	b.WriteString("\x1b[J")
	s.width, s.height, s.drawn = width, height, rows
	return b.Bytes()
}

// fit cuts rows, the first of which is the heading, to what there is room for.
// The cursor needs a line too.
func fit(rows []string, width, height int) []string {
	room := height - 1
	shown := rows
	switch {
	case room < 1:
		return nil
	case len(rows) > room:
		kept := room - 1
		shown = append(append([]string(nil), rows[:kept]...), fmt.Sprintf("... %d more not shown", len(rows)-max(kept, 1)))
	}
	cut := make([]string, len(shown))
	for i, row := range shown {
		row = strings.TrimRight(printable(row, false), " ")
		// The last column is left free: who writes there may go on to the next line.
		cut[i] = row[:min(len(row), max(width-1, 0))]
	}
	return cut
}

// printable takes out what would move the cursor, or, unless it may be wide,
// what need not be one column wide.
func printable(text string, wide bool) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x80 && !wide {
			return '?'
		}
		return r
	}, text)
}
