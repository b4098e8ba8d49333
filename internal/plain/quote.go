package plain

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxShown bounds what of a value is quoted: a name may be ten kilobytes.
const maxShown = 64

// Quote makes any text safe to show, and short.
func Quote(s string) string {
	if short := Shorten(s); short != s {
		return strconv.Quote(strings.TrimSuffix(short, "...")) + "..."
	}
	return strconv.Quote(s)
}

// Shorten makes any text short.
func Shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	cut := maxShown
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
