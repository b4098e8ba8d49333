package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestScreen draws on a small terminal, on which a line of input is a step:
//
//	draw [above=A,B] ROWS...    rows, with spaces written _
//	resize WIDTH HEIGHT
//
// and shows the screen at the end, with _ for the cursor.
func TestScreen(t *testing.T) {
	datadriven.RunTest(t, "testdata/screen.txt", func(t *testing.T, d *datadriven.TestData) string {
		var width, height int
		d.ScanArgs(t, "width", &width)
		d.ScanArgs(t, "height", &height)
		e := newEmulator(t, width, height)
		var s redrawnScreen
		for line := range strings.Lines(d.Input) {
			words := strings.Fields(strings.ReplaceAll(line, "_", " "))
			if strings.HasPrefix(line, "resize") {
				_, err := fmt.Sscan(words[1]+" "+words[2], &width, &height)
				require.NoError(t, err)
				e.resize(width, height)
				continue
			}
			above, rows := parseDraw(strings.Fields(line)[1:])
			_, err := e.Write(s.renderIfChanged(above, rows, width, height))
			require.NoError(t, err)
		}
		scrolled := ""
		for _, line := range e.scrolled {
			scrolled += "^ " + line + "\n"
		}
		return scrolled + e.String()
	})
}

func parseDraw(words []string) (above, rows []string) {
	for _, word := range words {
		word = strings.ReplaceAll(word, "_", " ")
		if lines, ok := strings.CutPrefix(word, "above="); ok {
			above = strings.Split(lines, ",")
		} else {
			rows = append(rows, word)
		}
	}
	return above, rows
}

// TestScreen_NothingNew: nothing is written if nothing has changed.
func TestScreen_NothingNew(t *testing.T) {
	var s redrawnScreen
	rows := []string{"NAME", "web"}
	assert.NotEmpty(t, s.renderIfChanged(nil, rows, 80, 24))
	assert.Empty(t, s.renderIfChanged(nil, rows, 80, 24))
	assert.NotEmpty(t, s.renderIfChanged([]string{"log"}, rows, 80, 24))
	assert.NotEmpty(t, s.renderIfChanged(nil, rows, 81, 24))
	assert.NotEmpty(t, s.renderIfChanged(nil, rows[:1], 81, 24))
}

// TestScreen_EscapesControlCharacters: control characters in lines and rows do not move the cursor.
func TestScreen_EscapesControlCharacters(t *testing.T) {
	e := newEmulator(t, 40, 5)
	var s redrawnScreen
	_, err := e.Write(s.renderIfChanged([]string{"a\x1b[2Jb\rc\u009bd\u00e9"}, []string{"web\x1b[5A\u4e16"}, 40, 5))
	require.NoError(t, err)
	assert.Equal(t, "a?[2Jb?c?d\u00e9\nweb?[5A?\n_\n", e.String())
}

// TestScreen_AnySize: for any size, the last row and the cursor are in their places.
func TestScreen_AnySize(t *testing.T) {
	rows := []string{"NAME", "a", "b", "c", "d"}
	for height := 1; height < 9; height++ {
		for width := 1; width < 30; width++ {
			e := newEmulator(t, width, height)
			var s redrawnScreen
			for i := range 4 {
				_, err := e.Write(s.renderIfChanged([]string{strings.Repeat("x", i*10)}, rows[:5-i], width, height))
				require.NoError(t, err)
			}
			assert.LessOrEqual(t, len(s.rows), height-1)
			if height > 2 {
				lines := strings.Split(e.String(), "\n")
				at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "_") })
				require.GreaterOrEqual(t, at, 1, "%dx%d\n%s", width, height, e)
				assert.Equal(t, s.rows[len(s.rows)-1], lines[at-1])
			}
		}
	}
}

func TestLayout(t *testing.T) {
	cells := [][]string{columnHeadings(), {"kube-system/a-very-long-name-indeed-0001", "1/1", "CrashLoopBackOff", "12 (5m ago)", "3d"}, {"web", "0/1", "Running", "0", "5s"}}
	assert.Equal(t, `NAME                                       READY   STATUS             RESTARTS      AGE
kube-system/a-very-long-name-indeed-0001   1/1     CrashLoopBackOff   12 (5m ago)   3d
web                                        0/1     Running            0             5s`, strings.Join(formatColumns(cells, 100), "\n"))
	assert.Equal(t, `NAME                   READY   STATUS             RESTARTS      AGE
kube-syst..deed-0001   1/1     CrashLoopBackOff   12 (5m ago)   3d
web                    0/1     Running            0             5s`, strings.Join(formatColumns(cells, 68), "\n"))
	assert.Equal(t, "kube-..-0001   1/1     CrashLoopBackOff   12 (5m ago)   3d", formatColumns(cells, 20)[1], "no shorter")
	assert.Empty(t, formatColumns(nil, 80))
}
