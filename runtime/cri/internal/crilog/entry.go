package crilog

import (
	"bytes"
	"time"
)

// Stream is what a container prints on.
type Stream uint8

// The streams.
const (
	// Stdout is for output.
	Stdout Stream = iota
	// Stderr is for complaints.
	Stderr
)

// Entry is a line of the file.
type Entry struct {
	At     time.Time
	Stream Stream
	Full   bool   // it ends a line of the container
	Text   []byte // a part of what was parsed
}

// HeadBytes is how many bytes of a line say all but its text, if it is a line
// of CRI's with no more than a few tags.
const HeadBytes = 128

// Parse reads a line of the file, without its line end. It is not ok if that is
// none of CRI's.
func Parse(line []byte) (e Entry, ok bool) {
	at, rest, ok := bytes.Cut(line, space)
	if !ok {
		return Entry{}, false
	}
	var err error
	if e.At, err = time.Parse(time.RFC3339Nano, string(at)); err != nil {
		return Entry{}, false
	}
	stream, rest, ok := bytes.Cut(rest, space)
	switch string(stream) {
	case "stdout":
		e.Stream = Stdout
	case "stderr":
		e.Stream = Stderr
	default:
		ok = false
	}
	if !ok {
		return Entry{}, false
	}
	tags, text, _ := bytes.Cut(rest, space) // Some leave the space out before nothing.
	first, _, _ := bytes.Cut(tags, colon)
	switch string(first) {
	case "F":
		e.Full = true
	case "P":
	default:
		return Entry{}, false
	}
	e.Text = text
	return e, true
}

var (
	space = []byte(" ")
	colon = []byte(":")
)
