package merge

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Snapshot is the reference for Tracker: one whole snapshot of a source. The snapshot and its pods
// are immutable. A nil Snapshot belongs to a source that has delivered nothing.
type Snapshot struct {
	number  uint64 // number of the snapshot, from 1
	entries []refEntry
	// index is shared by snapshots of the same pods in the same order, because most snapshots
	// differ from the last in one pod.
	index    *index
	rejected []Rejected
}

// index maps a UID to its entry.
type index map[types.UID]int

// refEntry is a pod of a snapshot and since when the source has had it without a break.
type refEntry struct {
	pod     *v1.Pod
	arrived uint64    // number of the snapshot that added it
	seen    time.Time // time of that snapshot
}

// Next returns the snapshot after p if the source delivers these pods at time now. p may be nil. Of
// two pods with the same UID or full name the first is used. A guarded pod is never treated as
// another pod because of its spec: an API server has validated every change of it.
func (p *Snapshot) Next(pods []*v1.Pod, guarded bool, now time.Time) *Snapshot {
	if p.hasSamePods(pods, guarded) {
		return p.refreshPods(pods)
	}
	ix := make(index, len(pods))
	n := &Snapshot{number: 1, entries: make([]refEntry, 0, len(pods)), index: &ix}
	if p != nil {
		n.number = p.number + 1
	}
	names := make(map[fullName]types.UID, len(pods))
	for _, pod := range pods {
		if err := n.checkPod(pod, names); err != nil {
			n.rejected = append(n.rejected, Rejected{pod, err})
			continue
		}
		names[fullNameOf(pod)] = pod.UID
		ix[pod.UID] = len(n.entries)
		n.entries = append(n.entries, p.carryEntry(pod, guarded, n.number, now))
	}
	return n
}

// hasSamePods reports whether the snapshot has the same pods in the same order. Then none can be a
// duplicate either.
func (p *Snapshot) hasSamePods(pods []*v1.Pod, guarded bool) bool {
	if p == nil || len(p.rejected) > 0 || len(pods) != len(p.entries) {
		return false
	}
	for i, e := range p.entries {
		if pods[i] == e.pod {
			continue
		}
		if pods[i] == nil || podspec.CheckQuantities(pods[i]) != nil || !isSameIncarnation(e.pod, pods[i], guarded) {
			return false
		}
	}
	return true
}

// refreshPods returns the snapshot with newer objects of the same pods.
func (p *Snapshot) refreshPods(pods []*v1.Pod) *Snapshot {
	n := &Snapshot{number: p.number + 1, entries: make([]refEntry, len(pods)), index: p.index}
	for i, e := range p.entries {
		n.entries[i] = refEntry{pods[i], e.arrived, e.seen}
	}
	return n
}

// checkPod returns an error if a pod cannot be part of the snapshot.
func (p *Snapshot) checkPod(pod *v1.Pod, names map[fullName]types.UID) error {
	if pod == nil {
		return fmt.Errorf("%w: nil", ErrNameless)
	}
	if pod.Name == "" {
		return fmt.Errorf("%w: no name (uid %q)", ErrNameless, pod.UID)
	}
	if pod.UID == "" {
		return fmt.Errorf("%w: no UID (pod %s)", ErrNameless, fullNameOf(pod))
	}
	if err := podspec.CheckQuantities(pod); err != nil {
		return err
	}
	if other, taken := names[fullNameOf(pod)]; taken {
		return fmt.Errorf("%w: %s is the name of an earlier pod (uid %q)", ErrDuplicate, fullNameOf(pod), other)
	}
	if i, taken := (*p.index)[pod.UID]; taken {
		return fmt.Errorf("%w: %q is the UID of an earlier pod (%s)", ErrDuplicate, pod.UID, fullNameOf(p.entries[i].pod))
	}
	return nil
}

// carryEntry returns the entry of a pod in the snapshot after p. The same incarnation keeps its arrival.
func (p *Snapshot) carryEntry(pod *v1.Pod, guarded bool, number uint64, now time.Time) refEntry {
	if e, ok := p.findEntry(pod.UID); ok && isSameIncarnation(e.pod, pod, guarded) {
		return refEntry{pod, e.arrived, e.seen}
	}
	return refEntry{pod, number, now}
}

func (p *Snapshot) findEntry(uid types.UID) (refEntry, bool) {
	if p == nil {
		return refEntry{}, false
	}
	i, ok := (*p.index)[uid]
	if !ok {
		return refEntry{}, false
	}
	return p.entries[i], true
}

func (e refEntry) toEntry() entry {
	return entry{pod: e.pod, arrivalNumber: e.arrived, firstSeen: e.seen}
}

// Len returns the number of pods, without the rejected ones.
func (p *Snapshot) Len() int {
	if p == nil {
		return 0
	}
	return len(p.entries)
}

// Diff returns the changes from the snapshot that the consumer took last, nil if none, to the
// newest one of the source with this name.
func Diff(old, latest *Snapshot, source string) Changes {
	if latest == nil || old == latest {
		return Changes{}
	}
	c := Changes{First: old == nil, Rejected: newlyRejected(old.rejections(), latest.rejected)}
	if old != nil && old.index == latest.index {
		for i, e := range latest.entries { // The same pods in the same order.
			c.addChange(old.entries[i].pod, e.toEntry(), source)
		}
		return c
	}
	if old != nil {
		for _, e := range old.entries {
			if now, ok := latest.findEntry(e.pod.UID); !ok || now.arrived != e.arrived {
				c.Remove = append(c.Remove, e.toEntry().podWithAnnotations(source))
			}
		}
	}
	for _, e := range latest.entries {
		before, ok := old.findEntry(e.pod.UID)
		if !ok || before.arrived != e.arrived {
			c.Add = append(c.Add, e.toEntry().podWithAnnotations(source))
			continue
		}
		c.addChange(before.pod, e.toEntry(), source)
	}
	return c
}

func (p *Snapshot) rejections() []Rejected {
	if p == nil {
		return nil
	}
	return p.rejected
}
