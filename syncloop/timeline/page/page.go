package page

import (
	"crypto/sha256"
	_ "embed" // For the files of the page.
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/podkeel/podkeel/syncloop/timeline"
)

// style is the part of the style sheet that all pages share.
//
//go:embed style.css
var style string

// script is the script of the page.
//
//go:embed script.js
var script string

// Page is a drawing as an HTML file.
type Page struct {
	// HTML is the file.
	HTML []byte
	// Policy is the Content-Security-Policy for the header of an HTTP response: the policy in the file, and
	// that no other page may frame it.
	Policy string
}

// Draw draws timelines on one page, one below the other, with one time scale and the title.
func Draw(title string, timelines ...timeline.Timeline) Page {
	v := newView(title, timelines)
	var m markup
	m.writePage(v)
	return Page{[]byte(m.String()), v.Policy + "; frame-ancestors 'none'"}
}

// view is the data of the page.
type view struct {
	Title, Policy string
	Style, Places verbatim
	Script        verbatim
	From, To      string // times of the day
	Ticks         []tick
	Legend        []timeline.Class
	Pods          []pod

	from, to  time.Time
	positions strings.Builder
	lastBarID int
	lastID    int
}

// tick is a moment with a label on the axis. Ticks of higher levels are shown if there is space.
type tick struct {
	ID, Level int
	Label     string
}

// pod is the chart of a timeline.
type pod struct {
	ID      int
	Name    string
	Dropped int
	Marks   []mark
	Lanes   []lane
}

// mark is a moment that concerns all lanes.
type mark struct {
	ID    int
	Label string
}

// lane is a row of bars.
type lane struct {
	ID         int
	Name, Kind string
	Bars       []bar
}

// bar is a bar, which is a button of the page.
type bar struct {
	ID                         int
	Class, Point, Open         string
	Label, Title, Span, Spoken string
	Details                    string // a line each
}

// newView returns the data of the page for these timelines, including its style sheet and its
// Content-Security-Policy.
func newView(title string, timelines []timeline.Timeline) *view {
	v := &view{Title: title, Style: verbatim(style), Script: verbatim(script), Legend: usedClasses(timelines)}
	v.setTimeRange(timelines)
	v.addTicks()
	for i := range timelines {
		v.Pods = append(v.Pods, v.newPodAndStyle(i, &timelines[i]))
	}
	v.Places = verbatim(v.positions.String())
	v.Policy = fmt.Sprintf("default-src 'none'; style-src %s %s; script-src %s; base-uri 'none'; form-action 'none'", cspHash(style), cspHash(string(v.Places)), cspHash(script))
	return v
}

// cspHash returns the hash of a style or script as a source of a Content-Security-Policy.
func cspHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// setTimeRange sets the time range that all timelines cover together, and at least one second if it would be
// empty.
func (v *view) setTimeRange(timelines []timeline.Timeline) {
	for i := range timelines {
		t := &timelines[i]
		if v.from.IsZero() || t.From.Before(v.from) {
			v.from = t.From
		}
		if t.To.After(v.to) {
			v.to = t.To
		}
	}
	if !v.to.After(v.from) {
		v.to = v.from.Add(time.Second)
	}
	v.From, v.To = v.from.UTC().Format(time.RFC3339), v.to.UTC().Format(time.RFC3339)
}

// usedClasses returns the classes that at least one bar has, in the order in which the classes are declared.
func usedClasses(timelines []timeline.Timeline) (used []timeline.Class) {
	seen := map[timeline.Class]bool{}
	for i := range timelines {
		for _, lane := range timelines[i].Lanes {
			for _, b := range lane.Bars {
				seen[b.Class] = true
			}
		}
	}
	for _, class := range classes {
		if seen[class] {
			used = append(used, class)
		}
	}
	return used
}

// classes are the classes that the style sheet has.
var classes = [...]timeline.Class{
	timeline.Plain, timeline.Waiting, timeline.Running, timeline.Succeeded, timeline.Failed, timeline.Backoff,
	timeline.Ending, timeline.Working, timeline.Passing, timeline.Failing, timeline.Warning,
}

// newPodAndStyle returns the chart of one timeline, and adds the positions of its marks, lanes and bars to the
// style sheet.
func (v *view) newPodAndStyle(id int, t *timeline.Timeline) pod {
	p := pod{ID: id, Name: t.Pod, Dropped: t.Dropped}
	for _, m := range t.Marks {
		p.Marks = append(p.Marks, mark{v.addPositionStyle("#m", m.At), m.Text})
	}
	for i := range t.Lanes {
		p.Lanes = append(p.Lanes, v.newLaneAndStyle(&t.Lanes[i]))
	}
	return p
}

// newLaneAndStyle returns a lane of the page with its bars. It adds the lane's number of rows and the positions
// of the bars to the style sheet.
func (v *view) newLaneAndStyle(l *timeline.Lane) lane {
	v.lastID++
	out := lane{ID: v.lastID, Name: l.Name, Kind: string(l.Kind)}
	fmt.Fprintf(&v.positions, "#l%d{--rows:%d}\n", v.lastID, l.Rows)
	for i := range l.Bars {
		out.Bars = append(out.Bars, v.newBarAndStyle(l, &l.Bars[i]))
	}
	return out
}

// newBarAndStyle returns a bar of the page, and adds its position, width and row to the style sheet.
func (v *view) newBarAndStyle(l *timeline.Lane, b *timeline.Bar) bar {
	v.lastBarID++
	left, right := v.percentOfRange(b.From), v.percentOfRange(b.To)
	fmt.Fprintf(&v.positions, "#b%d{left:%.5f%%;width:%.5f%%;--row:%d}\n", v.lastBarID, left, right-left, b.Row)
	out := bar{ID: v.lastBarID, Class: string(b.Class), Label: b.Label, Title: l.Name + ": " + b.Label, Details: strings.Join(b.Details, "\n")}
	switch {
	case b.IsPoint():
		out.Point, out.Span = " point", "at "+shortDuration(b.From.Sub(v.from))
	case b.Open:
		out.Open, out.Span = " open", fmt.Sprintf("from %s, for %s so far", shortDuration(b.From.Sub(v.from)), shortDuration(b.To.Sub(b.From)))
	default:
		out.Span = fmt.Sprintf("from %s to %s, %s", shortDuration(b.From.Sub(v.from)), shortDuration(b.To.Sub(v.from)), shortDuration(b.To.Sub(b.From)))
	}
	out.Span += " (" + b.From.UTC().Format("15:04:05.000") + " UTC)"
	out.Spoken = strings.Join(append([]string{out.Title, out.Span}, b.Details...), "; ")
	return out
}

// addPositionStyle adds the horizontal position of a moment to the style sheet, under the prefix and a new ID.
// It returns the ID.
func (v *view) addPositionStyle(prefix string, at time.Time) (id int) {
	v.lastID++
	fmt.Fprintf(&v.positions, "%s%d{left:%.5f%%}\n", prefix, v.lastID, v.percentOfRange(at))
	return v.lastID
}

// percentOfRange returns the position of a moment in the time range, in percent.
func (v *view) percentOfRange(at time.Time) float64 {
	return 100 * float64(at.Sub(v.from)) / float64(v.to.Sub(v.from))
}
