package source

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/plain"
)

// MaxFaults bounds how many faults of one source are returned. All are counted.
const MaxFaults = 100

// Fault is something wrong with what a source reads, for as long as it is wrong.
type Fault struct {
	// Path is the file, the directory, or the URL without its secrets.
	Path string `json:"path"`
	// Reason says what is wrong, in one sentence without the path.
	Reason string `json:"reason"`
	// Effect is what that means for what runs, in a clause.
	Effect string `json:"effect"`
	// Since is when it began to be wrong; what exactly is wrong may have changed since.
	Since time.Time `json:"since"`
}

// String is the path and what is wrong with it.
func (f Fault) String() string { return f.Path + ": " + f.Reason }

// FaultReporter is a Source that can be asked what is wrong now. Its methods are called at
// any time, concurrently with Run and with each other, and must not block.
type FaultReporter interface {
	// Faults returns the faults that stand now, in order of path. Its Source is left empty:
	// the Mux knows the name.
	Faults() Faults
	// FaultOf returns the fault because of which a pod of the source may not be as its
	// author wants it now, and false if there is none.
	FaultOf(uid types.UID) (Fault, bool)
}

// Faults are the faults of one source that stand at one moment.
type Faults struct {
	// Source is the name of the source.
	Source string `json:"source"`
	// Count is the number of all faults, First the first of them, MaxFaults at most.
	Count int     `json:"count"`
	First []Fault `json:"faults,omitempty"`
}

// Faults returns the faults that stand now of each source that is a FaultReporter or has a pod that
// is refused, in order of the names of the sources. A mended fault is not among them.
func (m *Mux) Faults() (all []Faults) {
	for _, in := range m.inboxes {
		refused := m.refusedPods(in.name)
		r, ok := in.src.(FaultReporter)
		if !ok && len(refused) == 0 {
			continue
		}
		if !ok {
			r = noFaults{}
		}
		broken := Fault{Path: in.name, Reason: "the source panicked when it was asked for its faults", Effect: "its faults are not known", Since: m.cfg.Clock.Now()}
		one := contain.CallOrDefault(m.guard, "Source.Faults", Faults{Count: 1, First: []Fault{broken}}, r.Faults)
		for _, r := range refused {
			one.Count++
			one.First = append(slices.Clip(one.First), m.refusedFault(in, r))
		}
		one.Source, one.First = in.name, one.First[:min(len(one.First), MaxFaults)]
		all = append(all, one)
	}
	return all
}

// noFaults is a source that reports none.
type noFaults struct{}

func (noFaults) Faults() Faults                  { return Faults{} }
func (noFaults) FaultOf(types.UID) (Fault, bool) { return Fault{}, false }

// FaultOf returns the first fault, in order of the names of the sources, that concerns a pod,
// and false if there is none. The refusal of a pod also concerns the pod that has its UID.
func (m *Mux) FaultOf(uid types.UID) (fault Fault, found bool) {
	for _, in := range m.inboxes {
		if r, ok := in.src.(FaultReporter); ok && !found {
			_ = m.guard.Call("Source.FaultOf", func() { fault, found = r.FaultOf(uid) }) // A panic is told of.
		}
	}
	if found {
		return fault, true
	}
	for _, in := range m.inboxes {
		for _, r := range m.refusedPods(in.name) {
			if r.Pod.UID == uid {
				return m.refusedFault(in, r), true
			}
		}
	}
	return fault, false
}

// mayConcern reports whether the fault may be that of a pod: its file is called like the pod, whose
// name may have the node's as a suffix, or its reason has the name as a word.
func (f Fault) mayConcern(pod string) bool {
	file, _, _ := strings.Cut(filepath.Base(f.Path), ".")
	return pod != "" && (pod == file || strings.HasPrefix(pod, file+"-") || slices.Contains(strings.Fields(f.Reason), pod))
}

// shownFaults is how many faults a sentence for people has.
const shownFaults = 5

// Describe says in lines how many faults there are, and what the first few are. It is empty
// if there is none.
func Describe(all []Faults) string { return DescribeFor(all, "") }

// DescribeFor is Describe for a caller that looks for a pod: faults that name it, or whose file is
// called like it, come first.
func DescribeFor(all []Faults, pod string) string {
	var first, others []string
	count := 0
	for _, one := range all {
		count += one.Count
		for _, f := range one.First {
			line := plain.Visible(fmt.Sprintf("%s; %s (since %s)", f, f.Effect, f.Since.UTC().Format(time.RFC3339)))
			if f.mayConcern(pod) {
				first = append(first, line)
			} else {
				others = append(others, line)
			}
		}
	}
	lines := append(first, others...)
	lines = lines[:min(len(lines), shownFaults)]
	counted := fmt.Sprint(count, " faults in the manifests")
	if count == 1 {
		counted = "1 fault in the manifests"
	}
	switch {
	case count == 0:
		return ""
	case len(lines) == 0:
		return counted
	case count == 1:
		return counted + ": " + lines[0]
	case count > len(lines):
		lines = append(lines, fmt.Sprintf("and %d more", count-len(lines)))
	}
	return counted + ":\n  " + strings.Join(lines, "\n  ")
}
