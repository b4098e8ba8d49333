package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ensureContainer is what is known of one.
type container struct {
	name     string
	kind     ContainerKind
	position int // in the spec, once a status has shown it
	runs     []*run
	waits    Lane
	backoffs []backoff
	actions  Lane
	probes   map[string]*Lane
}

// run is a Run, and when a status showed for the first time that it is over.
type run struct {
	Run
	restarts     int32
	missingSince time.Time
}

// backoff is a back-off that was noticed at a moment.
type backoff struct{ at, until time.Time }

// addStatus learns from a status.
func (c *container) addStatus(at time.Time, place int, s *Container) {
	c.position = place
	if s.Last != nil {
		c.addRun(at, s.Last, s.Restarts-1)
	}
	if s.Run != nil {
		c.addRun(at, s.Run, s.Restarts)
	}
	if s.Run == nil || s.Run.Ended {
		for _, r := range c.runs {
			if !r.Ended && r.missingSince.IsZero() {
				r.missingSince = at
			}
		}
	}
	c.updateWait(at, s)
}

// addRun takes over what a status says of a run. One that could not be started has no beginning;
// it is known by its end.
func (c *container) addRun(at time.Time, r *Run, restarts int32) {
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

// updateWait begins, goes on or ends what the container waits for.
func (c *container) updateWait(at time.Time, s *Container) {
	label := s.Reason
	if label == "" {
		label = "Waiting"
	}
	if s.Waiting && c.waits.isOpenWith(label) {
		return
	}
	c.waits.closeBar(at)
	if !s.Waiting {
		return
	}
	class := Waiting
	if strings.HasSuffix(label, "BackOff") {
		class = Backoff
	}
	c.waits.Bars = append(c.waits.Bars, Bar{From: at, To: at, Class: class, Label: label, Open: true, Details: detailLines(s.Message, "")})
}

// addProbe draws results of a probe.
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

// lanes are those of the container: its states, what was done with it, and its probes.
func (c *container) lanes(to time.Time, ended bool) []Lane {
	states := Lane{Name: c.name, Kind: LaneKind(c.kind), Bars: c.stateBars(to, ended)}
	lanes := []Lane{states, c.actions.withName(c.name+" actions", LaneActions)}
	for _, kind := range []string{"startup", "readiness", "liveness"} {
		if lane := c.probes[kind]; lane != nil {
			lanes = append(lanes, *lane)
		}
	}
	return lanes
}

// stateBars are the runs, and between them what was waited for.
func (c *container) stateBars(to time.Time, ended bool) (bars []Bar) {
	slices.SortStableFunc(c.runs, func(a, b *run) int { return a.StartedAt.Compare(b.StartedAt) })
	for i, r := range c.runs {
		var next time.Time
		if i+1 < len(c.runs) {
			next = c.runs[i+1].StartedAt
		}
		bars = append(bars, r.runBar(next, to, ended))
	}
	for _, w := range c.waits.Bars {
		if w.Open {
			w.To, w.Open = to, !ended
		}
		for _, r := range c.runs { // A run may have begun before the status that shows it.
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

// runBar is a run as it is drawn. One whose end was not seen ends with the next run, or with the
// status that shows it no more.
func (r *run) runBar(next, to time.Time, ended bool) Bar {
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

func restartLabel(n int32) string {
	if n == 0 {
		return "first run"
	}
	return fmt.Sprintf("restart %d", n)
}
