package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/internal/document"
)

// What a Problem or a decoding error can be.
var (
	// ErrSyntax: the text is neither YAML nor JSON, or has duplicate fields,
	// or is beyond the bounds.
	ErrSyntax = errors.New("manifest: cannot be read as YAML or JSON")
	// ErrInvalid: it can be read, but not as pods this node can run.
	ErrInvalid = errors.New("manifest: invalid")
	// ErrIgnored: unknown fields, or all but the last of duplicate ones, are ignored. The pods run.
	ErrIgnored = errors.New("manifest: fields are ignored")
	// ErrPriority: a static pod has an unusual pair of priority and class. It runs.
	ErrPriority = errors.New("manifest: unusual priority")
	// ErrEmpty: there is no document in it. For a file that held a pod before
	// it is as bad as any other fault.
	ErrEmpty = errors.New("manifest: empty")
	// ErrUnreadable: the file could not be read, or not in time.
	ErrUnreadable = errors.New("manifest: cannot be read")
	// ErrNotFile: a directory, pipe, socket or device. It is skipped.
	ErrNotFile = errors.New("manifest: not a regular file")
	// ErrDuplicate: an earlier file has a pod with this name or UID. The rest
	// of the file counts.
	ErrDuplicate = errors.New("manifest: duplicate pod")
	// ErrListing: the directory, or the only file, could not be read, so nothing was
	// learned and everything stays as it was.
	ErrListing = errors.New("manifest: cannot be listed")
	// ErrNoWatch: changes are not announced by the system, so they are found
	// by the poll only.
	ErrNoWatch = errors.New("manifest: cannot be watched")
	// ErrFetch: the server has not answered with a manifest, so nothing was learned and
	// everything stays as it was.
	ErrFetch = errors.New("manifest: cannot be fetched")
	// ErrKeep: the last good answer of a server, or the last good version of a file, could
	// not be saved, or what was saved could not be read. A restart without the server, or
	// with a faulty file, may end pods.
	ErrKeep = errors.New("manifest: cannot be kept over a restart")
)

// Problem is a fault to report, once for each file and content.
type Problem struct {
	// Path is the file, or the directory, or the URL without its secrets.
	Path string
	// Line is where the first fault is; 0 if that cannot be said.
	Line int
	// Pod is the name in the manifest of the pod with the first fault, if
	// that is known.
	Pod string
	// Kept: the last good version of the file stays in force.
	Kept bool
	lost bool // there may be pods of a good version that cannot be read
	// Err is one of the errors of this package, with the reason. For
	// ErrSyntax and ErrInvalid it holds [Faults].
	Err error
}

// attributes are what a log message says of the problem, without what is not known.
func (p Problem) attributes() []any {
	known := []any{"path", p.Path}
	if p.Line > 0 {
		known = append(known, "line", p.Line)
	}
	if p.Pod != "" {
		known = append(known, "pod", p.Pod)
	}
	return append(known, "kept", p.Kept, "err", p.Err)
}

// String is the problem as one sentence, or one line for each fault.
func (p Problem) String() string {
	var faults Faults
	if !errors.As(p.Err, &faults) {
		return p.Path + ": " + strings.TrimPrefix(p.Err.Error(), "manifest: ")
	}
	lines := make([]string, 0, len(faults))
	for _, f := range faults {
		lines = append(lines, p.Path+": "+f.String())
	}
	return strings.Join(lines, "\n")
}

// Fault is one thing wrong in a manifest.
type Fault struct {
	// Line in the file; 0 if that cannot be said.
	Line int
	// Pod is the name in the manifest, if known.
	Pod string
	// Field is the path of the field, such as spec.containers[0].image; empty
	// for faults of syntax.
	Field string
	// Reason says what the value is and what was expected.
	Reason string

	syntax  bool
	ignored bool // the field is ignored, and the rest of the file counts
}

// String is the fault as one sentence.
func (f Fault) String() string {
	return document.Fault{Line: f.Line, Field: f.Field, Reason: f.Reason}.String()
}

// Faults is everything wrong in one manifest, as an error. It is ErrSyntax if
// the text could not be read, and ErrInvalid otherwise.
type Faults []Fault

// faultsOf are the faults of a document, or of a pod with a name.
// For a reader that is not strict unknown and duplicate fields are ignored.
func faultsOf(found document.Faults, pod string, strict bool) Faults {
	faults := make(Faults, 0, len(found))
	for _, f := range found {
		fault := Fault{Line: f.Line, Pod: pod, Field: f.Field, Reason: f.Reason, syntax: f.Syntax}
		if !strict && f.IsWarning() {
			fault.ignored, fault.syntax = true, false
			fault.Reason += ignoredReason[f.Kind]
		}
		faults = append(faults, fault)
	}
	return faults
}

// ignoredReason completes the reason of a fault that is ignored.
var ignoredReason = map[document.FaultKind]string{
	document.UnknownField:   ", ignored",
	document.DuplicateField: ", ignored but for the last",
}

// splitIgnored returns the faults that are ignored, and the others.
func (f Faults) splitIgnored() (ignored, wrong Faults) {
	for _, fault := range f {
		if fault.ignored {
			ignored = append(ignored, fault)
		} else {
			wrong = append(wrong, fault)
		}
	}
	return ignored, wrong
}

// and appends faults as long as anybody could read them.
func (f Faults) and(more Faults) Faults {
	return append(f, more[:min(len(more), max(0, maxListed-len(f)))]...)
}

// Error has one line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// Is makes the error one of the three sentinels.
func (f Faults) Is(target error) bool {
	if !slices.ContainsFunc(f, func(f Fault) bool { return !f.ignored }) {
		return target == ErrIgnored
	}
	syntax := slices.ContainsFunc(f, func(f Fault) bool { return f.syntax })
	return target == ErrSyntax && syntax || target == ErrInvalid && !syntax
}

// inOrder sorts faults by line, first the faults that reject the file and then the ignored ones, and bounds their
// number.
func (f Faults) inOrder() Faults {
	ignored := map[bool]int{true: 1}
	slices.SortStableFunc(f, func(a, b Fault) int { return cmp.Or(ignored[a.ignored]-ignored[b.ignored], a.Line-b.Line) })
	if more := len(f) - document.MaxFaults; more > 0 {
		f = append(f[:document.MaxFaults:document.MaxFaults], Fault{Reason: fmt.Sprintf("and more, %d faults at least", len(f)), syntax: f[0].syntax, ignored: f[0].ignored})
	}
	return f
}

// Reason is the problem as one sentence without its path.
func (p Problem) Reason() string {
	var faults Faults
	if !errors.As(p.Err, &faults) || len(faults) == 0 {
		return strings.TrimPrefix(p.Err.Error(), "manifest: ")
	}
	if more := len(faults) - 1; more > 0 {
		return fmt.Sprintf("%s (and %d more)", faults[0], more)
	}
	return faults[0].String()
}

// Effect is what the problem means for what runs, in a clause.
func (p Problem) Effect() string {
	switch {
	case errors.Is(p.Err, ErrNoWatch):
		return "changes are found a little later"
	case errors.Is(p.Err, ErrPriority):
		return "the pod runs"
	case errors.Is(p.Err, ErrIgnored):
		return "its pods run without them"
	case errors.Is(p.Err, errEditorsName):
		return "its pods run as before"
	case errors.Is(p.Err, ErrDuplicate):
		return "the pod of the earlier file runs"
	case errors.Is(p.Err, errSweep):
		return "a file that is gone may count again after a restart"
	case errors.Is(p.Err, ErrKeep):
		return "a restart without the server, or with a faulty file, may end its pods"
	case errors.Is(p.Err, ErrListing), errors.Is(p.Err, ErrFetch):
		return "everything stays as it was"
	case p.Kept:
		return "its last good version stays in force"
	case p.lost:
		return "what runs of it goes on, and nothing of it is started"
	case errors.Is(p.Err, ErrNotFile):
		return "it is skipped"
	}
	return "nothing of this file runs"
}
