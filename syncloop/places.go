package syncloop

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/dirty"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/internal/admission"
)

// places are what the pods of the node take of it, from their admission until
// their containers have stopped. They live on the loop's goroutine.
type places struct {
	admissionQueue admission.Queue
	// noted are the pods of which the workers have told something new.
	noted *dirty.Set[struct{}]
	taken []dirty.Entry[struct{}] // kept for the next time
	// given is what was last given to the worker of each pod.
	given map[types.UID]*v1.Pod
	// admitted are the incarnations of pods whose worker may have started something.
	admitted map[types.UID]uint64
	// endings are the pods that are ending.
	endings map[types.UID]ending
	// seen are the pods that may run, as the runtime has shown them last.
	seen map[types.UID]*runtime.Pod
	// told is what others may ask of endings.
	told told
	// undecided are the pods that have been added and that nothing has been decided
	// about yet.
	undecided map[types.UID]bool
}

// ending is a pod that still runs and has to end.
type ending struct {
	incarnation uint64 // 0: it has no worker
	since       time.Time
	item        admission.Item
}

// defaultGrace is that of a pod of which nothing else is known.
const defaultGrace = 30 * time.Second

func newPlaces(wake func()) places {
	return places{
		noted:     dirty.New[struct{}](nil, wake),
		given:     make(map[types.UID]*v1.Pod),
		admitted:  make(map[types.UID]uint64),
		endings:   make(map[types.UID]ending),
		seen:      make(map[types.UID]*runtime.Pod),
		undecided: make(map[types.UID]bool),
	}
}

// Note says that the workers know something new of a pod: it is called by
// podworkers.Hooks.Phase and Forgotten. It never blocks and may be called from
// anywhere. Pods that wait for the end of this one are asked about soon after.
func (h *Handlers) Note(uid types.UID) { h.places.noted.Add(uid, struct{}{}) }

// heed brings the places of those pods up to date.
func (h *Handlers) heed() {
	h.places.taken = h.places.noted.TakeAll(h.places.taken)
	for _, n := range h.places.taken {
		h.place(n.UID)
	}
}

// look sees what runs, and brings the places of pods up to date that only the
// runtime knows.
func (h *Handlers) look(pods []runtime.Pod) {
	before := h.places.seen
	h.places.seen = make(map[types.UID]*runtime.Pod, len(before))
	for i := range pods {
		if p := &pods[i]; p.MayRun() {
			h.places.seen[p.UID] = p
		}
	}
	for i := range pods {
		if uid := pods[i].UID; h.places.seen[uid] != nil && !h.config.Workers.View(uid).Known() {
			h.place(uid)
		}
	}
	for uid := range before {
		if h.places.seen[uid] == nil {
			h.place(uid)
		}
	}
}

// placeAll compares all places with what is so now, as a program may not call
// Note.
func (h *Handlers) placeAll(pods []*v1.Pod) {
	for _, pod := range pods {
		h.place(pod.UID)
	}
	for _, uids := range [][]types.UID{h.places.admissionQueue.Staying().UIDs(), h.places.admissionQueue.Ending().UIDs()} {
		for _, uid := range uids {
			h.place(uid)
		}
	}
	for uid := range h.places.given {
		if _, wanted := h.config.Manager.GetPodByUID(uid); !wanted && !h.config.Workers.View(uid).Known() {
			delete(h.places.given, uid)
			delete(h.places.admitted, uid)
		}
	}
}

// place brings up to date what one pod takes.
func (h *Handlers) place(uid types.UID) {
	view := h.config.Workers.View(uid)
	pod, wanted := h.config.Manager.GetPodByUID(uid)
	h.placeEnding(uid, view, pod)
	switch {
	case h.places.admissionQueue.Waiting(uid):
	case wanted && h.stays(pod, view):
		if item, ok := h.places.admissionQueue.Staying().Get(uid); !ok || item.Pod != pod {
			h.places.admissionQueue.Stay(usageOf(pod))
		}
	default:
		h.places.admissionQueue.Leave(uid)
	}
}

// stays: the pod was admitted, and need not end.
func (h *Handlers) stays(pod *v1.Pod, view lifecycle.View) bool {
	if h.places.undecided[pod.UID] || !h.active(pod) {
		return false
	}
	return !view.IsPodTerminationRequested() || view.RestartRequested()
}

// placeEnding: until the containers of a pod have stopped it takes what it takes,
// whether it has left the configuration, is being deleted or evicted, was refused
// though it ran, or is known to the runtime only.
func (h *Handlers) placeEnding(uid types.UID, view lifecycle.View, wanted *v1.Pod) {
	if view.Known() && !view.IsPodTerminationRequested() {
		h.places.admitted[uid] = view.Incarnation()
	} else if !view.Started() {
		delete(h.places.admitted, uid) // It has to end, and has not begun: what begins now is its end.
	}
	e, known := h.places.endings[uid]
	switch {
	case view.IsPodTerminationRequested() && !view.IsPodKnownTerminated() && h.mayRun(uid, view):
		if !known || e.incarnation != view.Incarnation() {
			e = ending{incarnation: view.Incarnation(), since: h.config.Clock.Now(), item: h.ends(uid, view, e.item)}
		}
	case view.Known(), e.incarnation > 0, h.places.seen[uid] == nil, wanted != nil && h.active(wanted):
		if view.IsPodKnownTerminated() || e.incarnation > 0 && !view.Known() {
			delete(h.places.seen, uid) // It has ended since it was seen.
		}
		delete(h.places.endings, uid)
		delete(h.leftovers.alone, uid)
		h.places.told.drop(uid)
		h.places.admissionQueue.Ended(uid)
		return
	case !known:
		e = ending{since: h.config.Clock.Now(), item: itemOf(h.places.seen[uid])}
	}
	h.places.endings[uid] = e
	grace := defaultGrace
	if g := view.Grace(); g.Set {
		grace = time.Duration(g.Seconds) * time.Second
	}
	until := e.since.Add(grace)
	endAt := h.leftovers.alone[uid]
	if !endAt.IsZero() {
		until = endAt.Add(grace)
	}
	h.places.told.set(TerminatingPod{Pod: e.item.Pod, Since: e.since, Until: until, RuntimeOnly: e.item.RuntimeOnly, EndAt: endAt})
	h.places.admissionQueue.End(e.item, until)
}

// mayRun: something of a pod that ends may run. Nothing does if it was refused, or
// ended before its worker had begun.
func (h *Handlers) mayRun(uid types.UID, view lifecycle.View) bool {
	return h.places.seen[uid] != nil || !view.HasConfig() || view.Started() && h.places.admitted[uid] == view.Incarnation()
}

// ends is what takes up room under a UID that begins to end.
func (h *Handlers) ends(uid types.UID, view lifecycle.View, before admission.Item) admission.Item {
	if pod := h.places.given[uid]; pod != nil && view.HasConfig() {
		return usageOf(pod)
	}
	if seen := h.places.seen[uid]; seen != nil {
		return itemOf(seen)
	}
	if before.Pod == nil {
		before = admission.Item{UID: uid, Pod: &v1.Pod{}, Claim: podspec.ReadClaim("")}
		before.Pod.UID = uid
	}
	return before
}

// itemOf is what a pod takes that only the runtime knows: its sandbox tells, if an
// agent like this one has made it.
func itemOf(pod *runtime.Pod) admission.Item {
	item := admission.Item{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, RuntimeOnly: true, Pod: skeleton(pod)}
	newest := -1
	for i := range pod.Sandboxes {
		if newest < 0 || pod.Sandboxes[i].Attempt > pod.Sandboxes[newest].Attempt {
			newest = i
		}
	}
	if newest < 0 {
		item.Claim = podspec.ReadClaim("")
		return item
	}
	a := pod.Sandboxes[newest].Annotations
	item.Claim, item.Source = podspec.ReadClaim(a[podspec.ClaimAnnotation]), a[podmanager.ConfigSourceAnnotation]
	item.Static = item.Source != "" && item.Source != podmanager.ApiserverSource
	return item
}

// skeleton is what is known of such a pod as a pod.
func skeleton(pod *runtime.Pod) *v1.Pod {
	p := &v1.Pod{Status: v1.PodStatus{Phase: v1.PodRunning}}
	p.UID, p.Namespace, p.Name = pod.UID, pod.Namespace, pod.Name
	for _, c := range pod.Containers {
		if c.State == runtime.StateRunning {
			p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: c.Name})
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, v1.ContainerStatus{
				Name: c.Name, ContainerID: c.ID, RestartCount: int32(c.Attempt), State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
			})
		}
	}
	for _, s := range pod.Sandboxes {
		if since := p.Status.StartTime; !s.CreatedAt.IsZero() && (since == nil || s.CreatedAt.Before(since.Time)) {
			p.Status.StartTime = &metav1.Time{Time: s.CreatedAt}
		}
		if source := s.Annotations[podmanager.ConfigSourceAnnotation]; source != "" {
			p.Annotations = map[string]string{podmanager.ConfigSourceAnnotation: source}
		}
	}
	return p
}
