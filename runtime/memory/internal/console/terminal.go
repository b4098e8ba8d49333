package console

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// longestLine is how many bytes of a line are kept, as by Linux.
const longestLine = 4095

const (
	keyEnd       = 0x04 // Ctrl-D
	keyBackspace = '\b'
	keyDelete    = 0x7f
)

// terminal has a process read line by line, and echoes what is typed when it is read.
type terminal struct {
	in    io.Reader
	out   io.Writer
	typed []byte // read from in and not edited yet
	line  []byte // that is being edited
	ready []byte // to be read
}

// Read implements io.Reader. It returns io.EOF after Ctrl-D on an empty line, and may be
// called again.
func (t *terminal) Read(p []byte) (int, error) {
	for len(t.ready) == 0 && len(p) > 0 {
		if len(t.typed) == 0 {
			buf := make([]byte, mostTyped)
			n, err := t.in.Read(buf)
			switch {
			case err == io.EOF && len(t.line) > 0:
				t.ready, t.line = t.line, nil
				continue
			case err != nil:
				return 0, err
			}
			t.typed = buf[:n]
		}
		key := t.typed[0]
		if t.typed = t.typed[1:]; t.edit(key) {
			return 0, io.EOF
		}
	}
	n := copy(p, t.ready)
	t.ready = t.ready[n:]
	return n, nil
}

// edit is one key. It reports whether that ends the input.
func (t *terminal) edit(key byte) (ends bool) {
	switch {
	case key == '\r' || key == '\n':
		t.echo("\n")
		t.ready, t.line = append(t.line, '\n'), nil
	case key == keyInterrupt:
		t.echo("^C\n")
		t.ready, t.line = []byte{'\n'}, nil
	case key == keyEnd && len(t.line) == 0:
		return true
	case key == keyEnd:
		t.ready, t.line = t.line, nil
	case key == keyBackspace || key == keyDelete:
		if _, size := utf8.DecodeLastRune(t.line); size > 0 {
			t.line = t.line[:len(t.line)-size]
			t.echo("\b \b")
		}
	case (key >= ' ' || key == '\t') && len(t.line) < longestLine:
		t.line = append(t.line, key)
		t.echo(string([]byte{key}))
	}
	return false
}

func (t *terminal) echo(text string) { _, _ = io.WriteString(t, text) } // The process will see the error.

// Write implements io.Writer.
func (t *terminal) Write(p []byte) (int, error) {
	if _, err := t.out.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
