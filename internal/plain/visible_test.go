package plain_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/plain"
)

// TestVisible: the result has no character that controls a terminal, and all other text is unchanged.
func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		`plain "text" \ ü 語 ✓`:             `plain "text" \ ü 語 ✓`,
		"\x1b[2J\x1b]0;title\a":            `\x1b[2J\x1b]0;title\a`,
		"C1 \u009b31m \u0090 \x9b":         `C1 \u009b31m \u0090 \x9b`,
		"\u202egnp.exe\u2066 \u200b\ufeff": `\u202egnp.exe\u2066 \u200b\ufeff`,
		"a\r\nb\tc\x7f\x00":                `a\r\nb\tc\x7f\x00`,
		"line\u2028paragraph\u2029":        `line\u2028paragraph\u2029`,
		"cut \xe2\x82":                     `cut \xe2\x82`,
		"\U000e0041":                       `\U000e0041`,
	} {
		assert.Equal(t, want, plain.Visible(text))
	}
	assert.Equal(t, "a\n\tb\\r\\x1b", plain.VisibleLines("a\n\tb\r\x1b"))
}
