package syncloop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// deferredResize returns a harness in which the resize of pod a from 1 to 3 cpus is deferred, because pod b has 2 of 4.
func deferredResize(t *testing.T) *resizeHarness {
	w := newResizeHarness(t)
	w.addPods(podWithCPU(t, "a", "1"), podWithCPU(t, "b", "2"))
	w.updatePods(withGeneration(podWithCPU(t, "a", "3"), 2))
	require.Equal(t, "1 PodResizePending Deferred generation 2", w.describeStored("a"))
	return w
}

// cleanUp runs the housekeeping.
func (w *resizeHarness) cleanUp() { require.NoError(w.t, w.handlers.HandlePodCleanups(w.t.Context())) }

// TestHandlers_RZ29_DecisionPanics: a decision about a resize whose storing panics is not lost. The housekeeping applies
// it, as often as it takes, without another update of the pod. It is logged once.
func TestHandlers_RZ29_DecisionPanics(t *testing.T) {
	w := deferredResize(t)
	w.broken["store a"] = 2
	w.handlers.HandlePodRemoves(t.Context(), []*v1.Pod{podWithCPU(t, "b", "2")})
	w.takeCalls()
	w.handlers.HandleWaiting(t.Context())
	assert.Equal(t, "1 PodResizePending Deferred generation 2", w.describeStored("a"))
	w.cleanUp()
	assert.Equal(t, "1 PodResizePending Deferred generation 2", w.describeStored("a"))
	w.cleanUp()
	assert.Equal(t, "3 PodResizeInProgress  generation 2", w.describeStored("a"))
	assert.Equal(t, "3", w.saved["a"])
	logged := 0
	for _, note := range w.takeCalls() {
		if strings.Contains(note, "the decision about a resize panicked and is repeated by the next housekeeping") {
			logged++
		}
	}
	assert.Equal(t, 1, logged)
	w.cleanUp()
	assert.NotContains(t, w.takeCalls(), "UpdatePod a", "it is applied once")
}

// TestHandlers_RZ29_DecisionPanicsThenReverted: an update after the panic counts. The pod is counted with the resources
// that it then has, and the old decision is forgotten.
func TestHandlers_RZ29_DecisionPanicsThenReverted(t *testing.T) {
	w := deferredResize(t)
	w.broken["store a"] = 1
	w.handlers.HandlePodRemoves(t.Context(), []*v1.Pod{podWithCPU(t, "b", "2")})
	w.handlers.HandleWaiting(t.Context())
	require.Equal(t, "1 PodResizePending Deferred generation 2", w.describeStored("a"))
	w.updatePods(withGeneration(podWithCPU(t, "a", "1"), 3))
	w.cleanUp()
	assert.Equal(t, "1 PodResizeInProgress  generation 3", w.describeStored("a"))
	w.takeCalls()
	w.addPods(podWithCPU(t, "c", "3"))
	assert.NotContains(t, w.takeCalls(), "Event c Warning OutOfcpu: the node has not enough cpu: requested 3, used 3, capacity 4", "pod a claims 1 again")

	// The decision about a removed pod is not applied to the next pod with the UID.
	w = deferredResize(t)
	w.broken["store a"] = 1
	w.handlers.HandlePodRemoves(t.Context(), []*v1.Pod{podWithCPU(t, "b", "2")})
	w.handlers.HandleWaiting(t.Context())
	w.handlers.HandlePodRemoves(t.Context(), []*v1.Pod{podWithCPU(t, "a", "3")})
	w.addPods(podWithCPU(t, "a", "1"))
	w.cleanUp()
	assert.Equal(t, "1", w.describeStored("a"))
}

// TestHandlers_RZ29_HostPanics: a resize is deferred while a function of the host program panics, and not infeasible. The
// housekeeping asks again.
func TestHandlers_RZ29_HostPanics(t *testing.T) {
	for _, function := range []string{"Supported", "Refuse"} {
		t.Run(function, func(t *testing.T) {
			w, broken := newResizeHarness(t), ""
			w.harness = newConfiguredHarness(func(c *syncloop.HandlersConfig) {
				c.Resizes = syncloop.Resizes{
					Supported: func() bool {
						if broken == "Supported" {
							panic("oh")
						}
						return true
					},
					Refuse: func(_, desired *v1.Pod) string {
						if broken == "Refuse" {
							panic("oh")
						}
						if desired.Generation == 9 {
							return "not this one"
						}
						return ""
					},
				}
			})
			w.addPods(podWithCPU(t, "a", "1"))
			broken = function
			w.updatePods(withGeneration(podWithCPU(t, "a", "2"), 2))
			assert.Equal(t, "1 PodResizePending Deferred generation 2", w.describeStored("a"))
			w.takeCalls()
			w.cleanUp()
			assert.Equal(t, "1 PodResizePending Deferred generation 2", w.describeStored("a"))
			assert.NotContains(t, w.takeCalls(), "worker of a: update", "a repeated panic changes nothing")
			broken = ""
			w.cleanUp()
			assert.Equal(t, "2 PodResizeInProgress  generation 2", w.describeStored("a"))

			broken = function
			w.updatePods(withGeneration(podWithCPU(t, "a", "3"), 9))
			broken = ""
			w.cleanUp()
			assert.Equal(t, "2 PodResizeInProgress  generation 2 PodResizePending Infeasible generation 9", w.describeStored("a"))
		})
	}
}

// licences is a rule of a host program that panics in one of its methods.
type licences struct{ broken *string }

func (r licences) Claims(pod *v1.Pod) allocation.Claims {
	if *r.broken == "Claims" {
		panic("oh")
	}
	return allocation.Claims{Quantities: v1.ResourceList{"licences": pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU]}}
}

func (r licences) Check(claims allocation.Claims, staying, _ allocation.Sums) []allocation.Reason {
	if *r.broken == "Check" {
		panic("oh")
	}
	used := staying.Requested("licences")
	if used.Add(claims.Quantities["licences"]); used.Cmp(resource.MustParse("4")) > 0 {
		return []allocation.Reason{{Kind: allocation.KindHandler, Reason: "NoLicence", Message: "no licence is left", Resource: "licences"}}
	}
	return nil
}

// TestHandlers_RZ29_RulePanics: the same for a rule of the host program. A rule whose Claims have panicked admits nothing.
func TestHandlers_RZ29_RulePanics(t *testing.T) {
	for _, method := range []string{"Claims", "Check"} {
		t.Run(method, func(t *testing.T) {
			w, broken := newResizeHarness(t), ""
			w.harness = newConfiguredHarness(func(c *syncloop.HandlersConfig) {
				c.Admit = []syncloop.PodAdmitHandler{syncloop.AdmitRule(licences{&broken})}
				c.Resizes = syncloop.Resizes{Supported: func() bool { return true }}
			})
			w.addPods(podWithCPU(t, "a", "1"), podWithCPU(t, "b", "1"))
			broken = method
			w.updatePods(withGeneration(podWithCPU(t, "a", "2"), 2), withGeneration(podWithCPU(t, "b", "5"), 2))
			assert.Equal(t, "1 PodResizePending Deferred generation 2", w.describeStored("a"))
			w.cleanUp()
			assert.Equal(t, "1 PodResizePending Deferred generation 2", w.describeStored("a"))
			broken = ""
			w.cleanUp()
			assert.Equal(t, "2 PodResizeInProgress  generation 2", w.describeStored("a"))
			assert.Equal(t, "1 PodResizePending Infeasible generation 2", w.describeStored("b"))
		})
	}
}

// pendingTime returns the transition time of the condition PodResizePending of a pod.
func (w *resizeHarness) pendingTime(uid string) time.Time {
	pod, _ := w.manager.GetPodByUID(podWithCPU(w.t, uid, "1").UID)
	return podstatus.FindCondition(pod.Status.Conditions, v1.PodResizePending).LastTransitionTime.Time
}

// TestHandlers_RZ46_PendingTransitionTime: the transition time of PodResizePending changes with the reason only.
func TestHandlers_RZ46_PendingTransitionTime(t *testing.T) {
	w := deferredResize(t)
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	pod, _ := w.manager.GetPodByUID("a")
	podstatus.FindCondition(pod.Status.Conditions, v1.PodResizePending).LastTransitionTime = metav1.NewTime(began)
	w.updatePods(withGeneration(podWithCPU(t, "a", "4"), 3))
	assert.Equal(t, "1 PodResizePending Deferred generation 3", w.describeStored("a"))
	assert.Equal(t, began, w.pendingTime("a"), "another generation and message")
	w.updatePods(withGeneration(podWithCPU(t, "a", "5"), 4))
	assert.Equal(t, "1 PodResizePending Infeasible generation 4", w.describeStored("a"))
	assert.True(t, w.pendingTime("a").After(began))
	assert.Zero(t, w.pendingTime("a").Nanosecond())
}

// TestHandlers_RZ46_RZ27_PendingAfterRestart: a restarted agent takes over the condition PodResizePending that the API
// server shows, before it decides about the resize and with its transition time. The resize that waits longest is still
// the first.
func TestHandlers_RZ46_RZ27_PendingAfterRestart(t *testing.T) {
	w := newResizeHarness(t)
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	pending := func(uid string, at time.Time) *v1.Pod {
		p := withGeneration(podWithCPU(t, uid, "2"), 9)
		p.Status.Conditions = []v1.PodCondition{{
			Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred, ObservedGeneration: 8, LastTransitionTime: metav1.NewTime(at),
		}}
		w.saved[p.UID] = "1"
		w.running = append(w.running, runtime.Pod{UID: p.UID, Name: uid, Namespace: "ns", Containers: []runtime.Container{{ID: uid, Name: "c", State: runtime.StateRunning}}})
		return p
	}
	w.sources.unseen["api"] = true
	w.addPods(pending("a", began.Add(time.Minute)), pending("b", began), podWithCPU(t, "c", "2"))
	assert.Equal(t, "1 PodResizePending Deferred generation 8", w.describeStored("a"), "nothing is decided before all sources have delivered")
	delete(w.sources.unseen, "api")
	w.handlers.HandleWaiting(t.Context())
	assert.Equal(t, "1 PodResizePending Deferred generation 9", w.describeStored("a"))
	assert.Equal(t, "1 PodResizePending Deferred generation 9", w.describeStored("b"))
	assert.Equal(t, []time.Time{began.Add(time.Minute), began}, []time.Time{w.pendingTime("a"), w.pendingTime("b")})
	w.updatePods(withGeneration(podWithCPU(t, "c", "1"), 2))
	assert.Equal(t, "2 PodResizeInProgress  generation 9", w.describeStored("b"))
	assert.Equal(t, "1 PodResizePending Deferred generation 9", w.describeStored("a"))
}

// TestHandlers_RZ14_AdditionPanics: the resize of a pod of an earlier agent is not lost if the addition of the pod panics.
// The housekeeping adds the pod with the resources that its source desires.
func TestHandlers_RZ14_AdditionPanics(t *testing.T) {
	for _, state := range []runtime.State{runtime.StateRunning, runtime.StateExited} {
		w := newResizeHarness(t)
		w.saved["a"] = "1"
		w.running = []runtime.Pod{{UID: "a", Name: "a", Namespace: "ns", Containers: []runtime.Container{{ID: "1", Name: "c", State: state}}}}
		w.broken["ended a"] = 1
		w.addPods(withGeneration(podWithCPU(t, "a", "2"), 9))
		require.NotContains(t, w.takeCalls(), "worker of a: create")
		w.cleanUp()
		require.Contains(t, w.takeCalls(), "worker of a: create")
		w.handlers.HandleWaiting(t.Context())
		assert.Equal(t, "2 PodResizeInProgress  generation 9", w.describeStored("a"), state)
	}
}

// TestHandlers_RZ14_SecondAddition: a pod whose first addition panicked has the desired resources after the second one.
// No resize is requested then.
func TestHandlers_RZ14_SecondAddition(t *testing.T) {
	w := newResizeHarness(t)
	w.saved["a"], w.unlisted, w.broken["ended a"] = "1", true, 1
	w.addPods(withGeneration(podWithCPU(t, "a", "2"), 9))
	w.unlisted = false
	w.cleanUp()
	w.handlers.HandleWaiting(t.Context())
	w.handlers.HandleWaiting(t.Context())
	assert.NotContains(t, w.takeCalls(), "PodResizeInProgress")
	assert.NotContains(t, w.describeStored("a"), "PodResizeInProgress")
}
