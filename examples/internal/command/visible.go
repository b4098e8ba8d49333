package command

import (
	"io"
	"unicode/utf8"

	"github.com/podkeel/podkeel/internal/plain"
)

// Visible is a writer that passes on text as a terminal should see it: what containers and
// servers have said cannot move the cursor, change the title or turn the text around. Lines
// and tabs stay. It is for one goroutine at a time.
func Visible(out io.Writer) io.Writer { return &visible{out: out} }

type visible struct {
	out io.Writer
	cut []byte // a character of which the rest has not come
}

// Write implements io.Writer.
func (v *visible) Write(p []byte) (int, error) {
	text := append(v.cut, p...)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if utf8.RuneStart(text[len(text)-back]) {
			if !utf8.FullRune(text[len(text)-back:]) {
				end = len(text) - back
			}
			break
		}
	}
	v.cut = append([]byte(nil), text[end:]...)
	if _, err := v.out.Write(plain.AppendVisible(nil, string(text[:end]), "\n\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}
