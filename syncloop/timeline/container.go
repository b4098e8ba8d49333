package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// container has the runs, waits, actions and probes of one container.
type container struct {
	name     string
	kind     ContainerKind
	position int // index in the status, once a status has arrived
	runs     []*run
	waits    Lane
	backoffs []backoff
	actions  Lane
	probes   map[string]*Lane
}

// run is a Run with the time of the first status that no longer shows it as running.
type run struct {
	Run
	restarts     int32
	missingSince time.Time
}

// backoff is a record of a back-off.
type backoff struct{ at, until time.Time }

// addStatus updates the runs, the wait and the position of the container from its status. A run that the status
// no longer shows as running is marked as missing since then.
func (c *container) addStatus(at time.Time, place int, s *Container) {
	c.position = place
	if s.Last != nil {
		c.addRunOrStoreEndOfKnownRun(at, s.Last, s.Restarts-1)
	}
	if s.Run != nil {
		c.addRunOrStoreEndOfKnownRun(at, s.Run, s.Restarts)
	}
	if s.Run == nil || s.Run.Ended {
		for _, r := range c.runs {
			if !r.Ended && r.missingSince.IsZero() {
				r.missingSince = at
			}
		}
	}
	c.openOrCloseWaitBar(at, s)
}

// addRunOrStoreEndOfKnownRun adds a run from a status, or stores the end of a known run. Runs with the same
// start time are the same run. A run that could not be started has no times, and its restart count identifies
// it. A run that is known and has not ended changes nothing.
func (c *container) addRunOrStoreEndOfKnownRun(at time.Time, r *Run, restarts int32) {
	known := *r
	if known.Ended && known.FinishedAt.IsZero() {
		known.FinishedAt = at
	}
	if known.StartedAt.IsZero() {
		known.StartedAt = known.FinishedAt
	}
	same := func(old *run) bool {
		return old.StartedAt.Equal(known.StartedAt) || r.StartedAt.IsZero() && r.FinishedAt.IsZero() && old.Ended && old.restarts == restarts
	}
	i := slices.IndexFunc(c.runs, same)
	switch {
	case i < 0:
		c.runs = append(c.runs, &run{Run: known, restarts: max(restarts, 0)})
	case known.Ended && !c.runs[i].Ended:
		c.runs[i].Run = known
	}
}

// openOrCloseWaitBar opens a bar for the reason that the container waits for, or closes the open bar if the
// reason has changed or the container no longer waits.
func (c *container) openOrCloseWaitBar(at time.Time, s *Container) {
	label := s.Reason
	if label == "" {
		label = "Waiting"
	}
	if s.Waiting && c.waits.isOpenWith(label) {
		return
	}
	c.waits.closeOrRemoveOpenBar(at)
	if !s.Waiting {
		return
	}
	class := Waiting
	if strings.HasSuffix(label, "BackOff") {
		class = Backoff
	}
	c.waits.Bars = append(c.waits.Bars, Bar{From: at, To: at, Class: class, Label: label, Open: true, Details: detailLines(s.Message, "")})
}

// addProbe adds a bar for a record of probe results to the lane of its probe kind.
func (c *container) addProbe(r *Record) {
	lane := c.probes[r.Name]
	if lane == nil {
		lane = &Lane{Name: c.name + " " + r.Name, Kind: LaneProbe}
		c.probes[r.Name] = lane
	}
	bar := Bar{From: r.startTime(), To: r.At, Class: Passing, Label: labelWithCount(r.Count, "passes"), Details: detailLines(r.Text, "")}
	if r.Err != "" {
		bar.Class, bar.Label, bar.Details = Failing, labelWithCount(r.Count, "fails"), detailLines(r.Err, "")
	}
	lane.Bars = append(lane.Bars, bar)
}

// lanes returns the lanes of the container: its states, its actions, and one for each probe kind with results.
func (c *container) lanes(to time.Time, ended bool) []Lane {
	states := Lane{Name: c.name, Kind: LaneKind(c.kind), Bars: c.stateBars(to, ended)}
	lanes := []Lane{states, c.actions.setNameAndCopy(c.name+" actions", LaneActions)}
	for _, kind := range []string{"startup", "readiness", "liveness"} {
		if lane := c.probes[kind]; lane != nil {
			lanes = append(lanes, *lane)
		}
	}
	return lanes
}

// stateBars returns the bars of the container's runs and waits. A wait ends early if a run starts within it,
// and a wait in back-off gets the back-off time as a detail.
func (c *container) stateBars(to time.Time, ended bool) (bars []Bar) {
	slices.SortStableFunc(c.runs, func(a, b *run) int { return a.StartedAt.Compare(b.StartedAt) })
	for i, r := range c.runs {
		var next time.Time
		if i+1 < len(c.runs) {
			next = c.runs[i+1].StartedAt
		}
		bars = append(bars, r.newBar(next, to, ended))
	}
	for _, w := range c.waits.Bars {
		if w.Open {
			w.To, w.Open = to, !ended
		}
		for _, r := range c.runs { // A run may have started before the first status that shows it.
			if r.StartedAt.After(w.From) && r.StartedAt.Before(w.To) {
				w.To, w.Open = r.StartedAt, false
			}
		}
		for _, h := range c.backoffs {
			if !h.at.Before(w.From) && !h.at.After(w.To) && w.Class == Backoff {
				w.Details = append(w.Details, "not started before "+h.until.Sub(w.From).String()+" have passed")
				break
			}
		}
		bars = append(bars, w)
	}
	return bars
}

// newBar returns the bar of a run. A run whose end is not known is closed at the next run or at the first
// status that does not show it; the last run stays open unless the pod has finished.
func (r *run) newBar(next, to time.Time, ended bool) Bar {
	b := Bar{From: r.StartedAt, To: r.FinishedAt, Class: Running, Label: "running", Details: []string{restartLabel(r.restarts)}}
	switch {
	case r.Ended:
		b.Class, b.Label = Succeeded, fmt.Sprintf("exit %d", r.ExitCode)
		if r.ExitCode != 0 {
			b.Class = Failed
		}
		b.Details = append(b.Details, strings.TrimSpace(fmt.Sprintf("exit code %d %s", r.ExitCode, r.Reason)))
		b.Details = append(b.Details, detailLines(r.Message, "")...)
	case !r.missingSince.IsZero() && (next.IsZero() || r.missingSince.Before(next)):
		b.To, b.Label, b.Details = r.missingSince, "running, end not seen", append(b.Details, "its end was not seen")
	case !next.IsZero():
		b.To, b.Label, b.Details = next, "running, end not seen", append(b.Details, "its end was not seen")
	default:
		b.To, b.Open = to, !ended
	}
	return b
}

// restartLabel returns "first run" for 0, and "restart n" otherwise.
func restartLabel(n int32) string {
	if n == 0 {
		return "first run"
	}
	return fmt.Sprintf("restart %d", n)
}
