package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// redrawnScreen is the part of a terminal that is redrawn, below lines that stay. It is pure: it converts lines and
// rows into bytes. Between two draws the cursor is at the beginning of the line below the last row.
type redrawnScreen struct {
	width, height int
	rows          []string // the rows on the terminal now
}

// renderIfChanged returns the bytes that print the lines of above and redraw the rows below them, or nil if
// nothing has changed. It cuts the rows to the size of the terminal, and stores them. After a change of size
// the bytes first clear the terminal, because the position of the old rows is unknown.
func (s *redrawnScreen) renderIfChanged(above, rows []string, width, height int) []byte {
	var b bytes.Buffer
	rows = fitRows(rows, width, height)
	resized := s.width != width || s.height != height
	switch {
	case resized && s.width != 0:
		b.WriteString("\x1b[H\x1b[2J")
	case !resized && len(above) == 0 && slices.Equal(rows, s.rows):
		return nil
	case len(s.rows) > 0:
		fmt.Fprintf(&b, "\r\x1b[%dA", len(s.rows))
	}
	if len(above) > 0 {
		b.WriteString("\x1b[J") // The lines may wrap into the place of the old rows.
	}
	for _, line := range above {
		b.WriteString(replaceUnprintable(line, true) + "\r\n")
	}
	for _, row := range rows {
		b.WriteString("\x1b[K" + row + "\r\n")
	}
	b.WriteString("\x1b[J")
	s.width, s.height, s.rows = width, height, rows
	return b.Bytes()
}

// fitRows cuts the rows to the size of the terminal, and leaves one line for the cursor. It replaces
// unprintable characters. If not all rows fit, the last line says how many are not shown; the first row is the
// heading and does not count. It returns nil if height is less than 2.
func fitRows(rows []string, width, height int) []string {
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
		row = strings.TrimRight(replaceUnprintable(row, false), " ")
		// The last column stays free, because the terminal may move the cursor to the next line after writing there.
		cut[i] = row[:min(len(row), max(width-1, 0))]
	}
	return cut
}

// replaceUnprintable replaces each control character by "?". If keepWide is false, it also replaces each
// character outside ASCII, because it may not be one column wide.
func replaceUnprintable(text string, keepWide bool) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x80 && !keepWide {
			return '?'
		}
		return r
	}, text)
}
