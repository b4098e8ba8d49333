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

// runExplain prints why a pod is as it is.
func runExplain(ctx context.Context, r *request, stdout, stderr io.Writer) int {
	query := url.Values{}
	if r.output == "json" {
		query.Set("format", "json")
	}
	path, err := r.path(ctx, "explain")
	if err != nil {
		return ended(ctx, err, stderr)
	}
	page, err := r.get(ctx, query, path...)
	if err != nil {
		return ended(ctx, err, stderr)
	}
	if r.output == "json" {
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(page), "", "  "); err != nil {
			return ended(ctx, fmt.Errorf("the answer of %s is no JSON: %w", r.server, err), stderr)
		}
		fmt.Fprintf(stdout, "%s\n", visibleJSON(indented.Bytes()))
		return exitOK
	}
	fmt.Fprint(stdout, plain.VisibleLines(page))
	return exitOK
}

// visibleJSON writes characters that a terminal obeys, or does not show, as JSON's escapes:
// the value is the same.
func visibleJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, unseen) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case unseen(r) && r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case unseen(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}

// unseen: a terminal may obey the character, and JSON has it in strings only.
func unseen(r rune) bool { return r == utf8.RuneError || r >= 0x7f && !unicode.IsPrint(r) }

// jsonLines passes on the records of a log.
type jsonLines struct{ out io.Writer }

// Write takes whole lines.
func (l jsonLines) Write(line []byte) (int, error) {
	if _, err := l.out.Write(visibleJSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}
