package page

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/syncloop/timeline"
)

// The precision of a duration depends on its length, exactly at each bound.
func TestShort(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		48 * time.Hour: "2d", 36 * time.Hour: "36h", 72 * time.Hour: "3d", day: "24h", 2*day + time.Hour: "49h",
		time.Minute + 4*time.Millisecond: "1m", time.Minute: "1m", time.Minute + 100*time.Millisecond: "1m0.1s", time.Minute - time.Millisecond: "59.999s",
		time.Second: "1s", time.Second + time.Microsecond: "1s", time.Second + time.Millisecond: "1.001s", time.Second - time.Microsecond: "999.999ms",
		time.Millisecond: "1ms", time.Millisecond + 1: "1ms", time.Millisecond + time.Microsecond: "1.001ms", time.Millisecond - 1: "999.999µs", 1: "1ns",
		time.Hour: "1h", time.Hour + time.Minute: "1h1m",
	} {
		assert.Equal(t, want, shortDuration(d), "%d", d)
	}
}

// There are at most as many ticks as asked for, and for a span of months the distance is a multiple of weeks.
func TestDistance(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for _, c := range []struct{ span, most, want time.Duration }{
		{9 * time.Second, 10, time.Second}, {10*time.Second - 1, 10, time.Second}, {10 * time.Second, 10, 2 * time.Second},
		{10*week - 1, 10, week}, {10 * week, 10, 2 * week}, {20*week - 1, 10, 2 * week}, {20 * week, 10, 4 * week}, {40 * week, 10, 8 * week},
	} {
		assert.Equal(t, c.want, tickDistance(c.span, c.most), "%v", c.span)
	}
}

// A pod without a name has a heading that says it. The number of missing records is shown if there are any.
func TestDraw_Heading(t *testing.T) {
	draw := func(name string, dropped int) string {
		return string(Draw("t", timeline.Timeline{Pod: name, Dropped: dropped, From: time.Unix(0, 0), To: time.Unix(1, 0)}).HTML)
	}
	assert.Contains(t, draw("", 0), `>a pod without a status</h2>`)
	assert.Contains(t, draw("default/web", 0), `>default/web</h2>`)
	assert.Contains(t, draw("default/web", 3), `>default/web <small>3 earlier records are missing</small></h2>`)
	assert.Equal(t, 0, strings.Count(draw("default/web", 0), "are missing"))
}

// The IDs of lanes and bars are unique over all pods.
func TestDraw_Numbers(t *testing.T) {
	lane := timeline.Lane{Name: "app", Rows: 1, Bars: []timeline.Bar{{From: time.Unix(0, 0), To: time.Unix(1, 0)}}}
	pod := timeline.Timeline{Pod: "a", From: time.Unix(0, 0), To: time.Unix(1, 0), Lanes: []timeline.Lane{lane, lane}, Marks: []timeline.Mark{{At: time.Unix(0, 0), Text: "m"}}}
	html := string(Draw("t", pod, pod).HTML)
	for _, kind := range []string{"l", "b"} {
		seen := map[string]bool{}
		for _, number := range regexp.MustCompile("#"+kind+`(-?[0-9]+)\{`).FindAllStringSubmatch(html, -1) {
			assert.Regexp(t, "^[1-9][0-9]*$", number[1])
			seen[number[1]] = true
		}
		assert.Len(t, seen, 4, kind)
	}
}
