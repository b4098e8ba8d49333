package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// pod is the set of records of one UID, sorted as ListPods shows them, with the last results of
// ListPods and PodStatus.
type pod struct {
	ref          *runtime.PodRef // of the newest sandbox; must not be modified
	sandboxes    []*sandbox
	containers   []*container
	cachedList   listCache          // nil slices: a record has changed
	cachedStatus *runtime.PodStatus // nil: a record has changed
}

// listCache is the last result of ListPods for a pod.
type listCache struct {
	sandboxes  []runtime.Sandbox
	containers []runtime.Container
}

// sandbox is a sandbox record.
type sandbox struct {
	id          string
	pod         *pod
	ref         *runtime.PodRef // the PodRef of its request; must not be modified
	attempt     uint32
	ip          uint16 // the last two bytes of its address; 0: none
	ready       bool
	hostNetwork bool
	created     time.Time
	annotations map[string]string // must not be modified
}

// ensurePodAndUpdateRefLocked returns the pod with the UID of ref, and creates it if it does not exist. In both
// cases it stores ref as the pod's newest reference.
func (m *machine) ensurePodAndUpdateRefLocked(ref *runtime.PodRef) *pod {
	p := m.mu.pods[ref.UID]
	if p == nil {
		p = &pod{}
		m.mu.pods[ref.UID] = p
		i, _ := m.podIndexLocked(ref.UID)
		m.mu.sortedPods = slices.Insert(m.mu.sortedPods, i, p)
	}
	p.ref = ref
	return p
}

// podIndexLocked returns the index of the pod with a UID in sortedPods and true. If there is no such pod, it
// returns the index at which to insert it and false.
func (m *machine) podIndexLocked(uid types.UID) (index int, found bool) {
	return slices.BinarySearchFunc(m.mu.sortedPods, uid, func(p *pod, uid types.UID) int {
		return cmp.Compare(p.ref.UID, uid)
	})
}

// removePodIfEmptyLocked deletes a pod from the simulated machine if the pod has no sandbox left.
func (m *machine) removePodIfEmptyLocked(p *pod) {
	if len(p.sandboxes) > 0 {
		return
	}
	if i, ok := m.podIndexLocked(p.ref.UID); ok {
		m.mu.sortedPods = slices.Delete(m.mu.sortedPods, i, i+1)
	}
	delete(m.mu.pods, p.ref.UID)
}

// nextDeterministicIDLocked returns an ID for a new sandbox or container of a pod, and counts the IDs of the
// pod. The ID depends only on the UID and that count, so the order of calls for different pods does not change
// their IDs.
func (m *machine) nextDeterministicIDLocked(uid types.UID) string {
	past := m.ensureHistoryAndPruneOldLocked(uid)
	past.idsMade++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", uid, past.idsMade))
	return hex.EncodeToString(sum[:16])
}

// insertSandbox inserts a sandbox into the pod's sandboxes, which are sorted with the newest attempt first.
func (p *pod) insertSandbox(s *sandbox) {
	i, _ := slices.BinarySearchFunc(p.sandboxes, s, func(a, b *sandbox) int {
		return cmp.Compare(b.attempt, a.attempt)
	})
	p.sandboxes = slices.Insert(p.sandboxes, i, s)
}

// insertContainer inserts a container into the pod's containers. They are sorted by name, then by sandbox
// attempt and container attempt, the newest first.
func (p *pod) insertContainer(c *container) {
	i, _ := slices.BinarySearchFunc(p.containers, c, func(a, b *container) int {
		return cmp.Or(
			cmp.Compare(a.name, b.name),
			cmp.Compare(b.sandbox.attempt, a.sandbox.attempt),
			cmp.Compare(b.attempt, a.attempt),
		)
	})
	p.containers = slices.Insert(p.containers, i, c)
}

// listEntry returns the pod as ListPods reports it. Callers share the slices, which are cached until the next
// change.
func (p *pod) listEntry(now time.Time) runtime.Pod {
	if p.cachedList.sandboxes == nil {
		p.cachedList = listCache{make([]runtime.Sandbox, len(p.sandboxes)), make([]runtime.Container, len(p.containers))}
		for i, s := range p.sandboxes {
			p.cachedList.sandboxes[i] = s.listEntry()
		}
		for i, c := range p.containers {
			p.cachedList.containers[i] = c.listEntry(now)
		}
	}
	return runtime.Pod{
		UID: p.ref.UID, Name: p.ref.Name, Namespace: p.ref.Namespace,
		Sandboxes: p.cachedList.sandboxes, Containers: p.cachedList.containers,
	}
}

// podStatus returns the pod as PodStatus reports it. Callers share the result, which is cached until the next
// change.
func (p *pod) podStatus(now time.Time) *runtime.PodStatus {
	if p.cachedStatus == nil {
		v := &runtime.PodStatus{
			UID:        p.ref.UID,
			Name:       p.ref.Name,
			Namespace:  p.ref.Namespace,
			Sandboxes:  make([]runtime.SandboxStatus, len(p.sandboxes)),
			Containers: make([]runtime.ContainerStatus, len(p.containers)),
		}
		for i, s := range p.sandboxes {
			v.Sandboxes[i] = s.status()
		}
		for i, c := range p.containers {
			v.Containers[i] = c.status(now)
		}
		p.cachedStatus = v
	}
	return p.cachedStatus
}

// listEntry returns the sandbox as ListPods reports it.
func (s *sandbox) listEntry() runtime.Sandbox {
	return runtime.Sandbox{
		ID:          s.id,
		Attempt:     s.attempt,
		Incarnation: s.ref.Incarnation,
		Ready:       s.ready,
		CreatedAt:   s.created,
		Annotations: s.annotations,
	}
}

// status returns the sandbox as PodStatus reports it.
func (s *sandbox) status() runtime.SandboxStatus {
	v := runtime.SandboxStatus{Sandbox: s.listEntry(), HostNetwork: s.hostNetwork}
	if s.ip != 0 {
		v.IPs = []string{fmt.Sprintf("10.88.%d.%d", s.ip>>8, s.ip&0xff)}
	}
	return v
}
