package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// addBar appends a bar. What took no time and happened at the same moment as the bar before, which
// took none either, is joined with it.
func (l *Lane) addBar(b Bar) {
	if n := len(l.Bars); n > 0 && !b.Open && b.IsPoint() {
		if last := &l.Bars[n-1]; !last.Open && last.IsPoint() && last.From.Equal(b.From) {
			last.merge(b)
			return
		}
	}
	l.Bars = append(l.Bars, b)
}

// joinToPrevious makes one point of two, whose details have a line for each.
func (b *Bar) merge(other Bar) {
	if b.joined == nil {
		b.joined, b.Details = []string{b.Label}, []string{b.labelWithDetails()}
	}
	b.joined = append(b.joined, other.Label)
	b.Details = append(b.Details, other.labelWithDetails())
	b.Label = strings.Join(b.joined, ", ")
	if n := len(b.joined); n > 3 {
		b.Label = fmt.Sprintf("%s, %s and %d more", b.joined[0], b.joined[1], n-2)
	}
	if other.Class == Failed || other.Class == Warning {
		b.Class = other.Class
	}
}

// labelWithDetails is the label with the details.
func (b *Bar) labelWithDetails() string {
	return strings.Join(append([]string{b.Label}, b.Details...), ": ")
}

// openBar is where the bar stands that has not ended; -1: there is none.
func (l *Lane) openBar() int {
	for i := range slices.Backward(l.Bars) {
		if l.Bars[i].Open {
			return i
		}
	}
	return -1
}

// isOpenWith reports whether the bar that has not ended has this label.
func (l *Lane) isOpenWith(label string) bool {
	i := l.openBar()
	return i >= 0 && l.Bars[i].Label == label
}

// closeBar ends the bar that has not ended. One that took no time is left out: it has been replaced
// in the moment in which it began.
func (l *Lane) closeBar(at time.Time) {
	i := l.openBar()
	if i < 0 {
		return
	}
	l.Bars[i].To, l.Bars[i].Open = at, false
	if l.Bars[i].IsPoint() {
		l.Bars = slices.Delete(l.Bars, i, i+1)
	}
}

func (l *Lane) withName(name string, kind LaneKind) Lane {
	l.Name, l.Kind = name, kind
	return *l
}

// clipBars cuts the bars to the drawing and gives each a row.
func (l *Lane) clipBars(from, to time.Time, ended bool) {
	for i := range l.Bars {
		b := &l.Bars[i]
		if b.Open {
			b.To, b.Open = to, !ended
		}
		if b.From.Before(from) {
			b.Details = append(b.Details, "began "+from.Sub(b.From).String()+" before the first record")
			b.From = from
		}
		if b.To.Before(b.From) {
			b.To = b.From
		}
	}
	slices.SortStableFunc(l.Bars, func(a, b Bar) int { return a.From.Compare(b.From) })
	l.assignRows()
}

// assignRows gives each bar the first row that is free.
func (l *Lane) assignRows() {
	var free []time.Time // of each row, from when
	for i := range l.Bars {
		b := &l.Bars[i]
		row := slices.IndexFunc(free, func(t time.Time) bool { return !t.After(b.From) })
		if row < 0 {
			row = len(free)
			free = append(free, b.To)
		}
		b.Row, free[row] = row, b.To
	}
	l.Rows = max(1, len(free))
}
