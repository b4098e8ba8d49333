package plain

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns a text on one line that a terminal displays without obeying it. Control characters, invisible
// characters, characters that change the writing direction, line breaks, and bytes that are not UTF-8 are escaped as in
// Go source: \x1b, \u202e, \n, \xff.
func Visible(s string) string { return string(AppendVisible(nil, s, "")) }

// VisibleLines is Visible, but keeps line breaks and tabs.
func VisibleLines(s string) string { return string(AppendVisible(nil, s, "\n\t")) }

// AppendVisible appends Visible(s) without escaping the characters in keep.
func AppendVisible(buf []byte, s, keep string) []byte {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			buf = append(buf, `\x`...)
			buf = append(buf, strconv.FormatUint(uint64(s[i]), 16)...)
		case unicode.IsPrint(r) || strings.ContainsRune(keep, r):
			buf = append(buf, s[i:i+size]...)
		default:
			quoted := strconv.QuoteRune(r)
			buf = append(buf, quoted[1:len(quoted)-1]...)
		}
		i += size
	}
	return buf
}
