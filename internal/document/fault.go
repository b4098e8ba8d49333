package document

import (
	"fmt"
	"strings"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/internal/sorting"
)

// MaxFaults bounds how many faults of one file are listed.
const MaxFaults = plain.MaxFaults

// Fault is one thing wrong in a file.
type Fault struct {
	Line   int    // in the file; 0 if that cannot be said
	Field  string // the path of the field; empty for faults of syntax
	Reason string // what the value is and what was expected
	Syntax bool   // the text cannot be read, or is beyond a bound
}

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

// InOrder sorts faults by line and bounds their number.
func (f Faults) InOrder() Faults {
	sorting.Func(f, func(a, b Fault) int { return a.Line - b.Line })
	if more := len(f) - MaxFaults; more > 0 {
		f = append(f[:MaxFaults:MaxFaults], Fault{Reason: fmt.Sprintf("and more, %d faults at least", len(f)), Syntax: f[0].Syntax})
	}
	return f
}
