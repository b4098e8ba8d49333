package page

import (
	"strconv"
	"strings"
	"time"
)

// tickDistances are round distances between ticks.
var tickDistances = [...]time.Duration{
	time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond,
	time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
}

// maxTicks is the maximum number of ticks by level: without zoom, and with more and more zoom.
var maxTicks = [...]int{10, 50, 250}

// addTicks adds the ticks of the time axis for all zoom levels. A tick that a coarser level has is not added
// again.
func (v *view) addTicks() {
	span := v.to.Sub(v.from)
	named := map[time.Duration]bool{}
	for level, most := range maxTicks {
		step := tickDistance(span, time.Duration(most))
		for at := time.Duration(0); at <= span; at += step {
			if !named[at] {
				named[at] = true
				v.Ticks = append(v.Ticks, tick{v.addPositionStyle(".t", v.from.Add(at)), level, shortDuration(at)})
			}
		}
	}
}

// tickDistance returns the smallest of the usual distances with which a span has at most maxTicks ticks. If
// none is large enough, it doubles the largest one until it is.
func tickDistance(span, maxTicks time.Duration) time.Duration {
	for _, step := range tickDistances {
		if span/step < maxTicks {
			return step
		}
	}
	step := tickDistances[len(tickDistances)-1]
	for span/step >= maxTicks {
		step *= 2
	}
	return step
}

// shortDuration returns a rounded duration as a short text, without trailing zero units. From two days on,
// whole days are shown as days.
func shortDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day && d%day == 0:
		return strconv.Itoa(int(d/day)) + "d"
	case d >= time.Minute:
		d = d.Round(100 * time.Millisecond)
	case d >= time.Second:
		d = d.Round(time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(time.Microsecond)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
