package allocation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// letters is a rule of a host program: each pod claims the letters of its name, and has a slot of its own.
type letters struct{ most int64 }

func (letters) Claims(pod *v1.Pod) Claims {
	n := int64(len(pod.Name) % 4)
	return Claims{
		Quantities: v1.ResourceList{"letters": *resource.NewQuantity(n, resource.DecimalSI)},
		Keys:       []Key{{Name: fmt.Sprint("slot-", len(pod.Name)%3), Value: pod.Name}},
	}
}

func (l letters) Check(claims Claims, staying, ending Sums) (reasons []Reason) {
	for _, sums := range []Sums{staying, ending} {
		sums.Holders(claims.Keys[0], func(h Holder) bool {
			reasons = append(reasons, Reason{Kind: KindHandler, Reason: "Slot", Message: h.Value})
			return false
		})
	}
	if len(reasons) > 1 {
		reasons = reasons[:1]
	}
	want, most := claims.Quantities["letters"], *resource.NewQuantity(l.most, resource.DecimalSI)
	used := staying.Requested("letters")
	used.Add(ending.Requested("letters"))
	if exceedsCapacity(want, used, most) && len(reasons) == 0 {
		return []Reason{{Kind: KindHandler, Reason: "OutOfLetters", Message: used.String(), Resource: "letters", Requested: want, Used: used, Capacity: most}}
	}
	return reasons
}

var mixed = NewChain(Names(), PodCount(4), letters{5}, HostPorts(), Resources(capacity), letters{6})

// capacity is the capacity of the node in these tests.
var capacity = v1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("4k"), "example.com/gpu": resource.MustParse("1500")}

// drawPod draws a pod with few different values, so that pods share them.
func drawPod(t *rapid.T, chain *Chain, uid types.UID) Pod {
	p := &v1.Pod{}
	p.UID, p.Namespace, p.Name = uid, "ns", rapid.SampledFrom([]string{"a", "b", "cc", "ddd"}).Draw(t, "name")
	requests := v1.ResourceList{}
	for _, name := range []v1.ResourceName{"cpu", "memory", "example.com/gpu"} {
		if text := rapid.SampledFrom([]string{"", "0", "1m", "100m", "1", "1.5", "3k", "1Gi", "9Ei"}).Draw(t, string(name)); text != "" {
			requests[name] = resource.MustParse(text)
		}
	}
	c := v1.Container{Resources: v1.ResourceRequirements{Requests: requests}}
	for range rapid.IntRange(0, 2).Draw(t, "ports") {
		c.Ports = append(c.Ports, v1.ContainerPort{
			HostIP:   rapid.SampledFrom([]string{"0.0.0.0", "10.0.0.1", "10.0.0.2"}).Draw(t, "ip"),
			Protocol: rapid.SampledFrom([]v1.Protocol{"TCP", "UDP"}).Draw(t, "protocol"), HostPort: int32(rapid.IntRange(80, 81).Draw(t, "port")),
		})
	}
	p.Spec.Containers = []v1.Container{c}
	priority := int32(rapid.IntRange(-1, 1).Draw(t, "priority"))
	p.Spec.Priority = &priority
	return chain.Pod(p, "", rapid.IntRange(0, 5).Draw(t, "static") == 0)
}

// TestLedger_EqualsTheFullRecomputation: after any history of pods that are added, changed and removed, every
// answer equals the answer from a sum over all pods.
func TestLedger_EqualsTheFullRecomputation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sums := &ledger{slots: 3}
		var there []Pod // in order of arrival
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			uid := types.UID(fmt.Sprint("u", rapid.IntRange(0, 5).Draw(t, "uid")))
			at := slices.IndexFunc(there, func(p Pod) bool { return p.UID == uid })
			if rapid.Bool().Draw(t, "comes") {
				one := drawPod(t, mixed, uid)
				sums.putPod(one)
				if at >= 0 {
					there[at] = one
				} else {
					there = append(there, one)
				}
			} else {
				if _, found := sums.removePod(uid); found != (at >= 0) {
					t.Fatalf("remove(%s) is %t", uid, found)
				}
				if at >= 0 {
					there = slices.Delete(there, at, at+1)
				}
			}
			compareSums(t, sums, there)
			if len(there) > 0 {
				gone := there[len(there)/2].UID
				compareSums(t, ledgerWithout{sums, []types.UID{gone, "unknown"}}, slices.DeleteFunc(slices.Clone(there), func(p Pod) bool { return p.UID == gone }))
			}
		}
	})
}

func compareSums(t *rapid.T, sums podSet, there []Pod) {
	var pods []*v1.Pod
	for i := range there {
		pods = append(pods, there[i].Pod)
	}
	if !slices.Equal(sums.listPods(), pods) {
		t.Fatalf("the pods are others, or in another order")
	}
	if sums.len() != len(there) {
		t.Fatalf("%d pods, not %d", sums.len(), len(there))
	}
	for slot := range 3 {
		for _, name := range []v1.ResourceName{"cpu", "memory", "example.com/gpu", "letters"} {
			var want resource.Quantity
			for i := range there {
				want.Add(there[i].claimsAt(slot).Quantities[name])
			}
			if got := sums.requestedQuantity(slot, name); got.Cmp(want) != 0 {
				t.Fatalf("%s: %s, not %s", name, got.String(), want.String())
			}
		}
		keys := map[keyID][]types.UID{}
		for i := range there {
			for _, key := range there[i].claimsAt(slot).Keys {
				if !slices.Contains(keys[key.keyWithoutValue()], there[i].UID) {
					keys[key.keyWithoutValue()] = append(keys[key.keyWithoutValue()], there[i].UID)
				}
			}
		}
		for id, want := range keys {
			var got []types.UID
			sums.forEachHolder(slot, id, func(e *entry) bool { got = append(got, e.UID); return true })
			if !slices.Equal(got, want) {
				t.Fatalf("%v: %v, not %v", id, got, want)
			}
		}
	}
}

// twin is a table with its effects for each pod, without the numbers in messages.
type twin struct {
	*Table
	seenEffects map[types.UID]string
	asked       int
}

func newTwin() *twin {
	return &twin{Table: New(Config{Chain: asked, WaitWhenFull: true}), seenEffects: map[types.UID]string{}}
}

func (q *twin) storeEffects(effects []Effect) {
	for _, e := range effects {
		q.seenEffects[e.UID] = fmt.Sprint(e.Kind, e.Answer.WaitsWhenFull, e.Blockers)
	}
}

// lessAnswer answers by resources, ports and names on a node with fewer resources.
func lessAnswer(e Effect, less resource.Quantity) Answer {
	n := e.Snapshot.Staying.Len() + e.Snapshot.Terminating.Len()
	if reasons := HostPorts().Check(e.Pod.Claims, e.Snapshot.Staying, e.Snapshot.Terminating); len(reasons) > 0 {
		return Answer{Reason: "port"}
	}
	if n >= 4 {
		return Answer{Reason: fmt.Sprint("count ", n)}
	}
	for _, name := range []v1.ResourceName{"cpu", "memory", "example.com/gpu"} {
		want, most := e.Pod.Claims.Quantities[name], capacity[name].DeepCopy()
		most.Sub(less)
		used := e.Snapshot.Staying.Requested(name)
		used.Add(e.Snapshot.Terminating.Requested(name))
		if want.Sign() > 0 && exceedsCapacity(want, used, most) {
			return Answer{Reason: fmt.Sprintf("%s %s", name, used.String()), Shortage: shortOf(name, want, most)}
		}
	}
	return Answer{Admit: true}
}

// TestTable_ShortagesChangeNoVerdict: after any history a table that uses shortages has the same pods
// waiting as a table that asks about every pod each time, with no more questions.
func TestTable_ShortagesChangeNoVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		knows, asks := newTwin(), newTwin()
		less := resource.MustParse("0")
		ask := func(q *twin, shortages bool) func(Effect) Answer {
			return func(e Effect) Answer {
				q.asked++
				a := lessAnswer(e, less)
				if !shortages {
					a.Shortage = Shortage{}
				}
				return a
			}
		}
		now := time.Unix(0, 0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			uid := types.UID(fmt.Sprint("u", rapid.IntRange(0, 9).Draw(t, "uid")))
			one := drawPod(t, asked, uid)
			action := rapid.IntRange(0, 7).Draw(t, "action")
			if action == 7 {
				less = resource.MustParse(rapid.SampledFrom([]string{"0", "-1", "1"}).Draw(t, "less"))
			}
			for q, shortages := range map[*twin]bool{knows: true, asks: false} {
				switch action {
				case 0:
					q.Remove(uid)
					delete(q.seenEffects, uid)
				case 1:
					q.startTermination(uid, q.ensureRecord(uid), Termination{Pod: one, Until: now})
				case 2:
					q.finishTerminationOf(uid)
				case 3:
					q.SetStaying(one)
				case 4, 5, 6:
					q.storeEffects(answerAll(q.Table, now, q.Add(one, uid < "u8", now, nil), ask(q, shortages)))
				case 7:
					q.Recheck()
				}
				q.storeEffects(answerAll(q.Table, now, q.Review(now, nil), ask(q, shortages)))
			}
			if fmt.Sprint(knows.seenEffects, knows.WaitingUIDs()) != fmt.Sprint(asks.seenEffects, asks.WaitingUIDs()) {
				t.Fatalf("with shortages\n%v %v\nwithout\n%v %v", knows.seenEffects, knows.WaitingUIDs(), asks.seenEffects, asks.WaitingUIDs())
			}
		}
		assert.LessOrEqual(t, knows.asked, asks.asked)
	})
}

// judgeWithoutTable returns the decision of a chain of rules about a pod, without a table.
func judgeWithoutTable(chain *Chain, u *Usage, pod Pod, waitWhenFull bool) (State, Answer) {
	beside := u.SnapshotFor(&pod, Rank(pod.Priority, waitWhenFull), false)
	verdict, said, _ := Judge(&pod, beside, waitWhenFull, func(_ Question, beside Snapshot) Answer {
		held := Answer{Admit: true}
		for at := range chain.rules {
			a := NewAnswer(chain.Check(at, &pod, beside)...)
			switch {
			case a.Admit:
			case beside.IsDecisive(&pod, a):
				return a
			case held.Admit:
				held = a
				held.Pending = true
			}
		}
		return held
	})
	return verdict, said
}

// TestUsage_PredictsTheTable: after any history a Usage decides about a pod as the table decides when
// the pod arrives, with the same reasons. This holds for assumed pods too.
func TestUsage_PredictsTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		full := rapid.Bool().Draw(t, "wait")
		table, u := New(Config{Chain: mixed, WaitWhenFull: full}), NewUsage(mixed)
		now := time.Unix(0, 0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			uid := types.UID(fmt.Sprint("u", rapid.IntRange(0, 7).Draw(t, "uid")))
			one := drawPod(t, mixed, uid)
			switch rapid.IntRange(0, 6).Draw(t, "action") {
			case 0:
				table.Remove(uid)
			case 1:
				table.startTermination(uid, table.ensureRecord(uid), Termination{Pod: one, Until: now})
			case 2:
				table.finishTerminationOf(uid)
			case 3:
				table.SetStaying(one)
			case 4, 5:
				verdict, said := judgeWithoutTable(mixed, u, one, full)
				e := table.Add(one, true, now, nil)[0]
				said.Message, e.Answer.Message = "", "" // Of several pods that have a key any may be named, and a quantity has several forms.
				if verdict != stateOf(e.Kind) || !said.equalsExceptShortage(e.Answer) {
					t.Fatalf("%s: predicted %v %+v, got %v %+v", uid, verdict, said, e.Kind, e.Answer)
				}
			case 6:
				addSeveral(t, table, u, full)
			}
			table.Review(now, nil)
			u.Update(table, 0)
			checkAllocated(t, table, u)
		}
	})
}

func stateOf(k EffectKind) State {
	return map[EffectKind]State{Admit: Admitted, Wait: Waiting, Reject: Rejected}[k]
}

// addSeveral adds several pods at the same time: each is assumed before the table decides about the first.
func addSeveral(t *rapid.T, table *Table, u *Usage, full bool) {
	var predicted []State
	var come []Pod
	for i := range rapid.IntRange(1, 4).Draw(t, "several") {
		one := drawPod(t, mixed, types.UID(fmt.Sprint("v", i)))
		table.Remove(one.UID)
		table.finishTerminationOf(one.UID)
		come = append(come, one)
	}
	u.Update(table, 0)
	for _, one := range come {
		assert.True(t, u.Assume(one.Pod))
		assert.Same(t, one.Pod, u.NextWithoutVerdict())
		verdict, _ := judgeWithoutTable(mixed, u, one, full)
		u.CountAssumed(one, Rank(one.Priority, full), verdict)
		predicted = append(predicted, verdict)
	}
	assert.Nil(t, u.NextWithoutVerdict())
	for i, one := range come {
		if e := table.Add(one, true, time.Unix(0, 0), nil)[0]; stateOf(e.Kind) != predicted[i] {
			t.Fatalf("%s: predicted %v, got %v", one.UID, predicted[i], e.Kind)
		}
		table.MarkChanged(one.UID)
	}
	u.Update(table, 0)
	assert.Empty(t, u.Assumed())
}

// checkAllocated checks that waiting pods are not in the allocated resources.
func checkAllocated(t *rapid.T, table *Table, u *Usage) {
	list := u.Allocated()
	for name := range capacity {
		want := table.StayingSums().Requested(name)
		want.Add(table.TerminatingSums().Requested(name))
		for _, uid := range table.WaitingUIDs() {
			pod, _ := table.StayingPod(uid)
			want.Sub(pod.Claims.Quantities[name])
		}
		if got := list[name]; got.Cmp(want) != 0 {
			t.Fatalf("%s: %s is allocated, want %s", name, got.String(), want.String())
		}
	}
}

// TestUsage_Assumed: an assumption is reverted or replaced by one with other content. A pod that would be
// rejected claims nothing.
func TestUsage_Assumed(t *testing.T) {
	u := NewUsage(asked)
	first, second := &v1.Pod{}, &v1.Pod{}
	first.UID, second.UID = "a", "a"
	one := func(pod *v1.Pod, cpu string) Pod {
		p := Pod{UID: pod.UID, Pod: pod}
		p.Claims.Quantities = v1.ResourceList{"cpu": resource.MustParse(cpu)}
		return p
	}
	cpu := func() string { q := u.Allocated()["cpu"]; return q.String() }
	assert.True(t, u.Assume(first))
	u.CountAssumed(one(first, "1"), 0, Admitted)
	assert.Equal(t, "1", cpu())
	assert.False(t, u.Assume(second), "the UID is known")
	assert.Equal(t, "0", cpu(), "it has not been judged")
	u.CountAssumed(one(first, "1"), 0, Admitted)
	assert.Equal(t, "0", cpu(), "a verdict on what it was before")
	u.CountAssumed(one(second, "2"), 0, Waiting)
	assert.Equal(t, "0", cpu(), "what waits has nothing")
	waits := u.SnapshotFor(&Pod{UID: "b"}, 0, true)
	assert.Equal(t, []*v1.Pod{second}, waits.Pods())
	assert.Equal(t, 0, u.SnapshotFor(&Pod{UID: "a"}, 0, false).Staying.Len(), "none waits for itself")
	without := u.SnapshotFor(&Pod{UID: "b"}, 0, true, "a", "a", "unknown")
	assert.Empty(t, without.Pods())
	assert.Zero(t, without.Staying.Len())
	left := without.Staying.Requested("cpu")
	assert.Equal(t, "0", left.String())
	u.Unassume("a")
	assert.Empty(t, u.Assumed())
	assert.True(t, u.Assume(second))
	u.CountAssumed(one(second, "2"), 0, Rejected)
	assert.Equal(t, "0", cpu())
	assert.Equal(t, []types.UID{"a"}, u.Assumed())
}

// TestUsage_WorkerChanges: a pod has a worker change until an Update contains its last one. Many changes of one pod
// use little memory.
func TestUsage_WorkerChanges(t *testing.T) {
	u, table := NewUsage(asked), New(Config{Chain: asked})
	u.AddWorkerChange("a")
	heeded := u.LastWorkerChange()
	u.AddWorkerChange("b")
	u.AddWorkerChange("a")
	assert.Equal(t, 2, u.PendingWorkerChanges())
	u.Update(table, heeded)
	assert.Equal(t, 2, u.PendingWorkerChanges(), "a has a newer note")
	for range 1000 {
		u.AddWorkerChange("a")
		u.AddWorkerChange("b")
	}
	assert.Equal(t, 2, u.PendingWorkerChanges())
	assert.Less(t, len(u.changes), 200)
	u.Update(table, u.LastWorkerChange())
	assert.Zero(t, u.PendingWorkerChanges())
	assert.Empty(t, u.pods)
}

// TestUsage_FirstUpdate: the first Update copies all pods, and a table without a Usage records no changes.
func TestUsage_FirstUpdate(t *testing.T) {
	table, u := New(Config{}), NewUsage(NewChain())
	for range 100 {
		table.SetStaying(podOf("a"))
		table.SetStaying(podOf("b"))
		table.Remove("b")
	}
	table.startTermination("c", table.ensureRecord("c"), Termination{Pod: podOf("c")})
	assert.Empty(t, table.changedPods)
	u.Update(table, 0)
	assert.Equal(t, []string{"a", "c"}, namesOf(u.SnapshotFor(&Pod{}, 0, true).Pods()))
	table.Remove("a")
	u.Update(table, 0)
	assert.Equal(t, []string{"c"}, namesOf(u.SnapshotFor(&Pod{}, 0, true).Pods()))
}
