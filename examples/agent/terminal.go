package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminal is a writer that a person looks at, and that understands the few
// sequences with which a table is drawn in its place.
type terminal interface {
	io.Writer
	// Size is asked before each draw.
	Size() (width, height int)
}

// tty is a terminal of the system.
type tty struct{ *os.File }

// Size is a usual one if the system does not know.
func (t tty) Size() (width, height int) {
	width, height, err := term.GetSize(int(t.Fd()))
	if err != nil || width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

// asTerminal is the file as a terminal, if it is one.
func asTerminal(f *os.File) io.Writer {
	if kind := os.Getenv("TERM"); kind == "dumb" || kind == "" || !term.IsTerminal(int(f.Fd())) {
		return f
	}
	return tty{f}
}
