package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestDigest: what repeats itself is printed when its count has doubled.
func TestDigest(t *testing.T) {
	var d digest
	var lines []string
	at := start
	for range 17 {
		for _, e := range []event{{"Warning", "default/web", "BackOff", "again"}, {"Normal", "default/job", "Started", "c"}} {
			if line, ok := d.line(e, at); ok {
				lines = append(lines, line)
			}
		}
		at = at.Add(time.Minute)
	}
	assert.Equal(t, []string{
		"00:00:00 Warning BackOff pod/default/web: again", "00:00:00 Normal Started pod/default/job: c",
		"00:01:00 Warning BackOff pod/default/web: again (2 times)", "00:01:00 Normal Started pod/default/job: c (2 times)",
		"00:03:00 Warning BackOff pod/default/web: again (4 times)", "00:03:00 Normal Started pod/default/job: c (4 times)",
		"00:07:00 Warning BackOff pod/default/web: again (8 times)", "00:07:00 Normal Started pod/default/job: c (8 times)",
		"00:15:00 Warning BackOff pod/default/web: again (16 times)", "00:15:00 Normal Started pod/default/job: c (16 times)",
	}, lines)
}

// TestDigest_Flood: a pod that says something new each time is cut short, and
// what was left out is counted. Others do not suffer.
func TestDigest_Flood(t *testing.T) {
	var d digest
	printed := 0
	say := func(i int, at time.Time) string {
		line, ok := d.line(event{"Warning", "default/web", "Failed", fmt.Sprint(i)}, at)
		if ok {
			printed++
		}
		return line
	}
	for i := range 500 {
		say(i, start)
	}
	assert.Equal(t, eventBurst, printed)
	_, ok := d.line(event{"Normal", "default/job", "Started", "c"}, start)
	assert.True(t, ok)
	assert.Empty(t, say(500, start.Add(eventPeriod-1)))
	assert.Equal(t, "00:00:10 Warning Failed pod/default/web: 501 (476 other events of this pod were left out)", say(501, start.Add(eventPeriod)))
	assert.Empty(t, say(502, start.Add(eventPeriod)))
	assert.Equal(t, "00:00:20 Warning Failed pod/default/web: 503 (1 other events of this pod were left out)", say(503, start.Add(2*eventPeriod)))
}

// TestDigest_Bounded: what is remembered does not grow for ever.
func TestDigest_Bounded(t *testing.T) {
	var d digest
	for i := range 3 * digestPods {
		for j := range 2 {
			d.line(event{"Normal", fmt.Sprint(i), "Started", fmt.Sprint(j)}, start)
		}
	}
	assert.LessOrEqual(t, len(d.pods), digestPods)
	for i := range 3 * digestEvents {
		d.line(event{"Normal", "one", "Started", fmt.Sprint(i)}, start)
	}
	assert.LessOrEqual(t, len(d.pods["one"].seen), digestEvents)
}
