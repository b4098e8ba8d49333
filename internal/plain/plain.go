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

// packages are the names by which errors of this module are prefixed.
var packages = []string{
	"check", "checkpoint", "client", "cluster", "contain", "cri", "debug", "faulty", "feed", "gc", "grpccheck", "hookhttp", "images", "keylock", "lifecycle", "localapi", "logfile", "logfiles",
	"manifest", "memory", "mirror", "node", "nodeagent", "nodestatus", "objects", "osfile", "inmemory", "pleg", "podmanager", "patch", "podsync", "podworkers", "prober", "registry", "runtime",
	"respond", "review", "server", "metrics",
	"source", "status", "statussink", "streaming", "syncloop", "events", "executor", "volumes", "page", "recorder",
}

// prefixes are names of packages where a sentence, or a part of one after a colon,
// begins. Errors of podsync may begin with a reason, which the event or the status that
// shows the sentence has as a field.
var prefixes = regexp.MustCompile(`(^|\n|: |; |\()(?:podsync: [A-Z][A-Za-z]*: |(?:` + strings.Join(packages, "|") + `): )+`)

// Text is a text without the prefixes of the errors in it.
func Text(s string) string { return prefixes.ReplaceAllString(s, "$1") }

// Sentence is fmt.Sprintf in which the errors among the arguments are shown as Text. All else
// is left as it is: it may be what a container or a person has said.
func Sentence(format string, args ...any) string {
	shown := slices.Clone(args)
	for i, arg := range shown {
		if err, is := arg.(error); is {
			shown[i] = Text(fmt.Sprint(err)) // Sprint contains an error that panics.
		}
	}
	return fmt.Sprintf(format, shown...)
}

// MaxFaults bounds how many errors of one pod or file are listed.
const MaxFaults = 50

// maxField bounds what is shown of a path: the key of an annotation may be long.
const maxField = 256

// Reason is what an error says of the value of its field: the value, if showing it
// helps, and what was expected. Errors of package validation have "expected ..." as
// their detail; with an omitted value the detail is the whole sentence.
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

// Fields is a line for each error, at most 50 of them.
func Fields(errs field.ErrorList) string {
	var lines []string
	for _, e := range errs[:min(len(errs), MaxFaults)] {
		lines = append(lines, path(e.Field)+": "+Reason(e))
	}
	if len(errs) > MaxFaults {
		lines = append(lines, fmt.Sprintf("and more, %d faults at least", len(errs)))
	}
	return strings.Join(lines, "\n")
}

// path makes a path safe to show, and short.
func path(s string) string {
	if len(s) > maxField {
		s = s[:maxField] + "..."
	}
	if quoted := strconv.Quote(s); quoted[1:len(quoted)-1] != strings.ReplaceAll(s, `"`, `\"`) {
		return quoted
	}
	return s
}

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
