package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/internal/plain"
)

// MaxFaults bounds how many faults of one file are listed.
const MaxFaults = plain.MaxFaults

// Fault is one thing wrong in a file.
type Fault struct {
	Line   int    // in the file; 0 if that cannot be said
	Field  string // the path of the field; empty for faults of syntax
	Reason string // what the value is and what was expected
	Syntax bool   // the text cannot be read, or is beyond a bound
	Kind   FaultKind
}

// FaultKind separates faults that callers may take for warnings from other faults.
type FaultKind uint8

const (
	// Wrong is a fault with which the document cannot be used as it was meant.
	Wrong FaultKind = iota
	// UnknownField is a field that the type does not have. Its value is left out.
	UnknownField
	// BeyondBound is a document that is too large, too deep or has too many values.
	BeyondBound
	// DuplicateField is a field that an object has twice. The last value counts.
	DuplicateField
)

// IsWarning reports whether a reader that is not strict ignores the fault: it drops an unknown
// field, and all but the last of duplicate fields.
func (f Fault) IsWarning() bool { return f.Kind == UnknownField || f.Kind == DuplicateField }

// String is the fault as one sentence.
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

// Faults is everything wrong with a file, as an error.
type Faults []Fault

// Error has one line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// duplicate adds a field that an object has twice, as long as anybody could read them.
func (f Faults) duplicate(name string, line, first int) Faults {
	if len(f) > MaxFaults {
		return f
	}
	reason := fmt.Sprintf("duplicate field %s (first on line %d)", plain.Quote(name), first)
	return append(f, Fault{Line: line, Reason: reason, Syntax: true, Kind: DuplicateField})
}

// Split returns the faults that are warnings for a reader that is not strict, and the others.
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

// InOrder sorts faults by line and bounds their number.
func (f Faults) InOrder() Faults {
	slices.SortStableFunc(f, func(a, b Fault) int { return a.Line - b.Line })
	if more := len(f) - MaxFaults; more > 0 {
		f = append(f[:MaxFaults:MaxFaults], Fault{Reason: fmt.Sprintf("and more, %d faults at least", len(f)), Syntax: f[0].Syntax})
	}
	return f
}
