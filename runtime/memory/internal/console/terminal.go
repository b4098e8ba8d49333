package console

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// maxLineBytes limits an edited line, as Linux does.
const maxLineBytes = 4095

const (
	keyEnd       = 0x04 // Ctrl-D
	keyBackspace = '\b'
	keyDelete    = 0x7f
)

// lineTerminal gives a process its input line by line, and echoes each key when the process reads
// it.
type lineTerminal struct {
	in          io.Reader
	out         io.Writer
	unprocessed []byte // keys read from in that were not edited yet
	line        []byte // the line being edited
	completed   []byte // edited lines that the process has not read yet
}

// Read implements io.Reader. It returns io.EOF after Ctrl-D on an empty line. A later call reads
// on.
func (t *lineTerminal) Read(p []byte) (int, error) {
	for len(t.completed) == 0 && len(p) > 0 {
		if len(t.unprocessed) == 0 {
			buf := make([]byte, maxTypedBytes)
			n, err := t.in.Read(buf)
			switch {
			case err == io.EOF && len(t.line) > 0:
				t.completed, t.line = t.line, nil
				continue
			case err != nil:
				return 0, err
			}
			t.unprocessed = buf[:n]
		}
		key := t.unprocessed[0]
		if t.unprocessed = t.unprocessed[1:]; t.editLineByKey(key) {
			return 0, io.EOF
		}
	}
	n := copy(p, t.completed)
	t.completed = t.completed[n:]
	return n, nil
}

// editLineByKey edits the line by one key and echoes the change: Enter completes the line, Ctrl-C replaces it by an
// empty one, Backspace deletes a character. Ctrl-D completes the line; if the line is empty, editLineByKey returns
// true. A key beyond maxLineBytes is ignored.
func (t *lineTerminal) editLineByKey(key byte) (isEOF bool) {
	switch {
	case key == '\r' || key == '\n':
		t.echo("\n")
		t.completed, t.line = append(t.line, '\n'), nil
	case key == keyInterrupt:
		t.echo("^C\n")
		t.completed, t.line = []byte{'\n'}, nil
	case key == keyEnd && len(t.line) == 0:
		return true
	case key == keyEnd:
		t.completed, t.line = t.line, nil
	case key == keyBackspace || key == keyDelete:
		if _, size := utf8.DecodeLastRune(t.line); size > 0 {
			t.line = t.line[:len(t.line)-size]
			t.echo("\b \b")
		}
	case (key >= ' ' || key == '\t') && len(t.line) < maxLineBytes:
		t.line = append(t.line, key)
		t.echo(string([]byte{key}))
	}
	return false
}

func (t *lineTerminal) echo(text string) { _, _ = io.WriteString(t, text) } // The next Write of the process returns the error.

// Write implements io.Writer.
func (t *lineTerminal) Write(p []byte) (int, error) {
	if _, err := t.out.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
