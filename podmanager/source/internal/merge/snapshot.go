package merge

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Snapshot is one snapshot of a source, checked and indexed. It is immutable,
// and so are the pods in it from the moment they are handed over. A nil
// Snapshot is that of a source that has said nothing yet.
type Snapshot struct {
	number  uint64 // how many snapshots there have been, this one included
	entries []entry
	// index is shared by snapshots of the same pods in the same order, however
	// they have changed: most snapshots differ from the last in one pod.
	index    *index
	rejected []Rejected
}

// index finds the entry of a UID.
type index map[types.UID]int

// entry is a pod of a snapshot and since when the source has had it without a
// break.
type entry struct {
	pod     *v1.Pod
	arrived uint64    // number of the snapshot it arrived in
	seen    time.Time // when that was
}

// Rejected is a pod that a snapshot held and that cannot be delivered.
type Rejected struct {
	Pod *v1.Pod // nil if that was the fault
	Err error
}

// ErrDuplicate is the fault of a pod whose UID or full name an earlier pod of
// the same snapshot has.
var ErrDuplicate = errors.New("duplicate pod")

// ErrNameless is the fault of a pod without name or UID.
var ErrNameless = errors.New("pod without identity")

// Next is the snapshot that follows p when the source says at time now that
// these pods are all it has. p may be nil. Order counts: of two pods that
// exclude each other the first is kept. The pods of a guarded snapshot are never
// rebuilt: an API server has allowed every change of them.
func (p *Snapshot) Next(pods []*v1.Pod, guarded bool, now time.Time) *Snapshot {
	if p.same(pods, guarded) {
		return p.refreshed(pods)
	}
	ix := make(index, len(pods))
	n := &Snapshot{number: 1, entries: make([]entry, 0, len(pods)), index: &ix}
	if p != nil {
		n.number = p.number + 1
	}
	names := make(map[fullName]types.UID, len(pods))
	for _, pod := range pods {
		if err := n.admit(pod, names); err != nil {
			n.rejected = append(n.rejected, Rejected{pod, err})
			continue
		}
		names[fullNameOf(pod)] = pod.UID
		ix[pod.UID] = len(n.entries)
		n.entries = append(n.entries, p.carry(pod, guarded, n.number, now))
	}
	return n
}

// same reports whether these are the snapshot's pods in the snapshot's order: none
// came, went, or became another. Then none can be a duplicate either.
func (p *Snapshot) same(pods []*v1.Pod, guarded bool) bool {
	if p == nil || len(p.rejected) > 0 || len(pods) != len(p.entries) {
		return false
	}
	for i, e := range p.entries {
		if pods[i] == e.pod {
			continue
		}
		if pods[i] == nil || podspec.CheckQuantities(pods[i]) != nil || !stays(e.pod, pods[i], guarded) {
			return false
		}
	}
	return true
}

// refreshed is the snapshot with newer objects of the same pods.
func (p *Snapshot) refreshed(pods []*v1.Pod) *Snapshot {
	n := &Snapshot{number: p.number + 1, entries: make([]entry, len(pods)), index: p.index}
	for i, e := range p.entries {
		n.entries[i] = entry{pods[i], e.arrived, e.seen}
	}
	return n
}

// admit says why a pod cannot be part of the snapshot.
func (p *Snapshot) admit(pod *v1.Pod, names map[fullName]types.UID) error {
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

// stays reports whether now is the pod that before was, changed or not.
func stays(before, now *v1.Pod, guarded bool) bool {
	return before.UID == now.UID && fullNameOf(before) == fullNameOf(now) && (guarded || !rebuilt(before, now))
}

// carry makes the entry of a pod in the snapshot after p: one that stays keeps
// its arrival.
func (p *Snapshot) carry(pod *v1.Pod, guarded bool, number uint64, now time.Time) entry {
	if e, ok := p.find(pod.UID); ok && stays(e.pod, pod, guarded) {
		return entry{pod, e.arrived, e.seen}
	}
	return entry{pod, number, now}
}

func (p *Snapshot) find(uid types.UID) (entry, bool) {
	if p == nil {
		return entry{}, false
	}
	i, ok := (*p.index)[uid]
	if !ok {
		return entry{}, false
	}
	return p.entries[i], true
}

// fullName is what two pods of a node must not share.
type fullName struct{ name, namespace string }

func fullNameOf(pod *v1.Pod) fullName { return fullName{pod.Name, pod.Namespace} }

// String is the kubelet's notation.
func (n fullName) String() string { return n.name + "_" + n.namespace }
