package lifecycle_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// harness is a table with a caller that keeps the contract of doc.go, and a history that checks
// every step. Stories, walks and fuzz tests use it.
//
// Its commands, one per line, with arguments in any order:
//
//	create|update|sync|kill POD [static=NAME] [source=O] [grace=N] [deletion=N] [deleted] [terminal] [stopped]
//	                            [override=N] [evict] [status-func]      a config pod
//	orphan POD [asof=mark|0] [override=N] [type=T]                 a runtime pod; a kill, or type T
//	start POD [stable]   done POD RESULT [stable] [late]   due POD
//	                                             stable: the result of the syncer's IsStable
//	mark                                         store Generation for the next two commands
//	known [POD...] [asof=mark] [exclude=O] [removed=POD] [partial]
//	silent POD      answered POD                 the runtime did not answer, or answered
//	show POD        changed POD                  the runtime shows a change; EndBackoff
//	view POD        owner NAME        shutdown        drain
type harness struct {
	t     *lifecycle.Table
	out   lifecycle.Effects
	mark  uint64
	h     *history
	quick bool // skips the checks of whole states
	mute  bool // returns no transcript
}

func newHarness() *harness { return &harness{t: lifecycle.New(), h: newHistory()} }

// resetHistory starts another history.
func (w *harness) resetHistory() {
	w.t, w.mark = lifecycle.New(), 0
	w.h.resetHistory()
}

// command is one parsed line.
type command struct {
	verb  string
	words []string
	args  map[string]string
}

func parseCommand(line string) command {
	fields := strings.Fields(line)
	c := command{verb: fields[0], args: map[string]string{}}
	for _, f := range fields[1:] {
		if k, v, ok := strings.Cut(f, "="); ok {
			c.args[k] = v
		} else {
			c.words = append(c.words, f)
		}
	}
	return c
}

func (c command) uid() types.UID { return types.UID(c.words[0]) }

func (c command) hasWord(word string) bool {
	for _, w := range c.words {
		if w == word {
			return true
		}
	}
	return false
}

func (c command) graceArgument(key string) lifecycle.Grace {
	s, ok := c.args[key]
	if !ok {
		return lifecycle.Grace{}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return lifecycle.Seconds(n)
}

var updateTypes = map[string]lifecycle.SyncPodType{
	"create": lifecycle.SyncPodCreate, "update": lifecycle.SyncPodUpdate, "sync": lifecycle.SyncPodSync, "kill": lifecycle.SyncPodKill, "show": lifecycle.SyncPodSync,
}

func (c command) newUpdate(mark, now uint64) lifecycle.Update {
	u := lifecycle.Update{
		UID: c.uid(), Type: updateTypes[c.verb], Subject: lifecycle.ConfigPod, Observation: c.verb == "show", AsOf: now,
		Kill: lifecycle.KillOptions{Evict: c.hasWord("evict"), PodStatusFunc: c.hasWord("status-func"), Grace: c.graceArgument("override")},
		Facts: lifecycle.Facts{
			FullName: c.args["static"], Static: c.args["static"] != "", Source: c.args["source"],
			Deleted: c.hasWord("deleted"), TerminalPhase: c.hasWord("terminal"),
			SpecGrace: c.graceArgument("grace"), DeletionGrace: c.graceArgument("deletion"),
		},
	}
	if c.hasWord("stopped") {
		u.Runtime = lifecycle.RuntimeStopped
	}
	if c.verb == "orphan" {
		u.Subject, u.Type, u.Facts = lifecycle.RuntimePod, lifecycle.SyncPodKill, lifecycle.Facts{}
		if t, ok := c.args["type"]; ok {
			u.Type = updateTypes[t]
		}
	}
	switch c.args["asof"] {
	case "mark":
		u.AsOf = mark
	case "0":
		u.AsOf = 0
	}
	return u
}

var results = func() map[string]lifecycle.Result {
	m := map[string]lifecycle.Result{}
	for r := lifecycle.Succeeded; r <= lifecycle.FailedRuntimeUnavailable; r++ {
		m[r.String()] = r
	}
	return m
}()

// runLine runs one command line and returns its transcript: the result in the first line, an effect in
// each further line. An error is a violated invariant.
func (w *harness) runLine(line string) (string, error) { return w.runCommand(parseCommand(line)) }

func (w *harness) runCommand(c command) (string, error) {
	w.out = w.out[:0]
	w.h.views, w.h.cancels = nil, nil
	answer, err := w.dispatchCommand(c)
	if w.quick {
		return answer, err
	}
	if !w.mute {
		for _, e := range w.out {
			answer += "\n  " + effectString(e)
		}
	}
	if err == nil {
		err = w.h.compareTable(w.t)
	}
	if err == nil {
		err = w.t.CheckInvariants()
	}
	return answer, err
}

// viewsBefore returns the views that I20 compares.
func (w *harness) viewsBefore(uids ...types.UID) map[types.UID]lifecycle.View {
	if w.quick {
		return nil
	}
	m := map[types.UID]lifecycle.View{}
	for _, uid := range uids {
		m[uid] = w.t.View(uid)
	}
	return m
}

func (w *harness) dispatchCommand(c command) (string, error) {
	switch c.verb {
	case "create", "update", "sync", "show", "kill", "orphan":
		return w.acceptUpdate(c)
	case "start":
		return w.startWork(c)
	case "done":
		return w.finishWork(c)
	case "due":
		w.h.tracePod(c.uid()).queued = false
		w.t.Due(c.uid(), &w.out)
		return "", w.h.performEffects(nil, w.out)
	case "silent":
		w.t.RuntimeSilent(c.uid())
		return "", nil
	case "answered":
		w.t.RuntimeAnswered(c.uid(), &w.out)
		return "", w.h.performEffects(nil, w.out)
	case "changed":
		if p := w.h.tracePod(c.uid()); p.ref != (lifecycle.Ref{}) {
			w.t.EndBackoff(p.ref, p.number, &w.out)
		}
		return "", w.h.performEffects(nil, w.out)
	case "mark":
		w.mark = w.t.Generation()
		return "", nil
	case "known":
		return w.syncKnown(c)
	case "view":
		return viewString(w.t.View(c.uid())), nil
	case "owner":
		return viewString(w.t.Owner(c.words[0])), nil
	case "shutdown":
		w.t.Shutdown(&w.out)
		w.h.down = true
		return "", w.h.performEffects(nil, w.out)
	case "drain":
		return w.drainWork()
	}
	return "unknown command", nil
}

func (w *harness) acceptUpdate(c command) (string, error) {
	u := c.newUpdate(w.mark, w.t.Generation())
	before := w.viewsBefore(u.UID)
	call := w.t.Update
	if u.Type == lifecycle.SyncPodKill {
		call = w.t.Kill
	}
	a, err := call(u, &w.out)
	if err != nil {
		if len(w.out) > 0 {
			return "", fmt.Errorf("a refused update has effects")
		}
		return "error: " + err.Error(), nil
	}
	answer := ""
	if !w.mute {
		answer = acceptedString(a)
	}
	if err := w.h.checkAccepted(w.t, u, a); err != nil {
		return answer, err
	}
	return answer, w.h.performEffects(before, w.out)
}

func acceptedString(a lifecycle.Accepted) string {
	answer := a.Disposition.String()
	if a.Generation != 0 {
		answer += fmt.Sprintf(" content=%d", a.Generation)
	}
	if a.Ticket != 0 {
		answer += fmt.Sprintf(" ticket=%d", a.Ticket)
	}
	return answer
}

func (w *harness) takeWork(uid types.UID) (string, error) {
	ref, known := w.t.Find(uid)
	if !known {
		ref = w.h.tracePod(uid).ref // stale, or never valid
	}
	work, ok := w.t.StartPodSync(ref)
	if !ok {
		return "nothing", w.h.checkNoWork(uid)
	}
	if w.mute {
		return "", w.h.checkWork(work)
	}
	return workString(work), w.h.checkWork(work)
}

// startWork takes work as the workers do. The workers skip the call of a stable pod.
func (w *harness) startWork(c command) (string, error) {
	answer, err := w.takeWork(c.uid())
	if p := w.h.tracePod(c.uid()); err != nil || !c.hasWord("stable") || !p.work.ShouldCheckStable(0) {
		return answer, err
	}
	_, err = w.finishWork(command{words: []string{c.words[0], lifecycle.Stable.String()}})
	return answer + ", left out", err
}

func (w *harness) finishWork(c command) (string, error) {
	p := w.h.tracePod(c.uid())
	work := p.work
	if c.hasWord("late") {
		work = p.last
		work.Incarnation--
		if p.old.UID != "" {
			work = p.old
		}
	}
	result, answer := results[c.words[1]], ""
	switch {
	case !slices.Contains(c.words[2:], "stable"):
	case work.ShouldCheckStable(result):
		result = lifecycle.Stable
	default:
		answer = "not asked"
	}
	ok := w.t.Done(work.Ref, work.Incarnation, result, &w.out)
	if !ok {
		answer = "stale"
	}
	if err := w.h.checkDone(c.uid(), work, result, ok, w.out); err != nil {
		return answer, err
	}
	return answer, w.h.performEffects(nil, w.out)
}

func (w *harness) syncKnown(c command) (string, error) {
	k := lifecycle.DesiredSnapshot{Generation: w.t.Generation(), AllSources: !c.hasWord("partial")}
	for _, p := range c.words {
		if p != "partial" {
			k.Desired = append(k.Desired, types.UID(p))
		}
	}
	if s, ok := c.args["exclude"]; ok {
		k.ExcludedSources = []string{s}
	}
	if uid, ok := c.args["removed"]; ok {
		k.Removed = []types.UID{types.UID(uid)}
	}
	if c.args["asof"] == "mark" {
		k.Generation = w.mark
	}
	before := w.viewsBefore(w.h.order...)
	states := w.t.SyncKnown(k, nil, &w.out)
	answer := ""
	if !w.mute {
		answer = statesString(states)
	}
	if len(states) != w.t.Len() {
		return answer, fmt.Errorf("SyncKnown returned %d of %d pods", len(states), w.t.Len())
	}
	return answer, w.h.performEffects(before, w.out)
}

func statesString(states []lifecycle.PodState) string {
	var list []string
	for _, s := range states {
		text := string(s.UID) + ":" + s.Phase.String()
		for _, f := range []struct {
			on   bool
			name string
		}{{s.Orphan, "orphan"}, {!s.HasConfig, "runtime-only"}, {s.Static, "static"}} {
			if f.on {
				text += "," + f.name
			}
		}
		list = append(list, text)
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}

// drainWork lets every worker finish its work without error, and makes due entries of the work queue
// due, until no work is left. Then it checks the idle table.
func (w *harness) drainWork() (string, error) {
	var all lifecycle.Effects
	for round := 0; ; round++ {
		if round > 100 {
			return "", fmt.Errorf("I15: the table does not come to rest")
		}
		busy := false
		for _, uid := range w.h.order {
			p := w.h.tracePod(uid)
			if p.queued && p.needsWork() {
				w.out = w.out[:0]
				if _, err := w.dispatchCommand(parseCommand("due " + string(uid))); err != nil {
					return "", err
				}
				all = append(all, w.out...)
			}
			if p.woken {
				if _, err := w.takeWork(uid); err != nil {
					return "", err
				}
			}
			if p.work.UID != "" {
				busy = true
				w.out = w.out[:0]
				if _, err := w.finishWork(command{words: []string{string(uid), "succeeded"}}); err != nil {
					return "", err
				}
				all = append(all, w.out...)
			}
		}
		if !busy {
			break
		}
	}
	w.out = all
	return "", w.h.atRest(w.t)
}

func workString(w lifecycle.Work) string {
	s := fmt.Sprintf("%s %s#%d %s content=%d", w.Kind, w.UID, w.Incarnation, w.Type, w.Generation)
	if w.Grace.Set {
		s += " grace=" + w.Grace.String()
	}
	if w.Stable {
		s += " stable"
	}
	if w.PodStatusFunc != 0 {
		s += fmt.Sprintf(" status-func=%d", w.PodStatusFunc)
	}
	if w.Evicted {
		s += " evicted"
	}
	if !w.NeedStatus {
		s += " no-status"
	}
	return s
}

func effectString(e lifecycle.Effect) string {
	s := fmt.Sprintf("%s %s#%d", e.Op, e.UID, e.Incarnation)
	switch e.Op {
	case lifecycle.OpRequeue:
		s += " " + e.Class.String()
	case lifecycle.OpPhase:
		s += " " + e.Phase.String()
	case lifecycle.OpResolve:
		s += fmt.Sprintf(" ticket=%d %s", e.Ticket, e.Resolution)
	}
	return s
}

// predicates are the query methods of core 1.2, in its order.
var predicates = []struct {
	name string
	ask  func(lifecycle.View) bool
}{
	{"KnownTerminated", lifecycle.View.IsPodKnownTerminated},
	{"CouldHaveRunning", lifecycle.View.CouldHaveRunningContainers},
	{"BeFinished", lifecycle.View.ShouldPodBeFinished},
	{"TerminationRequested", lifecycle.View.IsPodTerminationRequested},
	{"ContainersBeTerminating", lifecycle.View.ShouldPodContainersBeTerminating},
	{"RuntimeBeRemoved", lifecycle.View.ShouldPodRuntimeBeRemoved},
	{"ContentBeRemoved", lifecycle.View.ShouldPodContentBeRemoved},
	{"MirrorTerminating", lifecycle.View.IsPodForMirrorPodTerminating},
}

func viewString(v lifecycle.View) string {
	s := "unknown"
	if v.Known {
		s = fmt.Sprintf("#%d %s", v.Incarnation, v.Phase())
		for _, f := range []struct {
			on   bool
			name string
		}{
			{!v.Started, "unstarted"}, {v.Working, "working"}, {v.Deleted, "deleted"}, {v.Evicted, "evicted"},
			{!v.HasConfig, "runtime-only"}, {v.RestartRequested, "restart-requested"}, {v.RestartEvicted, "restart-evicted"}, {v.AwaitsFullName, "awaits-name"},
		} {
			if f.on {
				s += " " + f.name
			}
		}
		if v.Grace.Set {
			s += " grace=" + v.Grace.String()
		}
	}
	s += ":"
	for _, p := range predicates {
		if p.ask(v) {
			s += " " + p.name
		}
	}
	return s
}
