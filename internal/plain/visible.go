package plain

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible is a text on one line that a terminal shows as it is and does not obey. Control
// characters, characters without a shape, those that change the direction of a text, line
// breaks, and bytes that are no UTF-8 are written as in Go source: \x1b, \u202e, \n, \xff.
func Visible(s string) string { return string(AppendVisible(nil, s, "")) }

// VisibleLines is Visible with the line breaks and tabs of the text.
func VisibleLines(s string) string { return string(AppendVisible(nil, s, "\n\t")) }

// AppendVisible appends Visible(s), in which the characters of keep stay as they are.
func AppendVisible(to []byte, s, keep string) []byte {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			to = append(to, `\x`...)
			to = append(to, strconv.FormatUint(uint64(s[i]), 16)...)
		case unicode.IsPrint(r) || strings.ContainsRune(keep, r):
			to = append(to, s[i:i+size]...)
		default:
			quoted := strconv.QuoteRune(r)
			to = append(to, quoted[1:len(quoted)-1]...)
		}
		i += size
	}
	return to
}
