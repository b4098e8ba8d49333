package plain

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
