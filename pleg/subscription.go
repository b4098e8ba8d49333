package pleg

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/dirty"
	"github.com/podkeel/podkeel/pleg/internal/diff"
)

// Events is a set of changes of a pod.
type Events uint8

// The events, named as in the kubelet.
const (
	// ContainerStarted: a container or sandbox is running now.
	ContainerStarted = Events(diff.Started)
	// ContainerDied: a container or sandbox has exited, or has vanished while it was running.
	ContainerDied = Events(diff.Died)
	// ContainerRemoved: a container or sandbox has vanished.
	ContainerRemoved = Events(diff.Removed)
	// PodSync: another part of the pod's status has changed, its inspection fails now or succeeds
	// again, or the subscription is new.
	PodSync = Events(diff.Changed)
)

// Has reports whether all the given events are in the set.
func (e Events) Has(events Events) bool { return e&events == events }

// String lists the events as "ContainerStarted|PodSync"; no event is "none".
func (e Events) String() string {
	var names []string
	for i, name := range [...]string{"ContainerStarted", "ContainerDied", "ContainerRemoved", "PodSync"} {
		if e&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "|")
}

// Change is a pod that has changed since it was last taken, with its events.
type Change struct {
	UID    types.UID
	Events Events
}

// Subscription collects the changed pods for one consumer. It holds each pod once, so it cannot
// overflow, and the generator never waits for the consumer.
type Subscription interface {
	// TakeAll appends to buf all pods that have changed since the last call, in the order of their
	// first change, and returns it. One consumer calls it, at any time. It never blocks. Get
	// returns the newest status of each pod.
	TakeAll(buf []Change) []Change
	// Close ends the subscription. It is called once. A change that is being delivered may still
	// wake the consumer once. TakeAll still returns the collected pods.
	Close()
}

// subscription is the Subscription of a PLEG.
type subscription struct {
	p     *PLEG
	dirty *dirty.Set[Events]
	taken []dirty.Entry[Events]
}

// Subscribe implements Changes.
func (p *PLEG) Subscribe(wake func()) Subscription {
	s := &subscription{p: p, dirty: dirty.New(func(old, new Events) Events { return old | new }, wake)}
	p.mu.Lock()
	known := p.mu.table.knownUIDs()
	p.mu.subs = append(slices.Clone(p.mu.subs), s)
	p.mu.Unlock()
	for _, uid := range known {
		s.dirty.Add(uid, PodSync)
	}
	return s
}

// TakeAll implements Subscription.
func (s *subscription) TakeAll(buf []Change) []Change {
	s.taken = s.dirty.TakeAll(s.taken[:0])
	for _, e := range s.taken {
		buf = append(buf, Change{e.UID, e.Value})
	}
	return buf
}

// Close implements Subscription.
func (s *subscription) Close() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.mu.subs = slices.DeleteFunc(slices.Clone(s.p.mu.subs), func(o *subscription) bool { return o == s })
}

// knownUIDs returns the sorted UIDs of all pods whose last inspection failed or whose cached status has a
// sandbox or container.
func (t *table) knownUIDs() []types.UID {
	var known []types.UID
	for uid, r := range t.records {
		if r.err != nil || !diff.Empty(r.status) {
			known = append(known, uid)
		}
	}
	slices.Sort(known)
	return known
}
