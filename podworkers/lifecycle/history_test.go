package lifecycle_test

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// history records the inputs and outputs of a table, and checks the invariants that span several
// states. CheckInvariants checks the others.
type history struct {
	pods    map[types.UID]*trace
	order   []types.UID            // UIDs in the order of their first update
	lines   map[string][]types.UID // I11: the pods in the name queue of a full name
	tickets []lifecycle.Resolution // I44: by ticket-1, 0 while open
	newest  uint64                 // the last generation
	down    bool

	views   map[types.UID]lifecycle.View // from before the last call that may cancel
	cancels map[types.UID]int            // of the last call
}

// trace is what a caller knows of one UID. The second part is about the present incarnation only.
type trace struct {
	ref    lifecycle.Ref
	met    bool
	known  bool
	woken  bool
	queued bool
	number uint64         // the incarnation
	work   lifecycle.Work // running
	last   lifecycle.Work // the last finished work
	old    lifecycle.Work // the last work of an earlier incarnation
	next   lifecycle.Facts
	queue  uint64 // content of the successor

	life
}

type life struct {
	facts     lifecycle.Facts
	phase     lifecycle.Phase
	config    bool
	taken     bool // work was taken at least once
	stopped   bool // a SyncTerminating* has returned nil, or the pod came lifeless
	cleaned   bool // a SyncTerminatedPod has returned nil
	grace     int64
	content   uint64
	synced    uint64 // content of the last SyncPod that has ended without error
	requested bool
	deleted   bool
	evicted   bool
}

func newHistory() *history {
	return &history{pods: map[types.UID]*trace{}, lines: map[string][]types.UID{}}
}

// resetHistory empties the history and keeps its memory, for the walk.
func (h *history) resetHistory() {
	for _, p := range h.pods {
		*p = trace{}
	}
	clear(h.lines)
	*h = history{pods: h.pods, lines: h.lines, order: h.order[:0], tickets: h.tickets[:0]}
}

func (h *history) tracePod(uid types.UID) *trace {
	p := h.pods[uid]
	if p == nil {
		p = &trace{}
		h.pods[uid] = p
	}
	if !p.met {
		p.met = true
		h.order = append(h.order, uid)
	}
	return p
}

// checkAccepted checks and records the result of an update.
func (h *history) checkAccepted(t *lifecycle.Table, u lifecycle.Update, a lifecycle.Accepted) error {
	p := h.tracePod(u.UID)
	if a.Ticket != 0 {
		h.tickets = append(h.tickets, 0)
		if int(a.Ticket) != len(h.tickets) {
			return fmt.Errorf("ticket %d is number %d", a.Ticket, len(h.tickets))
		}
	}
	if a.Generation != 0 {
		if a.Generation <= h.newest || a.Generation != t.Generation() {
			return fmt.Errorf("generation %d after %d", a.Generation, h.newest)
		}
		h.newest = a.Generation
	}
	switch a.Disposition {
	case lifecycle.Queued:
		p.queue, p.next = a.Generation, u.Facts
	case lifecycle.Current:
		if !p.known {
			number := t.View(u.UID).Incarnation
			if number <= p.number {
				return fmt.Errorf("I13: incarnation %d of %s after %d", number, u.UID, p.number)
			}
			p.known, p.ref = true, a.Ref
			h.beginIncarnation(u.UID, number, u.Facts, u.Subject == lifecycle.ConfigPod)
			p.stopped = u.Facts.TerminalPhase && u.Runtime == lifecycle.RuntimeStopped
		}
		p.content = a.Generation
		if u.Subject == lifecycle.ConfigPod {
			p.config, p.facts.SpecGrace, p.facts.DeletionGrace = true, u.Facts.SpecGrace, u.Facts.DeletionGrace
		}
	}
	return nil
}

func (h *history) beginIncarnation(uid types.UID, number uint64, f lifecycle.Facts, config bool) {
	p := h.tracePod(uid)
	p.number, p.life = number, life{facts: f, config: config}
	if p.last.UID != "" {
		p.old, p.last = p.last, lifecycle.Work{}
	}
	if f.Static {
		h.lines[f.FullName] = append(h.lines[f.FullName], uid)
	}
}

func (h *history) leaveNameQueue(uid types.UID) {
	name := h.tracePod(uid).facts.FullName
	if i := slices.Index(h.lines[name], uid); i >= 0 {
		h.lines[name] = slices.Delete(h.lines[name], i, i+1)
	}
}

// checkNoWork checks that StartPodSync may return no work.
func (h *history) checkNoWork(uid types.UID) error {
	if h.tracePod(uid).woken && !h.down {
		return fmt.Errorf("I8: %s was woken for nothing", uid)
	}
	return nil
}

// checkWork checks work when it begins.
func (h *history) checkWork(w lifecycle.Work) error {
	p := h.tracePod(w.UID)
	ending := w.Kind == lifecycle.SyncTerminatingPod || w.Kind == lifecycle.SyncTerminatingRuntimePod
	switch {
	case h.down:
		return fmt.Errorf("I43: work after shutdown")
	case p.work.UID != "":
		return fmt.Errorf("I1: two pieces of work of %s at once", w.UID)
	case !p.woken:
		return fmt.Errorf("work of %s without a wake-up", w.UID)
	case w.Incarnation != p.number || w.Ref != p.ref:
		return fmt.Errorf("I13: work of %s#%d in life %d", w.UID, w.Incarnation, p.number)
	case w.Kind == lifecycle.SyncPod && p.phase != lifecycle.Syncing:
		return fmt.Errorf("I2: SyncPod of %s which is %s", w.UID, p.phase)
	case ending && p.phase != lifecycle.Terminating:
		return fmt.Errorf("I3: %s of %s which is %s", w.Kind, w.UID, p.phase)
	case w.Kind == lifecycle.SyncTerminatedPod && (p.phase != lifecycle.Terminated || !p.stopped):
		return fmt.Errorf("I4: SyncTerminatedPod of %s which is %s", w.UID, p.phase)
	case (w.Kind == lifecycle.SyncTerminatingRuntimePod) == p.config:
		return fmt.Errorf("I14: %s of %s, config %v", w.Kind, w.UID, p.config)
	case w.NeedStatus == (w.Kind == lifecycle.SyncTerminatingRuntimePod):
		return fmt.Errorf("B-016: %s needs a status: %v", w.Kind, w.NeedStatus)
	case w.Generation != p.content:
		return fmt.Errorf("I8, I10: %s runs content %d, the newest is %d", w.UID, w.Generation, p.content)
	case w.Kind == lifecycle.SyncPod && p.facts.Static && h.lines[p.facts.FullName][0] != w.UID:
		return fmt.Errorf("I11: %s starts before %v", w.UID, h.lines[p.facts.FullName])
	case w.Grace.Set && !ending:
		return fmt.Errorf("I6: %s has a grace", w.Kind)
	}
	if ending {
		if err := p.graceOf(w); err != nil {
			return err
		}
	}
	p.work, p.woken, p.taken = w, false, true
	return nil
}

// graceOf checks that the grace period that the syncer uses never grows.
func (p *trace) graceOf(w lifecycle.Work) error {
	grace := w.Grace
	if !grace.Set {
		grace = p.facts.DeletionGrace
	}
	if !grace.Set {
		grace = p.facts.SpecGrace
	}
	if !grace.Set {
		return nil
	}
	seconds := max(grace.Seconds, 1)
	if p.grace != 0 && seconds > p.grace {
		return fmt.Errorf("I6: grace of %s grows from %d to %d", w.UID, p.grace, seconds)
	}
	p.grace = seconds
	return nil
}

// checkDone checks the return value of Done, before its effects are performed.
func (h *history) checkDone(uid types.UID, w lifecycle.Work, result lifecycle.Result, ok bool, out lifecycle.Effects) error {
	p := h.tracePod(uid)
	if running := p.work.UID != "" && w == p.work; ok != running {
		return fmt.Errorf("I13: Done of %s says %v", uid, ok)
	}
	if !ok {
		if len(out) > 0 {
			return fmt.Errorf("I13: a stale result has effects")
		}
		return nil
	}
	p.last, p.work = p.work, lifecycle.Work{}
	if result.OK() {
		switch w.Kind {
		case lifecycle.SyncPod:
			p.synced = w.Generation
		case lifecycle.SyncTerminatedPod:
			p.cleaned = true
		default:
			p.stopped = true
		}
	}
	wakes, requeues, ends := 0, 0, 0
	for _, e := range out {
		switch {
		case e.UID != uid:
		case e.Op == lifecycle.OpWake:
			wakes++
		case e.Op == lifecycle.OpRequeue:
			requeues++
		case e.Op == lifecycle.OpForget, e.Op == lifecycle.OpPromote, e.Op == lifecycle.OpPhase && e.Phase == lifecycle.Finished:
			ends++
		}
	}
	if ends == 0 && wakes+requeues != 1 || ends > 0 && requeues > 0 {
		return fmt.Errorf("I17: after Done of %s: %d wakes, %d requeues, %d ends", uid, wakes, requeues, ends)
	}
	return nil
}

// performEffects performs the effects of a call as a caller does, and checks each. views are from before a
// call that may cancel.
func (h *history) performEffects(views map[types.UID]lifecycle.View, out lifecycle.Effects) error {
	var cancels map[types.UID]int
	for _, e := range out {
		if e.Op == lifecycle.OpCancel {
			if cancels == nil {
				cancels = map[types.UID]int{}
			}
			cancels[e.UID]++
		}
		if err := h.performEffect(e); err != nil {
			return fmt.Errorf("%w (%s)", err, effectString(e))
		}
	}
	h.cancels, h.views = cancels, views
	return nil
}

func (h *history) performEffect(e lifecycle.Effect) error {
	p := h.tracePod(e.UID)
	if e.Op != lifecycle.OpPromote && (e.Ref != p.ref || e.Incarnation != p.number) {
		return fmt.Errorf("I13: effect for life %d, ref %v", p.number, p.ref)
	}
	switch e.Op {
	case lifecycle.OpWake:
		if p.woken || p.work.UID != "" || p.phase == lifecycle.Finished {
			return fmt.Errorf("woken twice, or while at work, or after the end")
		}
		p.woken = true
	case lifecycle.OpCancel:
		if p.work.UID == "" {
			return fmt.Errorf("I20: nothing is running")
		}
	case lifecycle.OpRequeue:
		if p.woken || p.work.UID != "" || p.phase == lifecycle.Finished {
			return fmt.Errorf("queued while there is work, or after the end")
		}
		p.queued = true
	case lifecycle.OpUnqueue:
		if !p.queued {
			return fmt.Errorf("not in the queue")
		}
		p.queued = false
	case lifecycle.OpResolve:
		return h.checkResolved(p, e)
	case lifecycle.OpPhase:
		return h.checkPhase(p, e)
	case lifecycle.OpPromote:
		if p.queue == 0 || e.Incarnation <= p.number || p.queued || p.work.UID != "" {
			return fmt.Errorf("I13: no successor, or the old life is not over")
		}
		content := p.queue
		h.beginIncarnation(e.UID, e.Incarnation, p.next, true)
		p.content, p.queue = content, 0
	case lifecycle.OpDiscard:
		if p.queue == 0 {
			return fmt.Errorf("no successor")
		}
		p.queue = 0
	case lifecycle.OpForget:
		if p.queued || p.work.UID != "" || p.queue != 0 {
			return fmt.Errorf("I22: forgotten while queued, at work, or succeeded")
		}
		p.known, p.woken = false, false
		h.leaveNameQueue(e.UID)
	}
	return nil
}

func (h *history) checkResolved(p *trace, e lifecycle.Effect) error {
	if e.Ticket == 0 || int(e.Ticket) > len(h.tickets) || h.tickets[e.Ticket-1] != 0 {
		return fmt.Errorf("I44: resolved twice, or never given")
	}
	h.tickets[e.Ticket-1] = e.Resolution
	switch {
	case e.Resolution == lifecycle.Stopped && !p.stopped,
		e.Resolution == lifecycle.AlreadyStopped && p.phase < lifecycle.Terminated,
		e.Resolution == lifecycle.NeverStarted && p.taken,
		e.Resolution == lifecycle.Abandoned && !h.down:
		return fmt.Errorf("I44: it is not so")
	}
	return nil
}

func (h *history) checkPhase(p *trace, e lifecycle.Effect) error {
	if e.Phase <= p.phase {
		return fmt.Errorf("I3: from %s", p.phase)
	}
	if e.Phase == lifecycle.Terminated && !p.stopped {
		return fmt.Errorf("I4: nothing has stopped it")
	}
	if e.Phase == lifecycle.Finished && p.taken && !p.cleaned {
		return fmt.Errorf("I3: nothing has cleaned it")
	}
	p.phase = e.Phase
	if e.Phase >= lifecycle.Terminated {
		h.leaveNameQueue(e.UID)
	}
	if e.Phase == lifecycle.Finished {
		p.woken = false
	}
	return nil
}

// compareTable compares the table with the history after each step.
func (h *history) compareTable(t *lifecycle.Table) error {
	for _, uid := range h.order {
		p, v := h.pods[uid], t.View(uid)
		if v.Known != p.known || v.Working != (p.work.UID != "") {
			return fmt.Errorf("%s: known %v, working %v", uid, v.Known, v.Working)
		}
		if err := h.checkCancels(uid, v); err != nil {
			return err
		}
		if !p.known {
			continue
		}
		if v.Phase() != p.phase || v.Incarnation != p.number {
			return fmt.Errorf("I3: %s#%d is %s, was said to be %s", uid, v.Incarnation, v.Phase(), p.phase)
		}
		if p.requested && !v.IsPodTerminationRequested() || p.deleted && !v.Deleted || p.evicted && !v.Evicted {
			return fmt.Errorf("I9: %s has lost a fact", uid)
		}
		p.requested, p.deleted, p.evicted = v.IsPodTerminationRequested(), v.Deleted, v.Evicted
	}
	for name, line := range h.lines {
		if len(line) == 0 {
			continue
		}
		if head := h.pods[line[0]]; !head.taken && !head.woken && !h.down {
			return fmt.Errorf("I12: %s is first in line for %s and sleeps", line[0], name)
		}
	}
	return nil
}

// checkCancels checks I20 and I7.
func (h *history) checkCancels(uid types.UID, after lifecycle.View) error {
	was, ok := h.views[uid]
	want := 0
	if ok && was.Working && was.Incarnation == after.Incarnation {
		asked := !was.IsPodTerminationRequested() && after.IsPodTerminationRequested()
		shorter := was.Grace.Set && after.Grace.Seconds < was.Grace.Seconds
		if asked || shorter {
			want = 1
		}
	}
	if h.cancels[uid] != want {
		return fmt.Errorf("I20: %d cancels of %s, want %d", h.cancels[uid], uid, want)
	}
	return nil
}

// needsWork reports whether the pod has not reached its final stage.
func (p *trace) needsWork() bool {
	return p.phase == lifecycle.Terminating || p.phase == lifecycle.Terminated ||
		p.phase == lifecycle.Syncing && p.taken && p.synced != p.content
}

// atRest checks a table without work.
func (h *history) atRest(t *lifecycle.Table) error {
	for _, uid := range h.order {
		p := h.pods[uid]
		switch {
		case !p.known:
		case p.needsWork():
			return fmt.Errorf("I8, I15: %s rests in %s, has synced content %d of %d", uid, p.phase, p.synced, p.content)
		case p.phase == lifecycle.Syncing && p.taken && !p.queued:
			return fmt.Errorf("I17: %s is not looked at again", uid)
		}
	}
	for i, o := range h.tickets {
		if o == 0 {
			return fmt.Errorf("I44: ticket %d is open", i+1)
		}
	}
	return nil
}
