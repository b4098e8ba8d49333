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
	given        map[types.UID]*v1.Pod
	terminations admission.Terminations
	// seen are the pods that may run, as the runtime has shown them last: orphan pods, and
	// anyGiven for each that a worker was given.
	seen map[types.UID]*runtime.Pod
	// told is what others may ask of endings.
	told told
	// undecided are the pods that have been added and that nothing has been decided
	// about yet.
	undecided map[types.UID]bool
}

func newPlaces(wake func()) places {
	return places{
		noted:        dirty.New[struct{}](nil, wake),
		given:        make(map[types.UID]*v1.Pod),
		terminations: admission.NewTerminations(),
		seen:         make(map[types.UID]*runtime.Pod),
	}
}

// Note says that the workers know something new of a pod: it is called by
// podworkers.Hooks.Phase and Forgotten. It never blocks and may be called from
// anywhere. Pods that wait for the end of this one are asked about soon after.
// Fits and Allocated count a pod no more, of which the workers know that it has ended, from
// then on.
func (h *Handlers) Note(uid types.UID) {
	h.places.noted.Add(uid, struct{}{})
	h.usage.note(uid)
}

// heed brings the places of those pods up to date.
func (h *Handlers) heed() {
	h.usage.heeding()
	h.places.taken = h.places.noted.TakeAll(h.places.taken[:0])
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
		switch p := &pods[i]; {
		case !p.MayRun():
		case h.places.given[p.UID] != nil:
			h.places.seen[p.UID] = anyGiven // The list is not kept for it.
		default:
			h.places.seen[p.UID] = p
		}
	}
	for i := range pods {
		if uid := pods[i].UID; h.places.seen[uid] != nil && !h.config.Workers.View(uid).Known {
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
		if _, wanted := h.config.Manager.GetPodByUID(uid); !wanted && !h.config.Workers.View(uid).Known {
			delete(h.places.given, uid)
			h.places.terminations.Forget(uid)
		}
	}
}

// place brings up to date what one pod takes.
func (h *Handlers) place(uid types.UID) {
	view := h.config.Workers.View(uid)
	pod, wanted := h.config.Manager.GetPodByUID(uid)
	h.placeTermination(uid, view, pod)
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
	return !view.IsPodTerminationRequested() || view.RestartRequested
}

// placeTermination: a pod that has to end takes what it takes until its containers have
// stopped.
func (h *Handlers) placeTermination(uid types.UID, view lifecycle.View, wanted *v1.Pod) {
	seen := h.places.seen[uid]
	now := admission.Observed{
		Worker: admission.Worker{
			Known: view.Known, Incarnation: view.Incarnation, Started: view.Started, HasConfig: view.HasConfig,
			Requested: view.IsPodTerminationRequested(), Terminated: view.IsPodKnownTerminated(),
		},
		Seen: seen != nil, Given: h.places.given[uid] != nil,
		Active: seen != nil && !view.Known && wanted != nil && h.active(wanted),
		Grace:  time.Duration(view.Grace.Seconds) * time.Second, AloneUntil: h.leftovers.alone[uid],
	}
	e, progress := h.places.terminations.Update(uid, now, h.config.Clock.Now(), func(from admission.Origin) admission.Item { return h.takes(uid, from) })
	if progress == admission.Ending {
		h.places.told.set(TerminatingPod{Pod: e.Item.Pod, Since: e.Since, Until: e.Until, RuntimeOnly: e.Item.RuntimeOnly, EndAt: now.AloneUntil})
		h.places.admissionQueue.End(e.Item, e.Until)
		return
	}
	if progress == admission.Ended {
		delete(h.places.seen, uid)
	}
	delete(h.leftovers.alone, uid)
	h.places.told.drop(uid)
	h.places.admissionQueue.Ended(uid)
}

// takes is what takes up room under a UID that begins to end.
func (h *Handlers) takes(uid types.UID, from admission.Origin) admission.Item {
	switch from {
	case admission.FromWorker:
		return usageOf(h.places.given[uid])
	case admission.FromRuntime:
		return itemOf(h.shown(uid))
	}
	pod := &v1.Pod{}
	pod.UID = uid
	return admission.Item{UID: uid, Pod: pod, Claim: podspec.ReadClaim("")}
}

// anyGiven stands for a pod that a worker was given: what it takes is known without the runtime,
// nearly always.
var anyGiven = &runtime.Pod{}

// shown is a pod that was seen, as the runtime has shown it last.
func (h *Handlers) shown(uid types.UID) *runtime.Pod {
	if seen := h.places.seen[uid]; seen != anyGiven {
		return seen
	}
	for _, pod := range h.config.Runtime.Pods() {
		if pod.UID == uid {
			return &pod
		}
	}
	return &runtime.Pod{UID: uid}
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

// skeleton is what is known of such a pod as a pod. The runtime does not tell the restart
// policy: without a container that runs the pod may have ended, so its phase is unknown.
func skeleton(pod *runtime.Pod) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name}, Status: v1.PodStatus{Phase: v1.PodUnknown}}
	for _, c := range pod.Containers {
		if c.State == runtime.StateRunning {
			p.Status.Phase = v1.PodRunning
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
