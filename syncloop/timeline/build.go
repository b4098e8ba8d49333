package timeline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Options say what Build cannot know from records.
type Options struct {
	// Now is where the drawing of a pod ends that still is; zero: with its last record.
	Now time.Time
	// Dropped is how many earlier records are missing: that of a Log.
	Dropped int
}

// Build makes the timeline of one pod from its records, in any order. No records give a
// Timeline of one second without lanes.
func Build(records []Record, o Options) Timeline {
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b Record) int { return a.At.Compare(b.At) })
	b := &builder{t: Timeline{Dropped: o.Dropped}, containers: map[string]*container{}}
	b.span(records, o.Now)
	for i := range records {
		b.add(&records[i])
	}
	b.finish()
	return b.t
}

// builder is a Timeline in the making.
type builder struct {
	t          Timeline
	ended      bool // nothing is open at To
	finished   bool // the worker is, for now
	worker     Lane
	sandbox    Lane
	status     Lane
	events     Lane
	containers map[string]*container
	order      []*container
}

// span says from when to when the drawing is.
func (b *builder) span(records []Record, now time.Time) {
	if len(records) == 0 {
		b.t.From, b.t.To = now, now.Add(time.Second)
		return
	}
	b.t.From = records[0].At
	for i := range records {
		if began := records[i].began(); began.Before(b.t.From) {
			b.t.From = began
		}
	}
	last := &records[len(records)-1]
	b.t.To = last.At
	b.ended = last.Kind == KindGone || last.Kind == KindPhase && last.Name == "finished"
	if !b.ended && now.After(b.t.To) {
		b.t.To = now
	}
	if !b.t.To.After(b.t.From) {
		b.t.To = b.t.From.Add(time.Second)
	}
}

// add puts one record where it belongs.
func (b *builder) add(r *Record) {
	switch r.Kind {
	case KindStatus:
		if r.Status != nil {
			b.works(r.At)
			b.looks(r.At, r.Status)
		}
	case KindPhase:
		b.enters(r)
	case KindSync:
		b.worker.put(Bar{From: r.At, To: r.At, Class: Failed, Label: r.Name, Details: details("", r.Err)})
	case KindAction:
		b.finished = b.finished && r.Name != startContainer
		b.works(r.began())
		b.did(r)
	case KindBackoff:
		c := b.container(r.Container, Regular)
		c.held = append(c.held, hold{r.began(), r.Until})
	case KindProbe:
		b.container(r.Container, Regular).probed(r)
	case KindEvent:
		b.announced(r)
	case KindNote:
		b.finished = false
		b.worker.end(r.At) // No worker outlives its agent.
		b.t.Marks = append(b.t.Marks, Mark{r.At, r.Text})
	case KindGone:
		b.finished = false
		for _, lane := range []*Lane{&b.worker, &b.sandbox, &b.status} {
			lane.end(r.At)
		}
	}
}

// announced draws an event.
func (b *builder) announced(r *Record) {
	class := Plain
	if r.Warning {
		class = Warning
	}
	b.events.put(Bar{From: r.At, To: r.At, Class: class, Label: r.Name, Details: details(r.Text, "")})
}

// works begins the first phase of a worker, of which no record tells.
func (b *builder) works(at time.Time) {
	if b.worker.open() < 0 && !b.finished {
		b.worker.put(Bar{From: at, To: at, Class: Plain, Label: syncing, Open: true})
	}
}

// syncing is lifecycle.Syncing.
const syncing = "syncing"

// enters begins another phase of the worker.
func (b *builder) enters(r *Record) {
	b.worker.end(r.At)
	b.finished = r.Name != syncing && r.Name != "terminating"
	class := Plain
	switch r.Name {
	case "terminating":
		class = Ending
	case "terminated":
		class = Working
	case "finished":
		b.worker.put(Bar{From: r.At, To: r.At, Class: Succeeded, Label: r.Name})
		return
	}
	b.worker.put(Bar{From: r.At, To: r.At, Class: class, Label: r.Name, Open: true})
}

// looks takes a status apart.
func (b *builder) looks(at time.Time, s *Status) {
	b.t.Pod = s.Pod
	if !b.status.goesOn(s.Summary) {
		b.status.end(at)
		b.status.put(Bar{From: at, To: at, Class: classOf(s), Label: s.Summary, Open: true, Details: details("phase "+string(s.Phase), "")})
	}
	switch up := b.sandbox.open() >= 0; {
	case s.SandboxReady && !up:
		b.sandbox.put(Bar{From: at, To: at, Class: Running, Label: "ready", Open: true})
	case !s.SandboxReady && up:
		b.sandbox.end(at)
	}
	for i := range s.Containers {
		b.container(s.Containers[i].Name, s.Containers[i].Kind).looks(at, i, &s.Containers[i])
	}
}

func classOf(s *Status) Class {
	switch {
	case strings.HasSuffix(s.Summary, "BackOff") || strings.Contains(s.Summary, "BackOff,"):
		return Backoff
	case strings.Contains(s.Summary, "Terminating"):
		return Ending
	case s.Phase == v1.PodSucceeded:
		return Succeeded
	case s.Phase == v1.PodFailed:
		return Failed
	case s.Phase == v1.PodRunning && strings.Contains(s.Summary, " Running"):
		return Running
	}
	return Waiting
}

// did draws an action.
func (b *builder) did(r *Record) {
	bar := Bar{From: r.began(), To: r.At, Class: Working, Label: r.Name, Details: details(r.Text, r.Err)}
	if r.Err != "" {
		bar.Class = Failed
	}
	if r.Container == "" {
		b.sandbox.put(bar)
		return
	}
	c := b.container(r.Container, Regular)
	c.actions.put(bar)
}

// container is the one of a name. What a status says of its kind counts.
func (b *builder) container(name string, kind ContainerKind) *container {
	c := b.containers[name]
	if c == nil {
		c = &container{name: name, kind: kind, probes: map[string]*Lane{}, place: len(b.order)}
		b.containers[name] = c
		b.order = append(b.order, c)
	}
	if kind != Regular {
		c.kind = kind
	}
	return c
}

// finish puts the lanes together.
func (b *builder) finish() {
	lanes := []Lane{b.worker.named("worker", LaneWorker), b.sandbox.named("sandbox", LaneSandbox)}
	slices.SortStableFunc(b.order, func(x, y *container) int { return cmp.Compare(x.place, y.place) })
	for _, c := range b.order {
		lanes = append(lanes, c.lanes(b.t.To, b.ended)...)
	}
	lanes = append(lanes, b.status.named("status", LaneStatus), b.events.named("events", LaneEvents))
	for i := range lanes {
		if lanes[i].finish(b.t.From, b.t.To, b.ended); len(lanes[i].Bars) > 0 {
			b.t.Lanes = append(b.t.Lanes, lanes[i])
		}
	}
}

// details are the lines that say something.
func details(text, err string) (lines []string) {
	if text != "" {
		lines = append(lines, text)
	}
	if err != "" {
		lines = append(lines, "failed: "+err)
	}
	return lines
}

// count is a number of equal things; one is not worth a word.
func count(n int, what string) string {
	if n < 2 {
		return what
	}
	return what + " ×" + strconv.Itoa(n)
}
