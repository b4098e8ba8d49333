package command

import (
	"io"
	"unicode/utf8"

	"github.com/podkeel/podkeel/internal/plain"
)

// Visible returns a writer that escapes control characters in text of containers and servers, so that the text cannot
// move the cursor, change the title or reverse the direction of a terminal. It keeps line breaks and tabs. It is for
// one goroutine at a time.
func Visible(out io.Writer) io.Writer { return &visibleWriter{out: out} }

// visibleWriter escapes control characters.
type visibleWriter struct {
	out         io.Writer
	partialRune []byte // the beginning of a character
}

// Write implements io.Writer.
func (v *visibleWriter) Write(p []byte) (int, error) {
	text := append(v.partialRune, p...)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if utf8.RuneStart(text[len(text)-back]) {
			if !utf8.FullRune(text[len(text)-back:]) {
				end = len(text) - back
			}
			break
		}
	}
	v.partialRune = append([]byte(nil), text[end:]...)
	if _, err := v.out.Write(plain.AppendVisible(nil, string(text[:end]), "\n\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}
