package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// addBar appends a bar. A bar without duration at the same moment as the previous one, which also has no
// duration, is merged with it.
func (l *Lane) addBar(b Bar) {
	if n := len(l.Bars); n > 0 && !b.Open && b.IsPoint() {
		if last := &l.Bars[n-1]; !last.Open && last.IsPoint() && last.From.Equal(b.From) {
			last.merge(b)
			return
		}
	}
	l.Bars = append(l.Bars, b)
}

// merge merges another bar without duration into this one. The details get a line for each.
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

// labelWithDetails returns the label and the details in one line.
func (b *Bar) labelWithDetails() string {
	return strings.Join(append([]string{b.Label}, b.Details...), ": ")
}

// openBarIndex returns the index of the open bar, or -1.
func (l *Lane) openBarIndex() int {
	for i := range slices.Backward(l.Bars) {
		if l.Bars[i].Open {
			return i
		}
	}
	return -1
}

// isOpenWith reports whether the open bar has this label.
func (l *Lane) isOpenWith(label string) bool {
	i := l.openBarIndex()
	return i >= 0 && l.Bars[i].Label == label
}

// closeBar closes the open bar. A bar that was opened at the same moment is removed.
func (l *Lane) closeBar(at time.Time) {
	i := l.openBarIndex()
	if i < 0 {
		return
	}
	l.Bars[i].To, l.Bars[i].Open = at, false
	if l.Bars[i].IsPoint() {
		l.Bars = slices.Delete(l.Bars, i, i+1)
	}
}

// withName sets the name and the kind, and returns the lane.
func (l *Lane) withName(name string, kind LaneKind) Lane {
	l.Name, l.Kind = name, kind
	return *l
}

// clipBars clips the bars to the time range of the timeline and assigns rows.
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

// assignRows assigns each bar the first row in which it overlaps no other bar.
func (l *Lane) assignRows() {
	var free []time.Time // by row: the time from which the row is free
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
