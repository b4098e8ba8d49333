package plain

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// packages are the prefixes of errors of this module.
var packages = []string{
	"cgroups", "check", "checkpoint", "client", "cluster", "contain", "cri", "debug", "evictor", "eviction", "faulty", "feed", "gc", "grpccheck", "hookhttp", "images", "keylock", "lifecycle", "localapi", "logfile", "logfiles",
	"manifest", "memory", "mirror", "node", "nodeagent", "nodestatus", "objects", "observe", "osfile", "inmemory", "pleg", "podmanager", "patch", "podsync", "podworkers", "prober", "registry", "runtime",
	"respond", "review", "server", "metrics",
	"source", "statedir", "status", "statussink", "streaming", "syncloop", "events", "executor", "volumes", "page", "recorder",
}

// prefixes matches names of packages at the start of a sentence, or after a colon. An error of podsync may begin with a
// reason instead, which the event or status shows in a field of its own.
var prefixes = regexp.MustCompile(`(^|\n|: |; |\()(?:podsync: [A-Z][A-Za-z]*: |(?:` + strings.Join(packages, "|") + `): )+`)

// Text removes the prefixes of errors from a text.
func Text(s string) string { return prefixes.ReplaceAllString(s, "$1") }

// Sentence is fmt.Sprintf, but formats the errors among the arguments with Text. It changes no other argument, because
// that may be text of a container or a person.
func Sentence(format string, args ...any) string {
	shown := slices.Clone(args)
	for i, arg := range shown {
		if err, isError := arg.(error); isError {
			shown[i] = Text(fmt.Sprint(err)) // Sprint catches a panic of the error.
		}
	}
	return fmt.Sprintf(format, shown...)
}

// MaxFaults is how many errors of one pod or file are listed at most.
const MaxFaults = 50

// maxField is how much of a field's path is shown at most. The key of an annotation may be long.
const maxField = 256

// Reason describes the invalid value of a field: the value, if that helps, and the expected one. Errors of
// package validation have "expected ..." as their detail. If the value is omitted, the detail is the whole sentence.
func Reason(e *field.Error) string {
	switch v := e.BadValue.(type) {
	case field.OmitValueType:
		return e.Detail
	case string:
		switch e.Type {
		case field.ErrorTypeRequired:
			return "missing: " + e.Detail
		case field.ErrorTypeForbidden:
			return "set: " + e.Detail
		}
		return Quote(v) + ": " + e.Detail
	default:
		return fmt.Sprint(v) + ": " + e.Detail
	}
}

// Fields formats each error as a line, at most 50 of them.
func Fields(errs field.ErrorList) string {
	var lines []string
	for _, e := range errs[:min(len(errs), MaxFaults)] {
		lines = append(lines, truncateAndQuotePath(e.Field)+": "+Reason(e))
	}
	if len(errs) > MaxFaults {
		lines = append(lines, fmt.Sprintf("and more, %d faults at least", len(errs)))
	}
	return strings.Join(lines, "\n")
}

// truncateAndQuotePath returns a path without the bytes after maxField; "..." stands for them. It quotes the
// path if it has control characters or other bytes that strconv.Quote escapes. Double quotes alone do not
// count.
func truncateAndQuotePath(s string) string {
	if len(s) > maxField {
		s = s[:maxField] + "..."
	}
	if quoted := strconv.Quote(s); quoted[1:len(quoted)-1] != strings.ReplaceAll(s, `"`, `\"`) {
		return quoted
	}
	return s
}

// maxShown is how much of a value is quoted at most. A name may have ten kilobytes.
const maxShown = 64

// Quote cuts a long text and quotes it.
func Quote(s string) string {
	if short := Shorten(s); short != s {
		return strconv.Quote(strings.TrimSuffix(short, "...")) + "..."
	}
	return strconv.Quote(s)
}

// Shorten cuts a long text at 64 bytes and appends "...".
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
