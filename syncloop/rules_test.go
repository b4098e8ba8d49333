package syncloop_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// quota is a rule of a host program: the node has a number of units, a pod takes as many units as its
// annotation asks for, and each pod needs a seat.
type quota struct {
	name  string
	units int64
	seats string // the annotation with the pod's seat; empty: the rule has no seats
}

func (q quota) Claims(pod *v1.Pod) allocation.Claims {
	claims := allocation.Claims{}
	if text, has := pod.Annotations[q.name]; has {
		claims.Quantities = v1.ResourceList{v1.ResourceName(q.name): resource.MustParse(text)}
	}
	if seat, has := pod.Annotations[q.seats]; has {
		claims.Keys = []allocation.Key{{Name: seat}}
	}
	return claims
}

func (q quota) Check(claims allocation.Claims, staying, ending allocation.Sums) (reasons []allocation.Reason) {
	for _, seat := range claims.Keys {
		taken := func(h allocation.Holder) bool {
			reasons = []allocation.Reason{{Kind: allocation.KindHandler, Reason: "SeatTaken", Message: "pod " + h.Name + " has seat " + seat.Name}}
			return false
		}
		staying.Holders(seat, taken)
		ending.Holders(seat, taken)
	}
	name := v1.ResourceName(q.name)
	want := claims.Quantities[name]
	if want.IsZero() {
		return reasons
	}
	all, used := *resource.NewQuantity(q.units, resource.DecimalSI), staying.Requested(name)
	used.Add(ending.Requested(name))
	sum := used.DeepCopy()
	if sum.Add(want); sum.Cmp(all) > 0 {
		reasons = append(reasons, allocation.Reason{
			Kind: allocation.KindHandler, Reason: "OutOf" + q.name, Message: fmt.Sprintf("%s of %s units are in use", used.String(), all.String()),
			Resource: name, Requested: want, Used: used, Capacity: all,
		})
	}
	return reasons
}

// withRules returns handlers with the built-in rules and these rules of a host program.
func withRules(t testing.TB, whenFull syncloop.WhenFull, rules ...allocation.Rule) (*syncloop.Handlers, *harness) {
	w := newHarness()
	chain := []syncloop.PodAdmitHandler{
		syncloop.AdmitNames(), syncloop.AdmitPodCount(1 << 20), syncloop.AdmitHostPorts(),
		syncloop.AdmitResources(parseResources("cpu=1M memory=1Ti pods=1M")),
	}
	for _, rule := range rules {
		chain = append(chain, syncloop.AdmitRule(rule))
	}
	h, err := syncloop.NewHandlers(syncloop.HandlersConfig{
		Manager: w.manager.Store, Workers: w.workers, Status: w.status, Runtime: w, Sources: w.sources, Admit: chain, WhenFull: whenFull,
	})
	require.NoError(t, err)
	w.handlers = h
	return h, w
}

// podsWithSeat returns n pods that claim a unit of two quotas and a seat.
func podsWithSeat(n int) []*v1.Pod {
	pods := makePods(n)
	for i, p := range pods {
		p.Annotations = map[string]string{podmanager.ConfigSourceAnnotation: "api", "licences": "1", "bandwidth": "10", "seat": fmt.Sprint("seat-", i)}
	}
	return pods
}

func threeRules() []allocation.Rule {
	return []allocation.Rule{quota{name: "licences", units: 1 << 20}, quota{name: "bandwidth", units: 1 << 20}, quota{name: "places", units: 1 << 20, seats: "seat"}}
}

// TestAdmitRule_CostsTheSameForAnyNumberOfPods: three rules of a host program admit 10,000 pods in half a
// second, one after the other. The bound here is 20 times as large, because other tests may run at the same
// time. A sum over all pods for each pod would take minutes.
func TestAdmitRule_CostsTheSameForAnyNumberOfPods(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures time")
	}
	h, w := withRules(t, syncloop.Reject, threeRules()...)
	pods := podsWithSeat(10_000)
	began := time.Now()
	for i := range pods {
		h.HandlePodAdditions(context.Background(), pods[i:i+1])
	}
	assert.Less(t, time.Since(began), 10*time.Second)
	for i := range pods {
		require.True(t, w.workers.View(pods[i].UID).Known)
	}
}

// BenchmarkAdmitRule admits 10,000 pods with three rules of a host program.
func BenchmarkAdmitRule(b *testing.B) {
	pods := podsWithSeat(10_000)
	b.ReportAllocs()
	for b.Loop() {
		h, _ := withRules(b, syncloop.Reject, threeRules()...)
		h.HandlePodAdditions(context.Background(), pods)
	}
}

// TestAdmitRule: a rule of a host program rejects a pod, makes it wait for room or for a terminating pod, and
// Fits asks the rule.
func TestAdmitRule(t *testing.T) {
	h, w := withRules(t, syncloop.Wait, quota{name: "licences", units: 3}, quota{name: "places", units: 9, seats: "seat"})
	pod := func(uid types.UID, licences, seat string) *v1.Pod {
		p := podOfSource(string(uid), "api")
		p.UID = uid
		p.Annotations["licences"] = licences
		if seat != "" {
			p.Annotations["seat"] = seat
		}
		return p
	}
	add := func(p *v1.Pod) string {
		h.HandlePodAdditions(t.Context(), []*v1.Pod{p})
		if d, waits := h.Deferred(p.UID); waits {
			return d.Reason + ": " + d.Message
		}
		if h.IsRefused(p.UID) {
			return w.status.byUID[p.UID].Reason
		}
		return ""
	}
	assert.Empty(t, add(pod("a", "2", "window")))
	assert.EqualError(t, h.Fits(pod("b", "2", "window")),
		"pod ns/b does not fit on the node: OutOflicences: 2 of 3 units are in use; SeatTaken: pod a has seat window")
	assert.Equal(t, "Unschedulable: OutOflicences: 2 of 3 units are in use; it waits until the node has room", add(pod("b", "2", "")))
	assert.Equal(t, "OutOflicences", add(pod("large", "4", "")))
	assert.Equal(t, "Unschedulable: SeatTaken: pod a has seat window; it waits until the node has room", add(pod("c", "0", "window")))
	a, _ := w.manager.GetPodByUID("a")
	h.HandlePodRemoves(t.Context(), []*v1.Pod{a})
	h.HandleWaiting(t.Context())
	assert.NotContains(t, add(pod("d", "1", "")), "AdmissionDeferred", "the licences of b are reserved")
	for _, waits := range []types.UID{"b", "c"} {
		_, is := h.Deferred(waits)
		assert.Equal(t, false, is, waits)
	}
}

// broken is a rule that panics.
type broken struct{ claims, check *int }

func (b broken) Claims(*v1.Pod) allocation.Claims {
	if *b.claims--; *b.claims >= 0 {
		panic("claims")
	}
	return allocation.Claims{}
}

func (b broken) Check(allocation.Claims, allocation.Sums, allocation.Sums) []allocation.Reason {
	if *b.check--; *b.check >= 0 {
		panic("check")
	}
	return nil
}

// TestAdmitRule_I50_PanicIsContained: a rule that panics once postpones the pod until the next
// housekeeping; the second time the pod is rejected.
func TestAdmitRule_I50_PanicIsContained(t *testing.T) {
	for _, test := range []struct {
		claims, check int
		refused       bool
	}{{1, 0, false}, {0, 1, false}, {3, 0, true}, {0, 2, true}} { // The claims are also read to count the postponed pod.
		h, w := withRules(t, syncloop.Reject, broken{&test.claims, &test.check})
		p := podOfSource("a", "api")
		p.UID = "a"
		w.manager.AddPod(p)
		h.HandlePodAdditions(t.Context(), []*v1.Pod{p})
		assert.False(t, w.workers.View("a").Known, "nothing is decided")
		assert.False(t, h.IsRefused("a"))
		require.NoError(t, h.HandlePodCleanups(t.Context()))
		assert.Equal(t, !test.refused, w.workers.View("a").Known)
		assert.Equal(t, test.refused, h.IsRefused("a"))
	}
}

// asking is a rule whose Claims call the Handlers.
type asking struct{ handlers **syncloop.Handlers }

func (a asking) Claims(*v1.Pod) allocation.Claims {
	if h := *a.handlers; h != nil {
		h.Assumed()
	}
	return allocation.Claims{}
}

func (asking) Check(allocation.Claims, allocation.Sums, allocation.Sums) []allocation.Reason {
	return nil
}

// TestAdmitRule_CalledWithoutLock: Fits and Allocated hold no lock while they call a rule, so a rule that
// calls the Handlers does not deadlock.
func TestAdmitRule_CalledWithoutLock(t *testing.T) {
	var h *syncloop.Handlers
	handlers, _ := withRules(t, syncloop.Reject, asking{&h})
	h = handlers
	p := podOfSource("a", "api")
	p.UID = "a"
	require.True(t, h.Assume(p))
	pods := h.Allocated()[v1.ResourcePods]
	assert.Equal(t, int64(1), pods.Value())
}

// TestHandlers_PanicOfDropTerminalStatusIsContained: DropTerminalStatus panics for one pod. The manager stores
// all pods of the batch before anything else, and the other pods are added.
func TestHandlers_PanicOfDropTerminalStatusIsContained(t *testing.T) {
	w, panics := newHarness(), []string(nil)
	h, err := syncloop.NewHandlers(syncloop.HandlersConfig{
		Manager: w.manager.Store, Workers: w.workers, Status: w.status, Runtime: w, Sources: w.sources,
		DropTerminalStatus: func(types.UID) { panic("oh") },
		Panicked:           func(call string, _ error) { panics = append(panics, call) },
	})
	require.NoError(t, err)
	w.handlers = h
	a, b := podOfSource("a", "api"), podOfSource("b", "api")
	a.UID, b.UID = "a", "b"
	h.HandlePodAdditions(t.Context(), []*v1.Pod{a})
	h.HandlePodRemoves(t.Context(), []*v1.Pod{a})
	h.HandlePodAdditions(t.Context(), []*v1.Pod{a, b})
	assert.Equal(t, []string{"DropTerminalStatus"}, panics)
	_, desired := w.manager.GetPodByUID("b")
	assert.True(t, desired)
	assert.True(t, w.workers.View("b").Known)
}
