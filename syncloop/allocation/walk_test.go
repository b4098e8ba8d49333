package allocation

import (
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/longtest"
)

var walkDepth = flag.Int("allocation.depth", 0, "steps of the exhaustive walk; 0: as many as PODKEEL_LONG says")

// walkInputs returns all inputs of a table with two pods. The node has two cpus. A rule checks
// them, and a handler is asked.
func walkInputs() []string {
	var list []string
	for _, uid := range []string{"a", "b"} {
		for _, s := range []string{
			"add P 1", "add P 2 limited", "stay P 1", "leave P", "reject P", "pardon P",
			"runs P", "ends P", "terminated P", "gone P", "orphan P",
		} {
			list = append(list, strings.ReplaceAll(s, "P", uid))
		}
	}
	return append(list, "answer yes", "answer no", "answer pending", "answer fault", "answer old", "recheck", "review", "later")
}

// walker is a table with the state that its caller needs.
type walker struct {
	table *Table
	full  bool
	now   time.Time
	ask   Effect // the last Ask; its Kind is 0 if there was none
	asks  uint64
	// effects are the effects of the last input.
	effects []Effect
}

func newWalker(full bool) *walker {
	return &walker{table: New(Config{Chain: walked, WaitWhenFull: full}), full: full, now: began}
}

// walked is a chain with a rule for two cpus and a handler.
var walked = NewChain(Resources(v1.ResourceList{"cpu": resource.MustParse("2")}), nil)

// walkPods are the pods of a walk and of TestAsks, by UID and cpus.
var walkPods = map[string]Pod{}

func init() {
	for _, uid := range []string{"a", "b", "c"} {
		for _, cpu := range []string{"0", "1", "2"} {
			p := &v1.Pod{}
			p.UID, p.Namespace, p.Name = types.UID(uid), "ns", uid
			p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)}}}}
			walkPods[uid+" "+cpu] = walked.Pod(p, "", false)
		}
	}
}

// applyInput applies one input to the table and checks all invariants.
func (w *walker) applyInput(line string) error {
	words := strings.Fields(line)
	t, uid := w.table, types.UID("")
	if len(words) > 1 {
		uid = types.UID(words[1])
	}
	observe := func(o Observed) {
		t.Observe(uid, o, w.now, func(ClaimsFrom) Pod { return walkPods[string(uid)+" 1"] })
	}
	worker := Worker{HasWorker: true, Incarnation: 1, HasConfig: true, Started: true}
	var effects []Effect
	switch words[0] {
	case "add":
		effects = t.Add(walkPods[words[1]+" "+words[2]], len(words) == 3, w.now, nil)
	case "stay":
		t.SetStaying(walkPods[words[1]+" "+words[2]])
	case "leave":
		t.Remove(uid)
	case "reject":
		t.Reject(uid)
	case "pardon":
		t.ClearRejection(uid)
	case "runs":
		observe(Observed{Worker: worker, Given: true})
	case "ends":
		worker.TerminationRequested = true
		observe(Observed{Worker: worker, Given: true, Seen: true, Grace: 10 * time.Second})
	case "terminated":
		worker.TerminationRequested, worker.Terminated = true, true
		observe(Observed{Worker: worker, Given: true})
	case "gone":
		observe(Observed{})
		t.ForgetIncarnation(uid)
	case "orphan":
		observe(Observed{Seen: true, Grace: 30 * time.Second})
	case "answer":
		return w.answerLast(words[1])
	case "recheck":
		t.Recheck()
	case "review":
		effects = t.Review(w.now, nil)
	case "later":
		w.now = w.now.Add(time.Minute)
	}
	return w.storeEffects(effects)
}

// answerLast answers the last Ask.
func (w *walker) answerLast(what string) error {
	if w.ask.Kind != Ask {
		return nil
	}
	id, revision := w.ask.ID, w.ask.Revision
	a := map[string]Answer{"yes": {Admit: true}, "no": {Reason: "No"}, "pending": {Reason: "Pending", Pending: true}, "fault": {Fault: true}}[what]
	outdated := w.table.open == nil || w.table.open.id != id || w.table.revision != revision
	if what == "old" {
		before := w.formatState()
		if effects := w.table.Answer(id-1, revision, Answer{Admit: true}, w.now, nil); w.table.open != nil && w.table.open.id == id && len(effects) > 0 {
			return fmt.Errorf("an answer to a question that is not open has an effect: %v", effects)
		} else if err := w.storeEffects(effects); err != nil {
			return err
		}
		if !outdated && w.formatState() != before {
			return fmt.Errorf("an answer to a question that is not open counts")
		}
		return nil
	}
	effects := w.table.Answer(id, revision, a, w.now, nil)
	if outdated {
		for _, e := range effects {
			if e.Kind == Admit && w.ask.UID == e.UID {
				return fmt.Errorf("an outdated answer admits %s", e.UID)
			}
		}
	}
	return w.storeEffects(effects)
}

// storeEffects stores the effects and checks all invariants.
func (w *walker) storeEffects(effects []Effect) error {
	t := w.table
	w.effects = append(w.effects, effects...)
	for i, e := range effects {
		switch newest, _ := t.State(e.UID); {
		case e.Kind == Ask:
			if i != len(effects)-1 {
				return fmt.Errorf("the Ask about %s is not the last effect", e.UID)
			}
			if e.ID <= w.asks || e.Revision != t.revision {
				return fmt.Errorf("question %d about revision %d", e.ID, e.Revision)
			}
			if err := w.checkSnapshot(e); err != nil {
				return err
			}
			w.ask, w.asks = e, e.ID
		case newest != map[EffectKind]State{Admit: Admitted, Wait: Waiting, Reject: Rejected, Postpone: Unknown}[e.Kind]:
			return fmt.Errorf("%s of %s, which is %s", e.Kind, e.UID, newest)
		case e.Kind == Admit:
			if err := w.checkFit(e.UID); err != nil {
				return err
			}
		}
	}
	return w.checkInvariants()
}

// checkSnapshot checks that the pods of a question are the admitted pods and the waiting pods before the pod.
func (w *walker) checkSnapshot(e Effect) error {
	if w.table.open.step == OnEmptyNode {
		return nil
	}
	x := w.table.open.w
	place := slices.Index(w.table.waiting, x)
	if place < 0 {
		place = w.table.waitPosition(x)
	}
	n, cpu := 0, resource.Quantity{}
	for uid, r := range w.table.records {
		if state := r.newestIncarnation().state; state == Admitted || state == Waiting && slices.Index(w.table.waiting, r.newestIncarnation().wait) < place {
			n++
			cpu.Add(w.table.staying.get(uid).Claims.Quantities["cpu"])
		}
	}
	if got := e.Snapshot.Staying.Requested("cpu"); e.Snapshot.Staying.Len() != n || got.Cmp(cpu) != 0 {
		return fmt.Errorf("the question about %s is beside %d pods with %s cpus, not %d with %s", e.UID, e.Snapshot.Staying.Len(), got.String(), n, cpu.String())
	}
	return nil
}

// checkFit checks that the node has the cpus of an admitted pod.
func (w *walker) checkFit(uid types.UID) error {
	pod, _ := w.table.StayingPod(uid)
	used := pod.Claims.Quantities["cpu"].DeepCopy()
	for other, r := range w.table.records {
		if other == uid {
			continue
		}
		if r.current.state == Terminating {
			used.Add(r.current.termination.Pod.Claims.Quantities["cpu"])
		}
		if r.newestIncarnation().state == Admitted {
			used.Add(w.table.staying.get(other).Claims.Quantities["cpu"])
		}
	}
	if used.Cmp(resource.MustParse("2")) > 0 {
		return fmt.Errorf("%s is admitted, and %s cpus are in use", uid, used.String())
	}
	return nil
}

// checkInvariants checks the invariants of a table.
func (w *walker) checkInvariants() error {
	t := w.table
	limited := 0
	for uid, r := range t.records {
		newest := r.newestIncarnation()
		if (r.successor.state == Terminating) || (r.current.state != Terminating && r.successor.state != Unknown) {
			return fmt.Errorf("%s is %s, and its successor %s", uid, r.current.state, r.successor.state)
		}
		if r.current.state == Unknown && r.activeIncarnation == 0 {
			return fmt.Errorf("the record of %s says nothing", uid)
		}
		if (t.terminating.get(uid) != nil) != (r.current.state == Terminating) {
			return fmt.Errorf("%s is %s, and the ledger of pods that end has it: %t", uid, r.current.state, t.terminating.get(uid) != nil)
		}
		if (t.staying.get(uid) != nil) != (newest.state == Admitted || newest.state == Waiting) {
			return fmt.Errorf("%s is %s, and the ledger of pods that stay has it: %t", uid, newest.state, t.staying.get(uid) != nil)
		}
		if slices.Contains(t.waiting, newest.wait) != (newest.state == Waiting) || slices.Contains(t.arrivals, newest.wait) != (newest.state == Arriving) {
			return fmt.Errorf("%s is %s, and the lists say otherwise", uid, newest.state)
		}
		if newest.state == Waiting && !newest.wait.patient {
			limited++
		}
	}
	switch {
	case t.staying.len()+t.terminating.len() > 2*len(t.records):
		return fmt.Errorf("a ledger has pods without a record")
	case limited != t.impatient:
		return fmt.Errorf("%d pods are limited, not %d", limited, t.impatient)
	case t.open != nil && !t.open.awaitsAnswer:
		return fmt.Errorf("a question is open, and nothing is asked")
	case len(t.arrivals) > 0 && t.open == nil && w.asks == 0:
		return fmt.Errorf("a pod arrives, and nothing is asked")
	}
	for _, l := range []*ledger{&t.staying, &t.terminating} {
		var want resource.Quantity
		for _, e := range l.items {
			want.Add(e.Claims.Quantities["cpu"])
		}
		if got := l.requestedQuantity(0, "cpu"); got.Cmp(want) != 0 {
			return fmt.Errorf("the ledger has %s cpus, not %s", got.String(), want.String())
		}
	}
	return nil
}

// formatState returns all state of the table that affects later steps.
func (w *walker) formatState() string {
	var b strings.Builder
	t := w.table
	fmt.Fprint(&b, t.changed, t.recheckAll, w.now.Sub(began), t.review != nil)
	if t.review != nil {
		fmt.Fprint(&b, t.review.index, t.review.stale, t.review.revision == t.revision)
	}
	if t.open != nil {
		fmt.Fprint(&b, " open ", t.open.w.pod.UID, t.open.step, t.open.chainIndex, t.open.removed, t.open.candidateIndex, t.open.revision == t.revision, w.ask.ID == t.open.id)
	}
	for _, uid := range []types.UID{"a", "b"} {
		r := t.records[uid]
		if r == nil {
			continue
		}
		fmt.Fprint(&b, " ", uid, r.current.state, r.successor.state, r.activeIncarnation)
		if end := r.current.termination; end != nil {
			fmt.Fprint(&b, end.Since.Sub(began), end.Until.Sub(began), end.hadWorker, end.incarnation)
		}
		for _, l := range []*ledger{&t.staying, &t.terminating} {
			if e := l.get(uid); e != nil {
				q := e.Claims.Quantities["cpu"]
				fmt.Fprint(&b, " ", q.Value())
			}
		}
	}
	for _, list := range [][]*waiter{t.arrivals, t.waiting} {
		b.WriteString(" |")
		for _, x := range list {
			q := x.pod.Claims.Quantities["cpu"]
			fmt.Fprint(&b, x.pod.UID, q.Value(), x.patient, x.claimsChanged, x.faults, x.answer.Reason, x.answer.WaitsWhenFull, x.answer.Pending, x.answer.Shortage.resource, x.blockers, x.until.Sub(began))
		}
	}
	return b.String()
}

// TestWalk gives every input in every order, up to a depth, to two tables: in one, pods wait when the node is full; in
// the other they do not. It continues only once from histories that lead to the same state. It checks all invariants
// after every step. It also lets every new state come to rest, and empties it.
func TestWalk(t *testing.T) {
	depth := *walkDepth
	switch {
	case depth != 0:
	case testing.Short():
		depth = 3
	default:
		depth = longtest.Count(4, 6)
	}
	all := walkInputs()
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, full := range []bool{false, true} {
		seen := map[string]struct{}{}
		level, steps := [][]uint8{nil}, 0
		for d := 1; d <= depth; d++ {
			var next [][]uint8
			for _, path := range level {
				for i, line := range all {
					if len(path) == 0 && strings.Contains(line, " b") {
						continue // the mirror image of a history that begins with a
					}
					path := append(path[:len(path):len(path)], uint8(i))
					w := newWalker(full)
					for _, i := range path[:len(path)-1] {
						_ = w.applyInput(all[i])
					}
					steps++
					if err := w.applyInput(line); err != nil {
						t.Fatalf("%v\n%s", err, formatPath(all, path))
					}
					print := w.formatState()
					if _, old := seen[print]; old {
						continue
					}
					seen[print] = struct{}{}
					next = append(next, path)
					if err := w.runUntilEmpty(); err != nil {
						t.Fatalf("%v\n%s\nand rest", err, formatPath(all, path))
					}
				}
			}
			level = next
			t.Logf("full %t, depth %d: %d new states, %d in all, %d steps", full, d, len(next), len(seen), steps)
		}
	}
}

// runUntilEmpty answers all questions and then removes all pods. The rules admit no pod that has to wait because of
// them. After a recheck, if the handler admits all pods, no pod waits that the rules admit.
func (w *walker) runUntilEmpty() error {
	for _, recheck := range []bool{false, true} {
		if recheck {
			w.table.Recheck()
		}
		if err := w.answerWithYes(); err != nil {
			return err
		}
		if w.table.NeedsReview() || len(w.table.arrivals) > 0 {
			return fmt.Errorf("something is open at rest")
		}
		for i, waiting := range w.table.waiting {
			d := w.table.openDecision(waiting, w.table.admittedAndWaitersBefore(i))
			if _, done := w.table.askChain(d); !done && d.step == BesideAllPods && (recheck || strings.HasPrefix(waiting.answer.Reason, "OutOf")) {
				return fmt.Errorf("%s waits at rest, and its rules admit it", waiting.pod.UID)
			}
		}
	}
	for _, line := range []string{"leave a", "leave b", "pardon a", "pardon b", "gone a", "gone b"} {
		if err := w.applyInput(line); err != nil {
			return err
		}
	}
	if err := w.answerWithYes(); err != nil {
		return err
	}
	if w.table.Len() != 0 || len(w.table.waiting) != 0 || w.table.open != nil || w.table.staying.len()+w.table.terminating.len() != 0 {
		return fmt.Errorf("%d records are left", w.table.Len())
	}
	return nil
}

// answerWithYes reviews the table and answers all questions with yes.
func (w *walker) answerWithYes() error {
	for range 100 {
		if err := w.applyInput("review"); err != nil {
			return err
		}
		if w.table.open == nil {
			return nil
		}
		if err := w.applyInput("answer yes"); err != nil {
			return err
		}
	}
	return fmt.Errorf("the questions do not end")
}

// formatPath returns a path as the text of a story.
func formatPath(all []string, path []uint8) string {
	var lines []string
	for _, i := range path {
		lines = append(lines, all[i])
	}
	return strings.Join(lines, "\n")
}
