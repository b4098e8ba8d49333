package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"unicode"
	"unicode/utf8"

	"github.com/podkeel/podkeel/internal/plain"
)

// runExplain prints the agent's explanation of a pod's state, as text or JSON, and returns the exit code.
func runExplain(ctx context.Context, r *request, stdout, stderr io.Writer) int {
	query := url.Values{}
	if r.output == "json" {
		query.Set("format", "json")
	}
	path, err := r.resolvePodPath(ctx, "explain")
	if err != nil {
		return printRequestError(ctx, err, stderr)
	}
	page, err := r.getBodyOfOK(ctx, query, path...)
	if err != nil {
		return printRequestError(ctx, err, stderr)
	}
	if r.output == "json" {
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(page), "", "  "); err != nil {
			return printRequestError(ctx, fmt.Errorf("the answer of %s is not JSON: %w", r.server, err), stderr)
		}
		fmt.Fprintf(stdout, "%s\n", visibleJSON(indented.Bytes()))
		return exitOK
	}
	fmt.Fprint(stdout, plain.VisibleLines(page))
	return exitOK
}

// visibleJSON escapes the characters in JSON that a terminal would interpret or not show. The value that the
// JSON stands for stays the same.
func visibleJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, mustEscapeInJSON) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case mustEscapeInJSON(r) && r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case mustEscapeInJSON(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}

// mustEscapeInJSON reports whether a terminal may misread a character: DEL, an unprintable character outside
// ASCII, or U+FFFD, which stands for invalid UTF-8. JSON has such characters in strings only.
func mustEscapeInJSON(r rune) bool { return r == utf8.RuneError || r >= 0x7f && !unicode.IsPrint(r) }

// visibleJSONWriter escapes and forwards the records of a JSON log.
type visibleJSONWriter struct{ out io.Writer }

// Write implements io.Writer. It escapes control characters in the JSON text. Each call must have whole lines.
func (l visibleJSONWriter) Write(line []byte) (int, error) {
	if _, err := l.out.Write(visibleJSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}
