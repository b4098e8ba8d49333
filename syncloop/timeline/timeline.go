package timeline

import (
	"fmt"
	"strings"
	"time"
)

// Timeline is the life of a pod, to be drawn.
type Timeline struct {
	// Pod is the pod's namespace and name; empty if no record tells.
	Pod      string
	From, To time.Time // To is after From
	Lanes    []Lane
	Marks    []Mark
	// Dropped is how many earlier records are missing.
	Dropped int
}

// LaneKind says what the bars of a Lane are about.
type LaneKind string

// The kinds of lanes besides those of a ContainerKind.
const (
	// LaneWorker has the phases of the pod's worker.
	LaneWorker LaneKind = "worker"
	// LaneSandbox has the pod's sandbox.
	LaneSandbox LaneKind = "sandbox"
	// LaneActions has what was done with one container.
	LaneActions LaneKind = "actions"
	// LaneProbe has the results of one probe.
	LaneProbe LaneKind = "probe"
	// LaneStatus has the status of the pod.
	LaneStatus LaneKind = "status"
	// LaneEvents has the events of the pod.
	LaneEvents LaneKind = "events"
)

// Lane is a row of bars, of which those that overlap stand below each other.
type Lane struct {
	// Name is a container's, or says what the bars are about.
	Name string
	Kind LaneKind
	Rows int   // at least 1
	Bars []Bar // in the order of their beginnings
}

// Class says what a bar means; a drawing gives each a colour.
type Class string

// The classes of bars.
const (
	// Plain is neither good nor bad.
	Plain Class = "plain"
	// Waiting is something that has not begun.
	Waiting Class = "waiting"
	// Running is a container or a pod that runs.
	Running Class = "running"
	// Succeeded is what ended well.
	Succeeded Class = "succeeded"
	// Failed is what ended badly.
	Failed Class = "failed"
	// Backoff is a delay after failures.
	Backoff Class = "backoff"
	// Ending is a pod on its way to its end.
	Ending Class = "ending"
	// Working is something that the agent does.
	Working Class = "working"
	// Passing is a probe that succeeds.
	Passing Class = "passing"
	// Failing is a probe that fails.
	Failing Class = "failing"
	// Warning is an event of type Warning.
	Warning Class = "warning"
)

// Bar is what lasted from From to To; the two are equal for what took no time.
type Bar struct {
	From, To time.Time
	Class    Class
	Label    string   // a few words
	Details  []string // a line each
	Row      int      // in its lane, from 0
	// Open: it had not ended at the end of the Timeline.
	Open bool

	joined []string // the labels of all that it tells of, if they are several
}

// IsPoint reports whether the bar took no time.
func (b *Bar) IsPoint() bool { return b.From.Equal(b.To) }

// Mark is a moment that concerns all lanes: the agent crashed, or started.
type Mark struct {
	At   time.Time
	Text string
}

// String is the timeline as a text: each lane with its bars, and times since From.
func (t Timeline) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", t.Pod, t.To.Sub(t.From))
	if t.Dropped > 0 {
		fmt.Fprintf(&b, "%d earlier records are missing\n", t.Dropped)
	}
	for _, m := range t.Marks {
		fmt.Fprintf(&b, "%s: %s\n", m.At.Sub(t.From), m.Text)
	}
	for i := range t.Lanes {
		lane := &t.Lanes[i]
		fmt.Fprintf(&b, "%s (%s)\n", lane.Name, lane.Kind)
		for j := range lane.Bars {
			b.WriteString("  " + lane.Bars[j].describe(t.From) + "\n")
		}
	}
	return b.String()
}

func (b *Bar) describe(from time.Time) string {
	span := b.From.Sub(from).String()
	if !b.IsPoint() {
		span += ".." + b.To.Sub(from).String()
	}
	if b.Open {
		span += "+"
	}
	text := fmt.Sprintf("%s %s %q", span, b.Class, b.Label)
	if b.Row > 0 {
		text += fmt.Sprintf(" row=%d", b.Row)
	}
	if len(b.Details) > 0 {
		text += ": " + strings.Join(b.Details, "; ")
	}
	return text
}
