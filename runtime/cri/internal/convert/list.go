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

// Skipped is a record that belongs to no pod of the owner.
type Skipped struct {
	Kind   string // "sandbox" or "container"
	ID     string
	Reason string
}

// Pods groups the sandboxes and containers of an owner by pod UID, sorted by attempt, newest first.
// A container whose sandbox was removed gets its pod from its labels. Malformed records, and
// records of another owner in spite of the filter, are skipped.
func Pods(sandboxes []*cri.PodSandbox, containers []*cri.Container, owner string) ([]runtime.Pod, []Skipped) {
	all := podGrouper{byUID: map[types.UID]*runtime.Pod{}, owner: owner, seenIDs: map[string]bool{}, newestSandbox: map[types.UID]runtime.Sandbox{}}
	for _, s := range sandboxes {
		all.addSandbox(s)
	}
	for _, c := range containers {
		all.addContainer(c)
	}
	out := make([]runtime.Pod, 0, len(all.byUID))
	for _, uid := range slices.Sorted(maps.Keys(all.byUID)) {
		p := all.byUID[uid]
		slices.SortStableFunc(p.Sandboxes, compareNewestSandboxFirst)
		slices.SortStableFunc(p.Containers, compareContainers)
		out = append(out, *p)
	}
	return out, all.skipped
}

func compareNewestSandboxFirst(a, b runtime.Sandbox) int {
	return cmp.Or(cmp.Compare(b.Attempt, a.Attempt), b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
}

func compareContainers(a, b runtime.Container) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(b.Attempt, a.Attempt), strings.Compare(a.ID, b.ID))
}

// podGrouper groups sandboxes and containers by pod.
type podGrouper struct {
	byUID         map[types.UID]*runtime.Pod
	owner         string
	seenIDs       map[string]bool               // lists that are read in parts may repeat a record
	newestSandbox map[types.UID]runtime.Sandbox // it has the name of the pod
	skipped       []Skipped
}

// shouldSkipAndRecord reports whether a listed sandbox or container must be omitted: it is invalid, belongs to
// another owner, or was added before. It adds an invalid or foreign one to skipped with the reason, and records
// the ID of any other as added.
func (a *podGrouper) shouldSkipAndRecord(kind, id string, labels map[string]string, hasMetadata bool, uid string) (skip bool) {
	if reason := a.skipReason(id, labels, hasMetadata, uid); reason != "" {
		a.skipped = append(a.skipped, Skipped{kind, id, reason})
		return true
	}
	before := a.seenIDs[kind+id]
	a.seenIDs[kind+id] = true
	return before
}

// skipReason returns why a listed sandbox or container is invalid or belongs to another owner. It returns an
// empty string if it is valid and belongs to this owner.
func (a *podGrouper) skipReason(id string, labels map[string]string, hasMetadata bool, uid string) string {
	if id == "" {
		return "no ID"
	}
	if !hasMetadata {
		return "no metadata"
	}
	if labels[LabelOwner] != a.owner {
		return "another owner"
	}
	if uid == "" {
		return "no pod UID"
	}
	return ""
}

func (a *podGrouper) addSandbox(s *cri.PodSandbox) {
	m := s.GetMetadata()
	if a.shouldSkipAndRecord("sandbox", s.GetId(), s.GetLabels(), m != nil, m.GetUid()) {
		return
	}
	p := a.ensurePod(types.UID(m.Uid), m.Name, m.Namespace)
	box := runtime.Sandbox{
		ID: s.Id, Attempt: m.Attempt, Incarnation: incarnationFromAnnotations(s.Annotations),
		Ready: s.State == cri.PodSandboxState_SANDBOX_READY, CreatedAt: timeFromNanos(s.CreatedAt), Annotations: s.Annotations,
	}
	p.Sandboxes = append(p.Sandboxes, box)
	if newest, named := a.newestSandbox[p.UID]; !named || compareNewestSandboxFirst(box, newest) < 0 {
		a.newestSandbox[p.UID], p.Name, p.Namespace = box, m.Name, m.Namespace
	}
}

func (a *podGrouper) addContainer(c *cri.Container) {
	m, l := c.GetMetadata(), c.GetLabels()
	if a.shouldSkipAndRecord("container", c.GetId(), l, m != nil, l[LabelPodUID]) {
		return
	}
	p := a.ensurePod(types.UID(l[LabelPodUID]), l[LabelPodName], l[LabelPodNamespace])
	p.Containers = append(p.Containers, runtime.Container{
		ID: c.Id, Name: m.Name, SandboxID: c.PodSandboxId, Attempt: m.Attempt,
		Incarnation: incarnationFromAnnotations(c.Annotations), State: State(c.State),
	})
}

// ensurePod returns the pod with a UID. If it does not exist, ensurePod adds one with the given name and
// namespace.
func (a *podGrouper) ensurePod(uid types.UID, name, namespace string) *runtime.Pod {
	p := a.byUID[uid]
	if p == nil {
		p = &runtime.Pod{UID: uid, Name: name, Namespace: namespace}
		a.byUID[uid] = p
	}
	return p
}
