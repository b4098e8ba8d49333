package syncloop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// podWithCPU returns a pod whose container requests an amount of cpu, as parsePod makes it.
func podWithCPU(t *testing.T, uid, cpu string, words ...string) *v1.Pod {
	p := parsePod(t, append([]string{uid, "name=" + uid}, words...))
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)},
	}}}
	return p
}

// withGeneration sets the generation of a pod.
func withGeneration(pod *v1.Pod, generation int64) *v1.Pod {
	pod.Generation = generation
	return pod
}

// resizeHarness is a node with 4 cpus whose runtime resizes containers, and its saved allocations.
type resizeHarness struct {
	*harness
	t       *testing.T
	saved   map[types.UID]string
	resizes syncloop.Resizes
}

func newResizeHarness(t *testing.T) *resizeHarness {
	w := &resizeHarness{t: t, saved: map[types.UID]string{}}
	w.harness = newConfiguredHarness(func(c *syncloop.HandlersConfig) {
		c.Admit = []syncloop.PodAdmitHandler{syncloop.AdmitResources(v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")})}
		w.resizes = syncloop.Resizes{
			Supported: func() bool { return true },
			Allocated: func(pod *v1.Pod) (allocation.PodResources, bool) {
				cpu, found := w.saved[pod.UID]
				if !found {
					return allocation.PodResources{}, false
				}
				return allocation.PodResourcesOf(podWithCPU(t, string(pod.UID), cpu)), true
			},
			Save: func(pod *v1.Pod, allocated allocation.PodResources) {
				c := allocated.Containers["c"]
				w.saved[pod.UID] = c.Requests.Cpu().String()
			},
		}
		c.Resizes = w.resizes
	})
	return w
}

// describeStored returns the cpu and the resize conditions of a pod in the manager.
func (w *resizeHarness) describeStored(uid types.UID) string {
	pod, found := w.manager.GetPodByUID(uid)
	require.True(w.t, found)
	text := pod.Spec.Containers[0].Resources.Requests.Cpu().String()
	for _, c := range pod.Status.Conditions {
		text += fmt.Sprintf(" %s %s generation %d", c.Type, c.Reason, c.ObservedGeneration)
	}
	return text
}

func (w *resizeHarness) addPods(pods ...*v1.Pod)    { w.handlers.HandlePodAdditions(w.t.Context(), pods) }
func (w *resizeHarness) updatePods(pods ...*v1.Pod) { w.handlers.HandlePodUpdates(w.t.Context(), pods) }

// TestHandlers_RZ5_ResizeIsInfeasible: a pod of a node that does not resize keeps the resources that it was
// admitted with. Its condition reports the resize as infeasible until the old resources are desired again, and
// one event reports it.
func TestHandlers_RZ5_ResizeIsInfeasible(t *testing.T) {
	w := newHarness()
	w.guarded = true
	w.handlers.HandlePodAdditions(t.Context(), []*v1.Pod{podWithCPU(t, "a", "1")})
	w.takeCalls()
	stored := func() (cpu string, pending *v1.PodCondition) {
		pod, ok := w.manager.GetPodByUID("a")
		require.True(t, ok)
		return pod.Spec.Containers[0].Resources.Requests.Cpu().String(), podstatus.FindCondition(pod.Status.Conditions, v1.PodResizePending)
	}

	resized := withGeneration(podWithCPU(t, "a", "2"), 7)
	w.handlers.HandlePodUpdates(t.Context(), []*v1.Pod{resized})
	cpu, pending := stored()
	assert.Equal(t, "1", cpu)
	require.NotNil(t, pending)
	assert.False(t, pending.LastTransitionTime.IsZero())
	pending.LastTransitionTime = metav1.Time{}
	assert.Equal(t, v1.PodCondition{
		Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: "Infeasible",
		Message: "this node does not resize pods in place", ObservedGeneration: 7,
	}, *pending)
	assert.Equal(t, []string{
		"UpdatePod a", "UpdatePod a",
		`Event a Warning ResizeInfeasible: Pod resize Infeasible: {"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}],"generation":7,"error":"this node does not resize pods in place"}`,
		"worker of a: update",
	}, w.takeCalls())
	assert.Equal(t, "2", resized.Spec.Containers[0].Resources.Requests.Cpu().String(), "the argument is not changed")

	w.handlers.HandlePodReconcile(t.Context(), []*v1.Pod{resized})
	cpu, pending = stored()
	assert.Equal(t, "1", cpu)
	assert.NotNil(t, pending)
	assert.Equal(t, []string{"UpdatePod a"}, w.takeCalls(), "one event only")

	back := podWithCPU(t, "a", "1000m")
	back.Status.Conditions = []v1.PodCondition{*pending, {Type: "foreign"}}
	w.handlers.HandlePodUpdates(t.Context(), []*v1.Pod{back})
	_, pending = stored()
	assert.Nil(t, pending, "also if the API server still shows it")

	w.handlers.HandlePodAdditions(t.Context(), []*v1.Pod{podWithCPU(t, "f", "1", "source=file")})
	w.handlers.HandlePodUpdates(t.Context(), []*v1.Pod{podWithCPU(t, "f", "3", "source=file")})
	file, _ := w.manager.GetPodByUID("f")
	assert.Equal(t, "3", file.Spec.Containers[0].Resources.Requests.Cpu().String(), "the resources of a static pod count from the next start")
}

// TestHandlers_RZ25_DeferredResize: a request above the free resources is deferred. The pod gets the resources
// when another pod has gone, and its worker is updated once for each decision.
func TestHandlers_RZ25_DeferredResize(t *testing.T) {
	w := newResizeHarness(t)
	w.addPods(podWithCPU(t, "a", "1"), podWithCPU(t, "b", "2"))
	w.takeCalls()
	w.updatePods(withGeneration(podWithCPU(t, "a", "3"), 2))
	assert.Equal(t, "1 PodResizePending Deferred generation 2", w.describeStored("a"))
	assert.Equal(t, "1", w.saved["a"], "a restarted agent must not take the desired resources for the allocated ones")
	assert.Equal(t, []string{
		"UpdatePod a", "UpdatePod a",
		`Event a Warning ResizeDeferred: Pod resize Deferred: {"containers":[{"name":"c","resources":{"requests":{"cpu":"3"}}}],"generation":2,"error":"the node has not enough cpu: requested 3, used 2, capacity 4"}`,
		"worker of a: update",
	}, w.takeCalls())

	w.handlers.HandlePodRemoves(t.Context(), []*v1.Pod{podWithCPU(t, "b", "2")})
	w.takeCalls()
	w.handlers.HandleWaiting(t.Context())
	assert.Equal(t, "3 PodResizeInProgress  generation 2", w.describeStored("a"))
	assert.Equal(t, "3", w.saved["a"])
	assert.Equal(t, []string{
		"UpdatePod a",
		`Event a Normal ResizeStarted: Pod resize started: {"containers":[{"name":"c","resources":{"requests":{"cpu":"3"}}}],"generation":2}`,
		"worker of a: update",
	}, w.takeCalls())
	w.handlers.HandleWaiting(t.Context())
	assert.Empty(t, w.takeCalls())

	w.addPods(podWithCPU(t, "d", "2"))
	_, admitted := w.manager.GetPodByUID("d")
	require.True(t, admitted)
	assert.Contains(t, w.takeCalls(), "Event d Warning OutOfcpu: the node has not enough cpu: requested 2, used 3, capacity 4", "the allocated resources count")
}

// TestHandlers_RZ46_SecondResize: a second request while the first is in progress has both conditions, each with
// the generation that it speaks of (RZ-49).
func TestHandlers_RZ46_SecondResize(t *testing.T) {
	w := newResizeHarness(t)
	w.addPods(podWithCPU(t, "a", "1"), podWithCPU(t, "b", "2"))
	w.updatePods(withGeneration(podWithCPU(t, "a", "2"), 2))
	assert.Equal(t, "2 PodResizeInProgress  generation 2", w.describeStored("a"))
	w.updatePods(withGeneration(podWithCPU(t, "a", "3"), 3))
	assert.Equal(t, "2 PodResizeInProgress  generation 2 PodResizePending Deferred generation 3", w.describeStored("a"))
	w.updatePods(withGeneration(podWithCPU(t, "a", "5"), 4))
	assert.Equal(t, "2 PodResizeInProgress  generation 2 PodResizePending Infeasible generation 4", w.describeStored("a"))
	w.updatePods(withGeneration(podWithCPU(t, "a", "2"), 5))
	assert.Equal(t, "2 PodResizeInProgress  generation 2", w.describeStored("a"))
}

// TestHandlers_ResizeBesideUpdate: the rest of an update counts at once, while its resources wait. The
// decrease of another pod in the same batch makes room for it.
func TestHandlers_ResizeBesideUpdate(t *testing.T) {
	w := newResizeHarness(t)
	w.addPods(podWithCPU(t, "a", "1"), podWithCPU(t, "b", "3"))
	w.takeCalls()
	grown := podWithCPU(t, "a", "2")
	grown.Labels = map[string]string{"new": "label"}
	w.updatePods(grown, podWithCPU(t, "b", "1"))
	pod, _ := w.manager.GetPodByUID("a")
	assert.Equal(t, "label", pod.Labels["new"])
	assert.Equal(t, "2 PodResizeInProgress  generation 0", w.describeStored("a"))
	assert.Equal(t, "1 PodResizeInProgress  generation 0", w.describeStored("b"))
	var updates []string
	for _, note := range w.takeCalls() {
		if note == "worker of a: update" || note == "worker of b: update" {
			updates = append(updates, note)
		}
	}
	assert.Equal(t, []string{"worker of a: update", "worker of b: update"}, updates, "each worker is updated once")
}

// TestHandlers_RZ14_ResizeAfterRestart: a restarted agent starts from the saved resources, and requests the
// desired ones.
func TestHandlers_RZ14_ResizeAfterRestart(t *testing.T) {
	w := newResizeHarness(t)
	w.saved["a"] = "1"
	w.running = []runtime.Pod{{UID: "a", Name: "a", Namespace: "ns", Containers: []runtime.Container{{ID: "1", Name: "c", State: runtime.StateRunning}}}}
	w.sources.unseen["api"] = true
	w.addPods(withGeneration(podWithCPU(t, "a", "4"), 9))
	assert.Equal(t, "1", w.describeStored("a"), "nothing is decided before all sources have delivered")
	w.addPods(podWithCPU(t, "b", "1"))
	delete(w.sources.unseen, "api")
	w.handlers.HandleWaiting(t.Context())
	assert.Equal(t, "1 PodResizePending Deferred generation 9", w.describeStored("a"))

	w.saved["d"] = "1"
	w.addPods(podWithCPU(t, "d", "2"))
	assert.Equal(t, "2", w.describeStored("d"), "a pod that does not run is admitted with the desired resources")
}

// TestHandlers_RZ14_StoppedPodAfterRestart: a pod of an earlier agent that does not run counts with its saved resources
// once it is added. Its resize is decided, and the resize of another pod cannot take its resources.
func TestHandlers_RZ14_StoppedPodAfterRestart(t *testing.T) {
	for _, c := range []struct {
		name           string
		savedA, wanted string
		a, b           string
	}{
		{"its own resize", "1", "2", "2 PodResizeInProgress  generation 9", "2 PodResizeInProgress  generation 9"},
		{"the resize of another pod", "3", "3", "3", "1 PodResizePending Deferred generation 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newResizeHarness(t)
			w.saved["a"], w.saved["b"] = c.savedA, "1"
			for uid, state := range map[types.UID]runtime.State{"a": runtime.StateExited, "b": runtime.StateRunning} {
				w.running = append(w.running, runtime.Pod{UID: uid, Name: string(uid), Namespace: "ns", Containers: []runtime.Container{{ID: string(uid), Name: "c", State: state}}})
			}
			w.addPods(withGeneration(podWithCPU(t, "a", c.wanted), 9), withGeneration(podWithCPU(t, "b", "2"), 9))
			w.handlers.HandleWaiting(t.Context())
			assert.Equal(t, []string{c.a, c.b}, []string{w.describeStored("a"), w.describeStored("b")})
		})
	}
}

// TestHandlers_RZ14_RestartingPodAfterRestart: a pod of an earlier agent whose container has just exited keeps its
// resources if it restarts, so a pod that the earlier agent rejected is rejected again. A job may have ended.
func TestHandlers_RZ14_RestartingPodAfterRestart(t *testing.T) {
	for policy, rejected := range map[v1.RestartPolicy]bool{"": true, v1.RestartPolicyAlways: true, v1.RestartPolicyNever: false} {
		w := newResizeHarness(t)
		w.saved["a"] = "3"
		w.running = []runtime.Pod{{UID: "a", Name: "a", Namespace: "ns", Containers: []runtime.Container{{ID: "1", Name: "c", State: runtime.StateExited}}}}
		a := podWithCPU(t, "a", "3")
		a.Spec.RestartPolicy = policy
		w.addPods(podWithCPU(t, "b", "2"), a)
		took := w.takeCalls()
		assert.Contains(t, took, "worker of a: create", policy)
		assert.Equal(t, rejected, !slices.Contains(took, "worker of b: create"), "%s: %s", policy, took)
	}
}

// TestHandlers_ResizeOfUnstartedPod: a rejected pod has no resize request, and a deleted pod keeps its resources
// without one.
func TestHandlers_ResizeOfUnstartedPod(t *testing.T) {
	w := newResizeHarness(t)
	w.addPods(podWithCPU(t, "a", "5"), podWithCPU(t, "b", "1"))
	w.updatePods(podWithCPU(t, "a", "1"))
	assert.Equal(t, "1", w.describeStored("a"))
	w.updatePods(podWithCPU(t, "b", "2", "deleted"))
	assert.Equal(t, "1", w.describeStored("b"))
	assert.Equal(t, map[types.UID]string{"b": "1"}, w.saved)
}

// TestHandlers_RZ16_SavedAtAdmission: the resources of a pod are saved when it gets a worker, once. A rejected pod, a
// pod without requests and limits, and a pod whose resources an earlier agent has saved are not saved.
func TestHandlers_RZ16_SavedAtAdmission(t *testing.T) {
	w := newResizeHarness(t)
	w.addPods(podWithCPU(t, "a", "1"), podWithCPU(t, "big", "5"), parsePod(t, []string{"none", "name=none"}))
	assert.Equal(t, map[types.UID]string{"a": "1"}, w.saved)
	delete(w.saved, "a")
	w.updatePods(withGeneration(podWithCPU(t, "a", "1"), 2))
	assert.Empty(t, w.saved)
	w.handlers.HandlePodRemoves(t.Context(), []*v1.Pod{podWithCPU(t, "a", "1")})
	w.addPods(podWithCPU(t, "a", "2"))
	assert.Equal(t, map[types.UID]string{"a": "2"}, w.saved, "a pod that is added again is another pod")
}

// TestHandlers_RZ46_TransitionTime: each resize has a transition time of its own in whole seconds, also if two begin
// within one second. A status has no other times.
func TestHandlers_RZ46_TransitionTime(t *testing.T) {
	w := newResizeHarness(t)
	w.addPods(podWithCPU(t, "a", "1"))
	var last time.Time
	for i, cpu := range []string{"2", "3", "1"} {
		w.updatePods(withGeneration(podWithCPU(t, "a", cpu), int64(i+1)))
		pod, _ := w.manager.GetPodByUID("a")
		at := podstatus.FindCondition(pod.Status.Conditions, v1.PodResizeInProgress).LastTransitionTime.Time
		assert.True(t, at.After(last), "%s after %s", at, last)
		assert.Zero(t, at.Nanosecond())
		last = at
	}
}

// TestHandlers_ResizeConditionsOfSource: a new pod does not keep the resize conditions that an earlier agent has written
// to the API server, and keeps the conditions of others.
func TestHandlers_ResizeConditionsOfSource(t *testing.T) {
	w := newResizeHarness(t)
	pod := podWithCPU(t, "a", "1")
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, ObservedGeneration: 3}, {Type: v1.PodResizeInProgress, ObservedGeneration: 2}, {Type: "foreign"}}
	w.addPods(pod)
	assert.Equal(t, "1 foreign  generation 0", w.describeStored("a"))
	assert.Len(t, pod.Status.Conditions, 3, "the argument is not changed")
}

// TestHandlers_RZ14_StaticPodBeforeListing: a static pod of an earlier agent gets no worker before the first listing of
// the runtime, and its resize is decided all the same. It counts for the admission of the pods that are added with it.
func TestHandlers_RZ14_StaticPodBeforeListing(t *testing.T) {
	w := newResizeHarness(t)
	w.saved["a"], w.unlisted = "1", true
	w.running = []runtime.Pod{{UID: "a", Name: "a", Namespace: "ns", Containers: []runtime.Container{{ID: "1", Name: "c", State: runtime.StateRunning}}}}
	w.addPods(withGeneration(podWithCPU(t, "a", "5", "source=file"), 9), podWithCPU(t, "b", "4"))
	assert.Contains(t, w.takeCalls(), "Event b Warning OutOfcpu: the node has not enough cpu: requested 4, used 1, capacity 4")
	w.handlers.HandleWaiting(t.Context())
	w.unlisted = false
	w.cleanUp()
	w.handlers.HandleWaiting(t.Context())
	assert.Equal(t, "1 PodResizePending Infeasible generation 9", w.describeStored("a"))
	assert.Contains(t, w.takeCalls(), "worker of a: create")
}

// TestHandlers_RZ14_WaitingPodBeforeListing: a pod that is added before the first listing of the runtime may run with its
// saved resources, so it waits for them. When it gets its worker, its resize is requested, once. An update of the waiting
// pod and another pod with its UID have no such resize.
func TestHandlers_RZ14_WaitingPodBeforeListing(t *testing.T) {
	for _, c := range []struct {
		name             string
		change           func(w *resizeHarness)
		started, decided string
	}{
		{"unchanged", func(*resizeHarness) {}, "3", "1 PodResizeInProgress  generation 9"},
		{"updated", func(w *resizeHarness) { w.updatePods(withGeneration(podWithCPU(t, "a", "4"), 10)) }, "4", "4"},
		{"replaced", func(w *resizeHarness) {
			w.handlers.HandlePodRemoves(t.Context(), []*v1.Pod{podWithCPU(t, "a", "1")})
			delete(w.saved, "a")
			w.addPods(podWithCPU(t, "a", "4"))
		}, "4", "4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, wakes := newResizeHarness(t), 0
			w.harness = newConfiguredHarness(func(config *syncloop.HandlersConfig) {
				config.Admit = []syncloop.PodAdmitHandler{syncloop.AdmitResources(v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")})}
				config.Resizes, config.WhenFull = w.resizes, syncloop.Wait
			})
			w.handlers.SetWake(func() { wakes++ }, func() {})
			w.saved["a"], w.unlisted = "3", true
			w.addPods(podWithCPU(t, "b", "2"), withGeneration(podWithCPU(t, "a", "1"), 9))
			c.change(w)
			w.handlers.HandlePodRemoves(t.Context(), []*v1.Pod{podWithCPU(t, "b", "2")})
			w.unlisted = false
			w.cleanUp()
			wakes = 0
			w.workers.deaf["a"] = true
			w.handlers.HandleWaiting(t.Context())
			require.Equal(t, c.started, w.describeStored("a"))
			assert.Equal(t, c.started != c.decided, wakes > 0, "the loop decides at once")
			w.workers.deaf["a"] = true
			w.handlers.HandleWaiting(t.Context())
			assert.Equal(t, c.decided, w.describeStored("a"))
			w.takeCalls()
			delete(w.workers.deaf, "a")
			w.cleanUp() // It starts the missing worker.
			w.handlers.HandleWaiting(t.Context())
			var events []string
			for _, note := range w.takeCalls() {
				if strings.HasPrefix(note, "Event") || strings.HasPrefix(note, "worker of a") {
					events = append(events, note)
				}
			}
			assert.Equal(t, []string{"worker of a: create"}, events, "another start requests no resize")
		})
	}
}
