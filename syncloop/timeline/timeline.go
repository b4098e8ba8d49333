package timeline

import (
	"fmt"
	"strings"
	"time"
)

// Timeline is a drawing of the life of a pod.
type Timeline struct {
	// Pod is the pod's namespace and name; empty if no record has them.
	Pod      string
	From, To time.Time // To is after From
	Lanes    []Lane
	Marks    []Mark
	// Dropped is the number of missing earlier records.
	Dropped int
}

// LaneKind is what the bars of a Lane are about.
type LaneKind string

// The kinds of lanes. A ContainerKind is a kind of lane too.
const (
	// LaneWorker has the phases of the pod's worker.
	LaneWorker LaneKind = "worker"
	// LaneSandbox has the pod's sandbox.
	LaneSandbox LaneKind = "sandbox"
	// LaneActions has the actions for one container.
	LaneActions LaneKind = "actions"
	// LaneProbe has the results of one probe.
	LaneProbe LaneKind = "probe"
	// LaneStatus has the status of the pod.
	LaneStatus LaneKind = "status"
	// LaneEvents has the events of the pod.
	LaneEvents LaneKind = "events"
)

// Lane is a row of bars. Overlapping bars are drawn below each other.
type Lane struct {
	// Name is the name of a container, or describes the bars.
	Name string
	Kind LaneKind
	Rows int   // at least 1
	Bars []Bar // in order of their starts
}

// Class is the meaning of a bar; a drawing gives each class a colour.
type Class string

// The classes of bars.
const (
	// Plain is neither good nor bad.
	Plain Class = "plain"
	// Waiting has not started.
	Waiting Class = "waiting"
	// Running is a running container or pod.
	Running Class = "running"
	// Succeeded has ended without an error.
	Succeeded Class = "succeeded"
	// Failed has ended with an error.
	Failed Class = "failed"
	// Backoff is a delay after failures.
	Backoff Class = "backoff"
	// Ending is a terminating pod.
	Ending Class = "ending"
	// Working is an action of the agent.
	Working Class = "working"
	// Passing is a probe that succeeds.
	Passing Class = "passing"
	// Failing is a probe that fails.
	Failing Class = "failing"
	// Warning is an event of type Warning.
	Warning Class = "warning"
)

// Bar is something that lasted from From to To; the two are equal if it had no duration.
type Bar struct {
	From, To time.Time
	Class    Class
	Label    string   // a few words
	Details  []string // a line each
	Row      int      // in its lane, from 0
	// Open: it had not ended at the end of the Timeline.
	Open bool

	joined []string // the labels of all merged bars; nil if nothing was merged
}

// IsPoint reports whether the bar has no duration.
func (b *Bar) IsPoint() bool { return b.From.Equal(b.To) }

// Mark is a moment that concerns all lanes, for example a crash or a start of the agent.
type Mark struct {
	At   time.Time
	Text string
}

// String returns the timeline as a text: each lane with its bars, and times since From.
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

// describe returns the bar as one line of text, with times relative to from.
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
