package prober

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/prober/verdict"
)

// ErrRunning is the answer to a Step beside another one or Run, and to a Run beside a Step.
var ErrRunning = errors.New("prober: running already")

// ErrNotDrained is in the error of a Run that has left checks behind, for which its
// context has ended and which go on all the same.
var ErrNotDrained = errors.New("prober: checks ignore that their context has ended")

// Prober probes the containers of pods. All methods are safe for concurrent
// use, also from within Config.Result, and but for Run and Step none blocks.
// They are legal before Run and after it has ended.
type Prober struct {
	cfg      Config
	guard    *contain.Guard
	executor executor.Executor
	start    time.Time
	wake     executor.Event // of Run's loop
	out      outbox

	mu struct {
		sync.Mutex
		pods       map[types.UID]*pod
		fast, slow schedule              // slow: what ran into its timeout last time
		ran        bool                  // Run was called
		busy       bool                  // Run or Step is at work
		attempts   map[*attempt]struct{} // that are under way
		runSlow    int                   // of these, of slow probes
		// until is when the loop will look again by itself: zero if only when
		// it is woken, or if there is no loop.
		until   time.Time
		waiting bool
		// resumed is when the process was last found to have been stopped.
		resumed time.Time
		// cancels are called by whoever held the lock once he has let go of it.
		cancels []context.CancelFunc
	}
}

// New makes a Prober that knows no pod. It starts nothing. The time at which it
// is called counts as the start of the agent.
func New(cfg Config) (*Prober, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	p := &Prober{guard: cfg.contain(), executor: executor.Over(cfg.Clock), start: cfg.Clock.Now()}
	p.cfg = cfg
	p.wake = p.executor.NewEvent()
	p.mu.pods, p.mu.attempts = make(map[types.UID]*pod), make(map[*attempt]struct{})
	return p, nil
}

// AddPod begins to probe a pod: every container that runs for as long as the
// pod does and has probes. It is called in each sync of the pod, before its
// status is made. A probe that is known stays as it was first added;
// nothing is probed until Observe has reported a container. A pod that
// is being deleted gets its readiness probes only. The pod is kept and
// only read.
func (p *Prober) AddPod(spec *v1.Pod) {
	containers := p.probedContainers(&spec.Spec)
	if len(containers) == 0 {
		return
	}
	now := p.executor.Now()
	p.mu.Lock()
	known := p.podLocked(spec.UID)
	known.heard++
	if known.spec == nil {
		known.spec = spec
	}
	for _, f := range containers {
		known.add(f, p.start, now)
	}
	p.observeLocked(known, known.seen, now)
	if spec.DeletionTimestamp != nil {
		p.stopLocked(known)
	}
	p.leave()
}

// Observe tells what is known of a pod's containers: it is called with every
// status that is stored of the pod, and once for the status that a
// restarted agent finds published. The newest observation counts, also one that
// came before AddPod.
func (p *Prober) Observe(uid types.UID, o Observed) {
	now := p.executor.Now()
	p.mu.Lock()
	known := p.podLocked(uid)
	known.heard++
	known.ip, known.seen = o.PodIP, o.Containers
	p.observeLocked(known, known.seen, now)
	p.leave()
}

// ObserveStatus is Observe of what a status says.
func (p *Prober) ObserveStatus(uid types.UID, status *v1.PodStatus) {
	p.Observe(uid, FromStatus(status))
}

// StopLivenessAndStartup ends these probes of a pod with success: it is called
// when the pod begins to terminate. Checks of theirs that run are
// cancelled. Readiness goes on until RemovePod.
func (p *Prober) StopLivenessAndStartup(uid types.UID) {
	p.mu.Lock()
	if known := p.mu.pods[uid]; known != nil {
		p.stopLocked(known)
	}
	p.leave()
}

// RemovePod forgets a pod: it is called when none of its containers runs any
// more. Checks that run are cancelled, and what they find out is dropped; their
// goroutines end as soon as the Checker returns.
func (p *Prober) RemovePod(uid types.UID) {
	p.mu.Lock()
	p.removeLocked(uid)
	p.leave()
}

// CleanupPods is RemovePod for every pod for which keep answers false. It is
// called by housekeeping; keep is called with no lock held. A pod that is heard
// of meanwhile is kept.
func (p *Prober) CleanupPods(keep func(types.UID) bool) {
	p.mu.Lock()
	uids := p.uidsLocked()
	heard := make([]uint64, len(uids))
	for i, uid := range uids {
		heard[i] = p.mu.pods[uid].heard
	}
	p.mu.Unlock()
	for i, uid := range uids {
		if keep(uid) {
			continue
		}
		p.mu.Lock()
		if known := p.mu.pods[uid]; known != nil && known.heard == heard[i] {
			p.removeLocked(uid)
		}
		p.leave()
	}
}

// Failed reports whether a container has failed its liveness probe, and whether
// its startup probe: reasons to stop it. It is false of what is not known, and
// where there is no such probe.
func (p *Prober) Failed(uid types.UID, containerID string) (liveness, startup bool) {
	return p.Verdict(uid, containerID, verdict.Liveness) == verdict.Failure, p.Verdict(uid, containerID, verdict.Startup) == verdict.Failure
}

// Started reports whether the startup probe of a container has succeeded. It is
// false where there is none.
func (p *Prober) Started(uid types.UID, containerID string) bool {
	return p.Verdict(uid, containerID, verdict.Startup) == verdict.Success
}

// Verdict is what is believed of a container by a probe: Unknown if there is no
// such probe, or nothing is known of a container with this ID.
func (p *Prober) Verdict(uid types.UID, containerID string, kind verdict.Kind) verdict.Value {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.mu.pods[uid]
	if known == nil || kind >= verdict.Kinds {
		return verdict.Unknown
	}
	for _, c := range known.containers {
		if c.state.ID() == containerID {
			return c.state.Value(kind, containerID)
		}
	}
	return verdict.Unknown
}

// Next is when a probe is due next; false if none is. It may lie in the past.
func (p *Prober) Next() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nextLocked()
}

// podLocked is the pod, made if it is not known.
func (p *Prober) podLocked(uid types.UID) *pod {
	known := p.mu.pods[uid]
	if known == nil {
		known = &pod{uid: uid}
		p.mu.pods[uid] = known
	}
	return known
}

// uidsLocked are the UIDs in order: no order of a map may reach the world.
func (p *Prober) uidsLocked() []types.UID { return slices.Sorted(maps.Keys(p.mu.pods)) }

// observeLocked tells the containers of a pod what is known of them.
func (p *Prober) observeLocked(known *pod, seen []Container, now time.Time) {
	for i := range seen {
		c := known.find(seen[i].Name)
		if c == nil {
			continue
		}
		var buf [verdict.Kinds]verdict.Change
		generation := c.state.Generation()
		changes := c.state.Observe(seen[i].facts(), now, buf[:0])
		if c.state.Generation() != generation || !seen[i].Running {
			p.abandonLocked(c, verdict.Liveness, verdict.Readiness, verdict.Startup)
		}
		p.changedLocked(c, changes, "")
	}
}

// stopLocked ends liveness and startup of a pod.
func (p *Prober) stopLocked(known *pod) {
	for _, c := range known.containers {
		var buf [verdict.Kinds]verdict.Change
		p.abandonLocked(c, verdict.Liveness, verdict.Startup)
		p.changedLocked(c, c.state.Stop(buf[:0]), "")
	}
}

// removeLocked forgets a pod.
func (p *Prober) removeLocked(uid types.UID) {
	known := p.mu.pods[uid]
	if known == nil {
		return
	}
	delete(p.mu.pods, uid)
	for _, c := range known.containers {
		p.abandonLocked(c, verdict.Liveness, verdict.Readiness, verdict.Startup)
		for _, probe := range c.probes {
			if probe != nil {
				p.scheduleOf(probe).remove(probe)
			}
		}
	}
}

// abandonLocked cancels what runs for a container and drops what it will say.
func (p *Prober) abandonLocked(c *container, kinds ...verdict.Kind) {
	for _, k := range kinds {
		if probe := c.probes[k]; probe != nil && probe.running != nil {
			p.mu.cancels = append(p.mu.cancels, probe.running.cancel)
			probe.running = nil
			c.state.Abandon(k)
		}
	}
}

// changedLocked is called after everything that happens to a container: results
// go to the outbox, and probes to their places among the due ones.
func (p *Prober) changedLocked(c *container, changes []verdict.Change, message string) {
	for _, ch := range changes {
		p.out.add(Result{
			UID: c.pod.uid, Container: c.name, ContainerID: ch.ID, Kind: ch.Kind,
			Success: ch.Value == verdict.Success, Message: message,
		})
	}
	for k, probe := range c.probes {
		if probe == nil {
			continue
		}
		if due, ok := c.state.Due(verdict.Kind(k)); ok {
			p.scheduleOf(probe).put(probe, due)
		} else {
			p.scheduleOf(probe).remove(probe)
		}
	}
}

// scheduleOf is where a probe stands when it is due. slow does not change while
// it stands there.
func (p *Prober) scheduleOf(probe *probe) *schedule {
	if probe.slow {
		return &p.mu.slow
	}
	return &p.mu.fast
}

// leave lets go of the lock and does what was left for that moment.
func (p *Prober) leave() {
	p.unlock()
	p.out.deliver(p.tell)
}

// unlock is leave without telling results.
func (p *Prober) unlock() {
	next, ok := p.nextLocked()
	wake := ok && p.mu.waiting && (p.mu.until.IsZero() || next.Before(p.mu.until))
	cancels := p.mu.cancels
	p.mu.cancels = nil
	p.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
	if wake {
		p.wake.Signal()
	}
}
