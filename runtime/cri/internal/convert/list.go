package convert

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Skipped is a record that cannot be attributed to a pod.
type Skipped struct {
	Kind   string // "sandbox" or "container"
	ID     string
	Reason string
}

// Pods puts an owner's sandboxes and containers together, by UID, and the
// records of each newest attempt first. A container whose sandbox is gone is
// kept under its labels. What is malformed, or another owner's in spite of the
// filter, is skipped.
func Pods(sandboxes []*cri.PodSandbox, containers []*cri.Container, owner string) ([]runtime.Pod, []Skipped) {
	all := pods{byUID: map[types.UID]*runtime.Pod{}, owner: owner, seen: map[string]bool{}, named: map[types.UID]runtime.Sandbox{}}
	for _, s := range sandboxes {
		all.sandbox(s)
	}
	for _, c := range containers {
		all.container(c)
	}
	out := make([]runtime.Pod, 0, len(all.byUID))
	for _, uid := range slices.Sorted(maps.Keys(all.byUID)) {
		p := all.byUID[uid]
		slices.SortStableFunc(p.Sandboxes, newerSandbox)
		slices.SortStableFunc(p.Containers, newerContainer)
		out = append(out, *p)
	}
	return out, all.skipped
}

func newerSandbox(a, b runtime.Sandbox) int {
	return cmp.Or(cmp.Compare(b.Attempt, a.Attempt), b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
}

func newerContainer(a, b runtime.Container) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(b.Attempt, a.Attempt), strings.Compare(a.ID, b.ID))
}

// pods is what Pods has put together so far.
type pods struct {
	byUID   map[types.UID]*runtime.Pod
	owner   string
	seen    map[string]bool               // IDs: lists in parts may repeat one
	named   map[types.UID]runtime.Sandbox // the newest so far, which has the pod's name
	skipped []Skipped
}

// skips reports whether a record is left out: it is malformed, another owner's, or was
// there before.
func (a *pods) skips(kind, id string, labels map[string]string, whole bool, uid string) bool {
	if reason := a.fault(id, labels, whole, uid); reason != "" {
		a.skipped = append(a.skipped, Skipped{kind, id, reason})
		return true
	}
	before := a.seen[kind+id]
	a.seen[kind+id] = true
	return before
}

// fault is what is wrong with a record of any kind; empty if nothing is.
func (a *pods) fault(id string, labels map[string]string, whole bool, uid string) string {
	if id == "" {
		return "it has no ID"
	}
	if !whole {
		return "it has no metadata"
	}
	if labels[LabelOwner] != a.owner {
		return "it belongs to another owner"
	}
	if uid == "" {
		return "it is of no pod"
	}
	return ""
}

func (a *pods) sandbox(s *cri.PodSandbox) {
	m := s.GetMetadata()
	if a.skips("sandbox", s.GetId(), s.GetLabels(), m != nil, m.GetUid()) {
		return
	}
	p := a.pod(types.UID(m.Uid), m.Name, m.Namespace)
	box := runtime.Sandbox{
		ID: s.Id, Attempt: m.Attempt, Incarnation: incarnation(s.Annotations),
		Ready: s.State == cri.PodSandboxState_SANDBOX_READY, CreatedAt: when(s.CreatedAt), Annotations: s.Annotations,
	}
	p.Sandboxes = append(p.Sandboxes, box)
	if newest, named := a.named[p.UID]; !named || newerSandbox(box, newest) < 0 {
		a.named[p.UID], p.Name, p.Namespace = box, m.Name, m.Namespace
	}
}

func (a *pods) container(c *cri.Container) {
	m, l := c.GetMetadata(), c.GetLabels()
	if a.skips("container", c.GetId(), l, m != nil, l[LabelPodUID]) {
		return
	}
	p := a.pod(types.UID(l[LabelPodUID]), l[LabelPodName], l[LabelPodNamespace])
	p.Containers = append(p.Containers, runtime.Container{
		ID: c.Id, Name: m.Name, SandboxID: c.PodSandboxId, Attempt: m.Attempt,
		Incarnation: incarnation(c.Annotations), State: State(c.State),
	})
}

// pod finds or begins a pod. The newest sandbox gives the pod its name, or the first container if no
// sandbox is left.
func (a *pods) pod(uid types.UID, name, namespace string) *runtime.Pod {
	p := a.byUID[uid]
	if p == nil {
		p = &runtime.Pod{UID: uid, Name: name, Namespace: namespace}
		a.byUID[uid] = p
	}
	return p
}
