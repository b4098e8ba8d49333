package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminal is a writer to a terminal that understands the few control sequences with which a table is redrawn.
type terminal interface {
	io.Writer
	// Size returns the current size. It is called before each redraw.
	Size() (width, height int)
}

// tty is a terminal of the system.
type tty struct{ *os.File }

// Size returns the number of columns and rows of the terminal. It returns 80 by 24 if the system does not
// report them.
func (t tty) Size() (width, height int) {
	width, height, err := term.GetSize(int(t.Fd()))
	if err != nil || width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

// asTerminal returns a terminal for a file that is one. It returns the file unchanged if the file is no
// terminal. It also returns the file unchanged if the environment variable TERM is "dumb" or not set.
func asTerminal(f *os.File) io.Writer {
	if kind := os.Getenv("TERM"); kind == "dumb" || kind == "" || !term.IsTerminal(int(f.Fd())) {
		return f
	}
	return tty{f}
}
