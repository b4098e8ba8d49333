package timeline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Options have the inputs of Build that records do not contain.
type Options struct {
	// Now is the end of the drawing of a pod that still exists; zero: its last record.
	Now time.Time
	// Dropped is the number of missing earlier records: Log.Dropped.
	Dropped int
}

// Build returns the timeline of one pod from its records, which may have any order. Without records it returns
// a Timeline of one second without lanes.
func Build(records []Record, o Options) Timeline {
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b Record) int { return a.At.Compare(b.At) })
	b := &builder{t: Timeline{Dropped: o.Dropped}, containers: map[string]*container{}}
	b.setTimeRange(records, o.Now)
	for i := range records {
		b.addRecord(&records[i])
	}
	b.addLanesWithBars()
	return b.t
}

// builder builds a Timeline from records.
type builder struct {
	t              Timeline
	ended          bool // no bar is open at To
	workerFinished bool // the worker has finished, unless a later record restarts it
	worker         Lane
	sandbox        Lane
	status         Lane
	events         Lane
	containers     map[string]*container
	order          []*container
}

// setTimeRange sets the start and the end of the timeline from the records, and whether the pod has finished.
// If it has not, the timeline continues until now. The range is at least one second if it would be empty.
func (b *builder) setTimeRange(records []Record, now time.Time) {
	if len(records) == 0 {
		b.t.From, b.t.To = now, now.Add(time.Second)
		return
	}
	b.t.From = records[0].At
	for i := range records {
		if began := records[i].startTime(); began.Before(b.t.From) {
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

// addRecord adds one record of the pod's log to the lanes that show its kind. A note, which marks a new process
// of the agent, closes the open bar of the worker. The removal of the pod closes the open bars of the worker,
// the sandbox and the status.
func (b *builder) addRecord(r *Record) {
	switch r.Kind {
	case KindStatus:
		if r.Status != nil {
			b.openSyncingBarUnlessFinished(r.At)
			b.addStatus(r.At, r.Status)
		}
	case KindPhase:
		b.addPhase(r)
	case KindSync:
		b.worker.addOrMergeBar(Bar{From: r.At, To: r.At, Class: Failed, Label: r.Name, Details: detailLines("", r.Err)})
	case KindAction:
		b.workerFinished = b.workerFinished && r.Name != startContainer
		b.openSyncingBarUnlessFinished(r.startTime())
		b.addAction(r)
	case KindBackoff:
		c := b.ensureContainerAndUpdateKind(r.Container, Regular)
		c.backoffs = append(c.backoffs, backoff{r.startTime(), r.Until})
	case KindProbe:
		b.ensureContainerAndUpdateKind(r.Container, Regular).addProbe(r)
	case KindEvent:
		b.addEvent(r)
	case KindNote:
		b.workerFinished = false
		b.worker.closeOrRemoveOpenBar(r.At) // The worker stops with its agent.
		b.t.Marks = append(b.t.Marks, Mark{r.At, r.Text})
	case KindGone:
		b.workerFinished = false
		for _, lane := range []*Lane{&b.worker, &b.sandbox, &b.status} {
			lane.closeOrRemoveOpenBar(r.At)
		}
	}
}

// addEvent adds an event to the lane of events, as a bar without duration.
func (b *builder) addEvent(r *Record) {
	class := Plain
	if r.Warning {
		class = Warning
	}
	b.events.addOrMergeBar(Bar{From: r.At, To: r.At, Class: class, Label: r.Name, Details: detailLines(r.Text, "")})
}

// openSyncingBarUnlessFinished opens the bar "syncing" of the worker, unless a bar is open or the worker has
// finished. The first phase of a worker has no record.
func (b *builder) openSyncingBarUnlessFinished(at time.Time) {
	if b.worker.openBarIndex() < 0 && !b.workerFinished {
		b.worker.addOrMergeBar(Bar{From: at, To: at, Class: Plain, Label: syncing, Open: true})
	}
}

// syncing is lifecycle.Syncing.
const syncing = "syncing"

// addPhase closes the bar of the worker's phase and opens a bar for the new phase. The phase "finished" gets a
// bar without duration instead.
func (b *builder) addPhase(r *Record) {
	b.worker.closeOrRemoveOpenBar(r.At)
	b.workerFinished = r.Name != syncing && r.Name != "terminating"
	class := Plain
	switch r.Name {
	case "terminating":
		class = Ending
	case "terminated":
		class = Working
	case "finished":
		b.worker.addOrMergeBar(Bar{From: r.At, To: r.At, Class: Succeeded, Label: r.Name})
		return
	}
	b.worker.addOrMergeBar(Bar{From: r.At, To: r.At, Class: class, Label: r.Name, Open: true})
}

// addStatus adds a pod status to the timeline. It draws in the lanes (rows of the timeline) of the pod status, the
// sandbox and each container. A bar is a span of time in a lane. If the summary of the status has not changed, the
// open bar of the pod status continues.
func (b *builder) addStatus(at time.Time, s *Status) {
	b.t.Pod = s.Pod
	if !b.status.isOpenWith(s.Summary) {
		b.status.closeOrRemoveOpenBar(at)
		b.status.addOrMergeBar(Bar{From: at, To: at, Class: statusClass(s), Label: s.Summary, Open: true, Details: detailLines("phase "+string(s.Phase), "")})
	}
	switch up := b.sandbox.openBarIndex() >= 0; {
	case s.SandboxReady && !up:
		b.sandbox.addOrMergeBar(Bar{From: at, To: at, Class: Running, Label: "ready", Open: true})
	case !s.SandboxReady && up:
		b.sandbox.closeOrRemoveOpenBar(at)
	}
	for i := range s.Containers {
		b.ensureContainerAndUpdateKind(s.Containers[i].Name, s.Containers[i].Kind).addStatus(at, i, &s.Containers[i])
	}
}

// statusClass returns the class of a status bar, which decides its colour, from the summary and the phase.
func statusClass(s *Status) Class {
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

// addAction adds an action of a sync to the lane of its container, or of the sandbox if it has no container.
func (b *builder) addAction(r *Record) {
	bar := Bar{From: r.startTime(), To: r.At, Class: Working, Label: r.Name, Details: detailLines(r.Text, r.Err)}
	if r.Err != "" {
		bar.Class = Failed
	}
	if r.Container == "" {
		b.sandbox.addOrMergeBar(bar)
		return
	}
	c := b.ensureContainerAndUpdateKind(r.Container, Regular)
	c.actions.addOrMergeBar(bar)
}

// ensureContainerAndUpdateKind returns the container with this name and creates it if it is missing. A kind
// other than Regular replaces the stored kind, because only a status gives such a kind.
func (b *builder) ensureContainerAndUpdateKind(name string, kind ContainerKind) *container {
	c := b.containers[name]
	if c == nil {
		c = &container{name: name, kind: kind, probes: map[string]*Lane{}, position: len(b.order)}
		b.containers[name] = c
		b.order = append(b.order, c)
	}
	if kind != Regular {
		c.kind = kind
	}
	return c
}

// addLanesWithBars adds all lanes that have bars to the timeline, in display order. It first clips their bars
// to the time range and assigns their rows.
func (b *builder) addLanesWithBars() {
	lanes := []Lane{b.worker.setNameAndCopy("worker", LaneWorker), b.sandbox.setNameAndCopy("sandbox", LaneSandbox)}
	slices.SortStableFunc(b.order, func(x, y *container) int { return cmp.Compare(x.position, y.position) })
	for _, c := range b.order {
		lanes = append(lanes, c.lanes(b.t.To, b.ended)...)
	}
	lanes = append(lanes, b.status.setNameAndCopy("status", LaneStatus), b.events.setNameAndCopy("events", LaneEvents))
	for i := range lanes {
		if lanes[i].clipBarsAndAssignRows(b.t.From, b.t.To, b.ended); len(lanes[i].Bars) > 0 {
			b.t.Lanes = append(b.t.Lanes, lanes[i])
		}
	}
}

// detailLines returns the text and the error as one line each, with "failed: " before the error. It leaves out
// an empty text or error.
func detailLines(text, err string) (lines []string) {
	if text != "" {
		lines = append(lines, text)
	}
	if err != "" {
		lines = append(lines, "failed: "+err)
	}
	return lines
}

// labelWithCount returns the label with the number of times, such as "fails ×3", or the label alone for one
// time.
func labelWithCount(times int, what string) string {
	if times < 2 {
		return what
	}
	return what + " ×" + strconv.Itoa(times)
}
