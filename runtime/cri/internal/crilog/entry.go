package crilog

import (
	"bytes"
	"time"
)

// Stream is stdout or stderr.
type Stream uint8

// The streams.
const (
	// Stdout is standard output.
	Stdout Stream = iota
	// Stderr is standard error.
	Stderr
)

// Entry is a decoded line of the file.
type Entry struct {
	At     time.Time
	Stream Stream
	Full   bool   // the line of the container ends here
	Text   []byte // a slice of the parsed line
}

// HeadBytes is how many bytes of a file line are enough to parse everything but its text, if it has
// only a few tags.
const HeadBytes = 128

// Parse decodes a line of the file without its line break. It returns false if the line is not in
// the CRI format.
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
	tags, text, _ := bytes.Cut(rest, space) // Some runtimes omit the space before an empty text.
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
