package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestEventLimiter: a repeated event is printed when its count has doubled.
func TestEventLimiter(t *testing.T) {
	var d eventLimiter
	var lines []string
	at := start
	for range 17 {
		for _, e := range []event{{kind: "Warning", pod: "default/web", reason: "BackOff", message: "again"}, {kind: "Normal", pod: "default/job", reason: "Started", message: "c"}} {
			if line, ok := d.countAndFormatIfAllowed(e, at); ok {
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

// TestEventLimiter_Flood: the events of a pod with a new message each time are limited, and the dropped events are counted.
// Other pods are not affected.
func TestEventLimiter_Flood(t *testing.T) {
	var d eventLimiter
	printed := 0
	say := func(i int, at time.Time) string {
		line, ok := d.countAndFormatIfAllowed(event{kind: "Warning", pod: "default/web", reason: "Failed", message: fmt.Sprint(i)}, at)
		if ok {
			printed++
		}
		return line
	}
	for i := range 500 {
		say(i, start)
	}
	assert.Equal(t, eventBurst, printed)
	_, ok := d.countAndFormatIfAllowed(event{kind: "Normal", pod: "default/job", reason: "Started", message: "c"}, start)
	assert.True(t, ok)
	assert.Empty(t, say(500, start.Add(eventPeriod-1)))
	assert.Equal(t, "00:00:10 Warning Failed pod/default/web: 501 (476 other events of this pod were left out)", say(501, start.Add(eventPeriod)))
	assert.Empty(t, say(502, start.Add(eventPeriod)))
	assert.Equal(t, "00:00:20 Warning Failed pod/default/web: 503 (1 other events of this pod were left out)", say(503, start.Add(2*eventPeriod)))
}

// TestEventLimiter_Bounded: the memory of the limiter is bounded.
func TestEventLimiter_Bounded(t *testing.T) {
	var d eventLimiter
	for i := range 3 * maxLimitedPods {
		for j := range 2 {
			d.countAndFormatIfAllowed(event{kind: "Normal", pod: fmt.Sprint(i), reason: "Started", message: fmt.Sprint(j)}, start)
		}
	}
	assert.LessOrEqual(t, len(d.pods), maxLimitedPods)
	for i := range 3 * maxPodEvents {
		d.countAndFormatIfAllowed(event{kind: "Normal", pod: "one", reason: "Started", message: fmt.Sprint(i)}, start)
	}
	assert.LessOrEqual(t, len(d.pods[podKey{name: "one"}].seen), maxPodEvents)
}

// TestEvents_CountedPerUID: a pod that takes the name of another starts at a count of one, whatever kind of object the
// recorder gets.
func TestEvents_CountedPerUID(t *testing.T) {
	var out strings.Builder
	e := &eventPrinter{out: &out, now: func() time.Time { return start }}
	for _, uid := range []types.UID{"first", "first", "second", "second"} {
		e.Event(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: uid}}, "Warning", "BackOff", "again")
		e.Event(&v1.ObjectReference{Namespace: "default", Name: "job", UID: uid}, "Normal", "Started", "c")
	}
	assert.Equal(t, `00:00:00 Warning BackOff pod/default/web: again
00:00:00 Normal Started pod/default/job: c
00:00:00 Warning BackOff pod/default/web: again (2 times)
00:00:00 Normal Started pod/default/job: c (2 times)
00:00:00 Warning BackOff pod/default/web: again
00:00:00 Normal Started pod/default/job: c
00:00:00 Warning BackOff pod/default/web: again (2 times)
00:00:00 Normal Started pod/default/job: c (2 times)
`, out.String())
}
