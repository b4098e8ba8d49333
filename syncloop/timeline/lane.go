package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// addOrMergeBar appends a bar to the lane. If the bar and the lane's last bar are both without duration and have the
// same time, it merges the bar into the last one instead.
func (l *Lane) addOrMergeBar(b Bar) {
	if n := len(l.Bars); n > 0 && !b.Open && b.IsPoint() {
		if last := &l.Bars[n-1]; !last.Open && last.IsPoint() && last.From.Equal(b.From) {
			last.mergePointBar(b)
			return
		}
	}
	l.Bars = append(l.Bars, b)
}

// mergePointBar merges a bar without duration into this one, which has the same time. The labels are joined and
// the details get a line for each. A failure or warning sets the class.
func (b *Bar) mergePointBar(other Bar) {
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

// labelWithDetails returns the label and the details as one line, with colons between them.
func (b *Bar) labelWithDetails() string {
	return strings.Join(append([]string{b.Label}, b.Details...), ": ")
}

// openBarIndex returns the index of the lane's last open bar, or -1 if no bar is open.
func (l *Lane) openBarIndex() int {
	for i := range slices.Backward(l.Bars) {
		if l.Bars[i].Open {
			return i
		}
	}
	return -1
}

// isOpenWith reports whether a bar is open and has this label.
func (l *Lane) isOpenWith(label string) bool {
	i := l.openBarIndex()
	return i >= 0 && l.Bars[i].Label == label
}

// closeOrRemoveOpenBar closes the open bar at this time. If the bar was opened at the same time, it removes the bar
// instead. If no bar is open, it does nothing.
func (l *Lane) closeOrRemoveOpenBar(at time.Time) {
	i := l.openBarIndex()
	if i < 0 {
		return
	}
	l.Bars[i].To, l.Bars[i].Open = at, false
	if l.Bars[i].IsPoint() {
		l.Bars = slices.Delete(l.Bars, i, i+1)
	}
}

// setNameAndCopy sets the name and the kind of the lane and returns a copy of it.
func (l *Lane) setNameAndCopy(name string, kind LaneKind) Lane {
	l.Name, l.Kind = name, kind
	return *l
}

// clipBarsAndAssignRows clips the bars to the time range of the timeline, sorts them by start and assigns their
// rows. An open bar ends at the end of the range, and stays marked as open unless the pod has finished.
func (l *Lane) clipBarsAndAssignRows(from, to time.Time, ended bool) {
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

// assignRows gives each bar the first row in which it overlaps no other bar, and sets the number of rows.
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
