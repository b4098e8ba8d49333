package pleg

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/dirty"
	"github.com/podkeel/podkeel/pleg/internal/diff"
)

// Events is a set of what has happened to a pod.
type Events uint8

// The events, named as in the kubelet.
const (
	// ContainerStarted: a container or sandbox runs now.
	ContainerStarted = Events(diff.Started)
	// ContainerDied: one has exited, or vanished before it was seen to exit.
	ContainerDied = Events(diff.Died)
	// ContainerRemoved: one has vanished.
	ContainerRemoved = Events(diff.Removed)
	// PodSync: something else about the pod's status is different, its
	// inspection has begun or ceased to fail, or the subscription is new.
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

// Change is a pod that has changed, and how, since it was last taken.
type Change struct {
	UID    types.UID
	Events Events
}

// Subscription is one consumer's view of what has changed. It holds each changed pod
// once, so it cannot overflow, and nothing waits for its consumer.
type Subscription interface {
	// TakeAll appends to buf all pods that have changed since the last call, in the
	// order in which they changed first, and returns it. One consumer calls it, at any
	// time, and it never blocks; the newest status of each pod is with Get.
	TakeAll(buf []Change) []Change
	// Close ends the subscription. It is called once. A change that is being delivered
	// may still wake the consumer once; what the subscription holds can still be taken.
	Close()
}

// subscription is the one of a PLEG.
type subscription struct {
	p     *PLEG
	dirty *dirty.Set[Events]
	taken []dirty.Entry[Events]
}

// Subscribe implements Changes.
func (p *PLEG) Subscribe(wake func()) Subscription {
	s := &subscription{p: p, dirty: dirty.New(func(old, new Events) Events { return old | new }, wake)}
	p.mu.Lock()
	known := p.mu.table.known()
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

// known is every pod of which something is known, in order of UID.
func (t *table) known() []types.UID {
	var known []types.UID
	for uid, r := range t.records {
		if r.err != nil || !diff.Empty(r.status) {
			known = append(known, uid)
		}
	}
	slices.Sort(known)
	return known
}
