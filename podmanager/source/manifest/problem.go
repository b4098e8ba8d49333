package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/internal/document"
)

// Errors of a Problem or of Decode.
var (
	// ErrSyntax means that the text is neither YAML nor JSON, has duplicate fields, or exceeds a bound.
	ErrSyntax = errors.New("manifest: cannot be read as YAML or JSON")
	// ErrInvalid means that the text was parsed, but is not a list of pods that this node can run.
	ErrInvalid = errors.New("manifest: invalid")
	// ErrIgnored means that unknown or duplicate fields are ignored. The pods run.
	ErrIgnored = errors.New("manifest: fields are ignored")
	// ErrPriority means that a static pod has an unusual pair of priority and class. It runs.
	ErrPriority = errors.New("manifest: unusual priority")
	// ErrEmpty means that the manifest has no document. For a file that held a pod before, this is a fault.
	ErrEmpty = errors.New("manifest: empty")
	// ErrUnreadable means that the file could not be read within the timeout.
	ErrUnreadable = errors.New("manifest: cannot be read")
	// ErrNotFile means that the path is a directory, pipe, socket or device. It is skipped.
	ErrNotFile = errors.New("manifest: not a regular file")
	// ErrDuplicate means that an earlier file has a pod with the same name or UID. The other pods of the file are used.
	ErrDuplicate = errors.New("manifest: duplicate pod")
	// ErrListing means that the directory, or the only file, could not be read. The desired pods stay as they were.
	ErrListing = errors.New("manifest: cannot be listed")
	// ErrNoWatch means that the system does not report changes, so that only polling finds them.
	ErrNoWatch = errors.New("manifest: cannot be watched")
	// ErrFetch means that the server has not returned a manifest. The desired pods stay as they were.
	ErrFetch = errors.New("manifest: cannot be fetched")
	// ErrKeep means that the last good answer of a server, or the last good version of a file, could not be saved or
	// loaded. A restart while the server is down, or while the file is faulty, may then terminate pods.
	ErrKeep = errors.New("manifest: cannot be kept over a restart")
)

// Problem is a fault to report. Each is reported once for each file and content.
type Problem struct {
	// Path is the file, or the directory, or the URL without its secrets.
	Path string
	// Line is the line of the first fault; 0 if unknown.
	Line int
	// Pod is the name in the manifest of the pod with the first fault, if known.
	Pod string
	// Kept means that the last good version of the file stays in use.
	Kept            bool
	savedUnreadable bool // the saved version, which may have pods, cannot be read
	// Err wraps one of the errors of this package and has the reason. For ErrSyntax and ErrInvalid it contains
	// [Faults].
	Err error
}

// logAttributes returns the fields of the problem as attributes of a log message. It leaves out an unknown line
// and pod.
func (p Problem) logAttributes() []any {
	known := []any{"path", p.Path}
	if p.Line > 0 {
		known = append(known, "line", p.Line)
	}
	if p.Pod != "" {
		known = append(known, "pod", p.Pod)
	}
	return append(known, "kept", p.Kept, "err", p.Err)
}

// String formats the problem as one sentence, or as one line for each fault.
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

// Fault is one thing that is wrong in a manifest.
type Fault struct {
	// Line in the file; 0 if unknown.
	Line int
	// Pod is the name in the manifest, if known.
	Pod string
	// Field is the path of the field, such as spec.containers[0].image; empty for syntax errors.
	Field string
	// Reason is the value and the expected one.
	Reason string

	syntax  bool
	ignored bool // the field is ignored, and the rest of the file is used
}

// String formats the fault as one sentence.
func (f Fault) String() string {
	return document.Fault{Line: f.Line, Field: f.Field, Reason: f.Reason}.String()
}

// Faults is an error that holds all faults of one manifest. It is ErrSyntax if the text could not be parsed, ErrIgnored
// if all faults are ignored, and ErrInvalid otherwise.
type Faults []Fault

// convertFaults converts the faults of a document, or of the named pod. If strict is false, it marks unknown
// and duplicate fields as ignored and says so in their reasons.
func convertFaults(found document.Faults, pod string, strict bool) Faults {
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

// splitIgnored returns the ignored faults and the other faults as two lists.
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

// appendBounded returns f with the faults of more appended, up to a length of maxCollected. It leaves out the
// rest.
func (f Faults) appendBounded(more Faults) Faults {
	return append(f, more[:min(len(more), max(0, maxCollected-len(f)))]...)
}

// Error returns one line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// Is reports whether target is ErrSyntax, ErrInvalid or ErrIgnored, whichever describes the faults.
func (f Faults) Is(target error) bool {
	if !slices.ContainsFunc(f, func(f Fault) bool { return !f.ignored }) {
		return target == ErrIgnored
	}
	syntax := slices.ContainsFunc(f, func(f Fault) bool { return f.syntax })
	return target == ErrSyntax && syntax || target == ErrInvalid && !syntax
}

// sortAndBound sorts the faults in place by line, ignored ones last, and returns the first document.MaxFaults.
// If it leaves faults out, it appends one that says how many there are.
func (f Faults) sortAndBound() Faults {
	ignored := map[bool]int{true: 1}
	slices.SortStableFunc(f, func(a, b Fault) int { return cmp.Or(ignored[a.ignored]-ignored[b.ignored], a.Line-b.Line) })
	if more := len(f) - document.MaxFaults; more > 0 {
		f = append(f[:document.MaxFaults:document.MaxFaults], Fault{Reason: fmt.Sprintf("and more, %d faults at least", len(f)), syntax: f[0].syntax, ignored: f[0].ignored})
	}
	return f
}

// Reason formats the problem as one sentence without its path.
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

// Effect describes in a clause what the problem means for the pods.
func (p Problem) Effect() string {
	switch {
	case errors.Is(p.Err, ErrNoWatch):
		return "changes are found a little later"
	case errors.Is(p.Err, ErrPriority):
		return "the pod runs"
	case errors.Is(p.Err, ErrIgnored):
		return "its pods run without them"
	case errors.Is(p.Err, errEditorFileName):
		return "its pods run as before"
	case errors.Is(p.Err, ErrDuplicate):
		return "the pod of the earlier file runs"
	case errors.Is(p.Err, errRemoveStale):
		return "a file that is gone may count again after a restart"
	case errors.Is(p.Err, ErrKeep):
		return "a restart without the server, or with a faulty file, may end its pods"
	case errors.Is(p.Err, ErrListing), errors.Is(p.Err, ErrFetch):
		return "everything stays as it was"
	case p.Kept:
		return "its last good version stays in force"
	case p.savedUnreadable:
		return "what runs of it goes on, and nothing of it is started"
	case errors.Is(p.Err, ErrNotFile):
		return "it is skipped"
	}
	return "nothing of this file runs"
}
