package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/internal/plain"
)

// MaxFaults is how many faults of one file are listed at most.
const MaxFaults = plain.MaxFaults

// Fault is one thing wrong in a file.
type Fault struct {
	Line   int    // in the file; 0 if unknown
	Field  string // the path of the field; empty for syntax errors
	Reason string // the value and the expected one
	Syntax bool   // the text cannot be parsed, or exceeds a bound
	Kind   FaultKind
}

// FaultKind separates faults that callers may treat as warnings from other faults.
type FaultKind uint8

const (
	// Wrong means that the document cannot be used as it was meant.
	Wrong FaultKind = iota
	// UnknownField means that the type has no such field. Its value is ignored.
	UnknownField
	// BeyondBound means that a document is too large, too deep or has too many values.
	BeyondBound
	// DuplicateField means that an object has the field twice. The last value is used.
	DuplicateField
)

// IsWarning reports whether a reader that is not strict ignores the fault. Such a reader ignores unknown fields, and
// uses the last of duplicate fields.
func (f Fault) IsWarning() bool { return f.Kind == UnknownField || f.Kind == DuplicateField }

// String formats the fault as one sentence.
func (f Fault) String() string {
	var s strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&s, "line %d: ", f.Line)
	}
	if f.Field != "" {
		s.WriteString(f.Field + ": ")
	}
	s.WriteString(f.Reason)
	return s.String()
}

// Faults is an error that holds all faults of a file.
type Faults []Fault

// Error returns one line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// addDuplicateField appends the fault that an object has a field twice. It appends nothing if the list already
// has more than MaxFaults faults.
func (f Faults) addDuplicateField(name string, line, first int) Faults {
	if len(f) > MaxFaults {
		return f
	}
	reason := fmt.Sprintf("duplicate field %s (first on line %d)", plain.Quote(name), first)
	return append(f, Fault{Line: line, Reason: reason, Syntax: true, Kind: DuplicateField})
}

// Split separates the faults that are warnings for a reader that is not strict from the others.
func (f Faults) Split() (warnings, faults Faults) {
	for _, fault := range f {
		if fault.IsWarning() {
			warnings = append(warnings, fault)
		} else {
			faults = append(faults, fault)
		}
	}
	return warnings, faults
}

// InOrder sorts the faults by line and cuts the list after MaxFaults.
func (f Faults) InOrder() Faults {
	slices.SortStableFunc(f, func(a, b Fault) int { return a.Line - b.Line })
	if more := len(f) - MaxFaults; more > 0 {
		f = append(f[:MaxFaults:MaxFaults], Fault{Reason: fmt.Sprintf("and more, %d faults at least", len(f)), Syntax: f[0].Syntax})
	}
	return f
}
