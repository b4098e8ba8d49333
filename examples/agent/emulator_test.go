package main

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// emulator is a small terminal. It understands the output of a screen, scrolls, and continues on the next line at its
// right edge. Anything else fails the test.
type emulator struct {
	t *testing.T

	mu            sync.Mutex
	width, height int
	cells         [][]rune
	row, column   int
	scrolled      []string // lines that have left it at the top
	writes        int
}

func newEmulator(t *testing.T, width, height int) *emulator {
	e := &emulator{t: t}
	e.resize(width, height)
	return e
}

// resize keeps the upper left corner, and the cursor inside the screen.
func (e *emulator) resize(width, height int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.cells
	e.width, e.height, e.cells = width, height, nil
	for i := range height {
		e.cells = append(e.cells, blank(width))
		if i < len(old) {
			copy(e.cells[i], old[i])
		}
	}
	e.row, e.column = min(e.row, height-1), min(e.column, width-1)
}

func blank(width int) []rune { return []rune(strings.Repeat(" ", width)) }

// Size implements terminal.
func (e *emulator) Size() (width, height int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.width, e.height
}

// Write implements terminal.
func (e *emulator) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writes++
	text := []rune(string(p))
	for i := 0; i < len(text); i++ {
		switch r := text[i]; r {
		case '\r':
			e.column = 0
		case '\n':
			e.lineFeed()
		case '\x1b':
			i += e.sequence(string(text[i+1:]))
		default:
			require.GreaterOrEqual(e.t, r, ' ')
			if e.column == e.width {
				e.column = 0
				e.lineFeed()
			}
			e.cells[e.row][e.column] = r
			e.column++
		}
	}
	return len(p), nil
}

func (e *emulator) lineFeed() {
	if e.row++; e.row < e.height {
		return
	}
	e.row--
	e.scrolled = append(e.scrolled, strings.TrimRight(string(e.cells[0]), " "))
	e.cells = append(e.cells[1:], blank(e.width))
}

// sequence executes an escape sequence and returns its length.
func (e *emulator) sequence(rest string) int {
	end := strings.IndexFunc(rest[1:], func(r rune) bool { return r >= '@' }) + 1
	require.Equal(e.t, byte('['), rest[0])
	switch n, _ := strconv.Atoi(rest[1:end]); rest[end] {
	case 'A':
		require.LessOrEqual(e.t, n, e.row, "the cursor would leave the screen")
		e.row -= n
	case 'H':
		e.row, e.column = 0, 0
	case 'K':
		copy(e.cells[e.row][e.column:], blank(e.width))
	case 'J':
		if n == 0 {
			copy(e.cells[e.row][e.column:], blank(e.width))
		}
		for i := range e.cells {
			if i > e.row || n == 2 {
				e.cells[i] = blank(e.width)
			}
		}
	default:
		require.Fail(e.t, "unknown sequence", "%q", rest[:end+1])
	}
	return end + 1
}

// count returns the number of writes.
func (e *emulator) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.writes
}

// String returns the screen with a mark for the cursor, without the empty lines at the end.
func (e *emulator) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for i, row := range e.cells {
		text := string(row)
		if i == e.row {
			text = text[:min(e.column, len(text))] + "_" + text[min(e.column+1, len(text)):]
		}
		lines = append(lines, strings.TrimRight(text, " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}
