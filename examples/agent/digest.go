package main

import (
	"fmt"
	"time"
)

const (
	// eventBurst is how many events of a pod are printed at once. One more is allowed after each eventPeriod.
	eventBurst  = 25
	eventPeriod = 10 * time.Second
	// maxLimitedPods bounds the pods that an eventLimiter remembers, and maxPodEvents the events of each.
	maxLimitedPods = 1000
	maxPodEvents   = 100
)

// event is one event with the fields of the API. uid is the UID of the pod: a pod that replaces another has the same
// name and its own limits.
type event struct {
	kind, pod, uid, reason, message string
}

// eventLimiter decides which events are printed, so that a pod that crashes for a week does not fill a disk. A repeated
// event is printed the first time, and then each time its count has doubled, with the count. The other events of a pod
// are limited by a token bucket. The limiter counts the events that it drops. Events are counted per UID, not per name.
type eventLimiter struct {
	pods map[podKey]*podEvents
}

// podKey identifies a pod. An event without the UID of its pod is counted by name.
type podKey struct{ uid, name string }

// podEvents is the state of one pod.
type podEvents struct {
	seen        map[event]int
	tokens      int
	tokensSince time.Time // when tokens was computed
	leftOut     int
}

// countAndFormatIfAllowed counts an event and returns its line. It returns false if the event must not be
// printed. That is the case if the event's count is not a power of two, or if its pod has printed too many
// events lately.
func (d *eventLimiter) countAndFormatIfAllowed(e event, now time.Time) (line string, allowed bool) {
	p := d.podEntryOrNew(podKey{e.uid, e.pod}, now)
	if len(p.seen) >= maxPodEvents && p.seen[e] == 0 {
		clear(p.seen)
	}
	p.seen[e]++
	n := p.seen[e]
	if n&(n-1) != 0 {
		return "", false // Its count is not a power of two.
	}
	if !p.takeToken(now) {
		p.leftOut++
		return "", false
	}
	text := fmt.Sprintf("%s %s %s pod/%s: %s", now.Format(time.TimeOnly), e.kind, e.reason, e.pod, e.message)
	if n > 1 {
		text += fmt.Sprintf(" (%d times)", n)
	}
	if p.leftOut > 0 {
		text += fmt.Sprintf(" (%d other events of this pod were left out)", p.leftOut)
		p.leftOut = 0
	}
	return text, true
}

// podEntryOrNew returns the entry of a pod with the counts of its events, and creates a missing entry. If there
// are maxLimitedPods entries, it first removes all of them, so that at worst some more events are printed.
func (d *eventLimiter) podEntryOrNew(key podKey, now time.Time) *podEvents {
	if d.pods[key] == nil {
		if d.pods == nil || len(d.pods) >= maxLimitedPods {
			d.pods = make(map[podKey]*podEvents)
		}
		d.pods[key] = &podEvents{seen: make(map[event]int), tokens: eventBurst, tokensSince: now}
	}
	return d.pods[key]
}

// takeToken adds one token for each eventPeriod since it last added one, up to eventBurst tokens. Then it takes
// one token and returns true, or returns false if the pod has none.
func (p *podEvents) takeToken(now time.Time) (taken bool) {
	if grown := int(now.Sub(p.tokensSince) / eventPeriod); grown > 0 {
		p.tokens = min(p.tokens+grown, eventBurst)
		p.tokensSince = p.tokensSince.Add(time.Duration(grown) * eventPeriod)
	}
	if p.tokens == 0 {
		return false
	}
	p.tokens--
	return true
}
