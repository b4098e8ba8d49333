package memory

import (
	"errors"
	"strconv"
	"strings"
)

// splitScript splits the text of a script at semicolons, and each part into words at spaces. It does not split
// inside double quotes, which may contain the escapes of a Go string. The quotes stay in the words. It returns
// an error if a quote is not closed.
func splitScript(text string) ([][]string, error) {
	var parts [][]string
	var words []string
	from, quoted := -1, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			fallthrough
		case quoted, c != ';' && !isSpace(c):
			if from < 0 {
				from = i
			}
		default:
			if from >= 0 {
				words, from = append(words, text[from:i]), -1
			}
			if c == ';' {
				parts, words = append(parts, words), nil
			}
		}
	}
	if quoted {
		return nil, errors.New("a quotation mark is not closed")
	}
	if from >= 0 {
		words = append(words, text[from:])
	}
	return append(parts, words), nil
}

// isSpace reports whether a byte is ASCII white space.
func isSpace(c byte) bool { return strings.IndexByte(" \t\r\n\v\f", c) >= 0 }

// parseText returns the text of a word, without its double quotes. It returns an error if the word is empty or
// its quotes are invalid.
func parseText(value string) (string, error) {
	if !strings.Contains(value, `"`) && value != "" {
		return value, nil
	}
	text, err := strconv.Unquote(value)
	if err != nil || value[0] != '"' {
		return "", errors.New(`not a text: one word, or several in double quotes as "out of memory"`)
	}
	return text, nil
}
