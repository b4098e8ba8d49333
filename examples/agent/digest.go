package main

import (
	"fmt"
	"time"
)

const (
	// eventBurst is how many events of a pod are printed at once, and
	// eventPeriod how long it takes until one more may be.
	eventBurst  = 25
	eventPeriod = 10 * time.Second
	// digestPods bounds the pods that a digest remembers, digestEvents the
	// events of each.
	digestPods   = 1000
	digestEvents = 100
)

// event is one event, in the words of the API. uid is that of the pod: a pod
// that takes the place of another has the same name and a history of its own.
type event struct {
	kind, pod, uid, reason, message string
}

// digest decides which events are printed, so that a pod that crashes for a
// week does not fill a disk. An event that repeats itself is printed the first
// time, and then when its count has doubled, with the count. Of the others of a
// pod so many are printed in so much time, and what was left out is counted.
// Events are counted per UID, not per name.
type digest struct {
	pods map[podKey]*podDigest
}

// podKey is what tells one pod from another. Who records an event without the
// UID of its pod has it counted by the name.
type podKey struct{ uid, name string }

// podDigest is what is remembered of one pod.
type podDigest struct {
	seen    map[event]int
	tokens  int
	since   time.Time // when tokens was right
	leftOut int
}

// line is the event as it is printed; it is false for one that is not.
func (d *digest) line(e event, now time.Time) (string, bool) {
	p := d.pod(podKey{e.uid, e.pod}, now)
	if len(p.seen) >= digestEvents && p.seen[e] == 0 {
		clear(p.seen)
	}
	p.seen[e]++
	n := p.seen[e]
	if n&(n-1) != 0 {
		return "", false // Its count is not a power of two.
	}
	if !p.take(now) {
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

// pod is what is remembered of a pod. If there are too many all are forgotten:
// the worst of it is an event more.
func (d *digest) pod(key podKey, now time.Time) *podDigest {
	if d.pods[key] == nil {
		if d.pods == nil || len(d.pods) >= digestPods {
			d.pods = make(map[podKey]*podDigest)
		}
		d.pods[key] = &podDigest{seen: make(map[event]int), tokens: eventBurst, since: now}
	}
	return d.pods[key]
}

// take takes one token, if there is one.
func (p *podDigest) take(now time.Time) bool {
	if grown := int(now.Sub(p.since) / eventPeriod); grown > 0 {
		p.tokens = min(p.tokens+grown, eventBurst)
		p.since = p.since.Add(time.Duration(grown) * eventPeriod)
	}
	if p.tokens == 0 {
		return false
	}
	p.tokens--
	return true
}
