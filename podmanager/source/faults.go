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

// Fault is an error in the input of a source, as long as it exists.
type Fault struct {
	// Path is the file, the directory, or the URL without its secrets.
	Path string `json:"path"`
	// Reason describes the error, in one sentence without the path.
	Reason string `json:"reason"`
	// Effect describes the consequence for the pods, in a clause.
	Effect string `json:"effect"`
	// Since is when the fault began. Its reason may have changed since.
	Since time.Time `json:"since"`
}

// String returns the path and the reason.
func (f Fault) String() string { return f.Path + ": " + f.Reason }

// FaultReporter is a Source that reports its present faults. Its methods are called at any time,
// concurrently with Run and with each other, and must not block.
type FaultReporter interface {
	// Faults returns the present faults, in order of path. Faults.Source is left empty; the Mux
	// sets it.
	Faults() Faults
	// FaultOf returns a fault that affects a pod: because of it the pod may differ from its
	// manifest. It returns false if there is no such fault.
	FaultOf(uid types.UID) (Fault, bool)
}

// Faults are the faults of one source at one moment.
type Faults struct {
	// Source is the name of the source.
	Source string `json:"source"`
	// Count is the number of all faults. First has the first ones, at most MaxFaults.
	Count int     `json:"count"`
	First []Fault `json:"faults,omitempty"`
}

// Faults returns the present faults of each source that is a FaultReporter or has a refused pod, in
// order of source name.
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
			one.First = append(slices.Clip(one.First), m.faultOfRefused(in, r))
		}
		one.Source, one.First = in.name, one.First[:min(len(one.First), MaxFaults)]
		all = append(all, one)
	}
	return all
}

// noFaults is a FaultReporter without faults.
type noFaults struct{}

// Faults implements FaultReporter.
func (noFaults) Faults() Faults { return Faults{} }

// FaultOf implements FaultReporter.
func (noFaults) FaultOf(types.UID) (Fault, bool) { return Fault{}, false }

// FaultOf returns the first fault, in order of source name, that concerns a pod, and false if there
// is none. The refusal of a pod also concerns the pod that has its UID.
func (m *Mux) FaultOf(uid types.UID) (fault Fault, found bool) {
	for _, in := range m.inboxes {
		if r, ok := in.src.(FaultReporter); ok && !found {
			_ = m.guard.Call("Source.FaultOf", func() { fault, found = r.FaultOf(uid) }) // The guard reports a panic.
		}
	}
	if found {
		return fault, true
	}
	for _, in := range m.inboxes {
		for _, r := range m.refusedPods(in.name) {
			if r.Pod.UID == uid {
				return m.faultOfRefused(in, r), true
			}
		}
	}
	return fault, false
}

// mayConcernPod reports whether a fault may be about a pod with this name: the file has the pod's name, the
// pod's name is the file's name with a suffix such as the node's name, or the reason contains the name as a
// word.
func (f Fault) mayConcernPod(pod string) bool {
	file, _, _ := strings.Cut(filepath.Base(f.Path), ".")
	return pod != "" && (pod == file || strings.HasPrefix(pod, file+"-") || slices.Contains(strings.Fields(f.Reason), pod))
}

// maxShownFaults is how many faults Describe shows.
const maxShownFaults = 5

// Describe returns the number of faults and the first few of them, as lines of text. It returns an
// empty string if there are none.
func Describe(all []Faults) string { return DescribeFor(all, "") }

// DescribeFor is Describe with the faults that may concern a pod first.
func DescribeFor(all []Faults, pod string) string {
	var first, others []string
	count := 0
	for _, one := range all {
		count += one.Count
		for _, f := range one.First {
			line := plain.Visible(fmt.Sprintf("%s; %s (since %s)", f, f.Effect, f.Since.UTC().Format(time.RFC3339)))
			if f.mayConcernPod(pod) {
				first = append(first, line)
			} else {
				others = append(others, line)
			}
		}
	}
	lines := append(first, others...)
	lines = lines[:min(len(lines), maxShownFaults)]
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
