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

// ErrRunning is returned by a Step that runs at the same time as another Step or Run, and by a Run
// at the same time as a Step.
var ErrRunning = errors.New("prober: running already")

// ErrNotDrained is wrapped by the error of a Run that returned although checks still run: they
// ignore the end of their context.
var ErrNotDrained = errors.New("prober: checks ignore that their context has ended")

// Prober probes the containers of pods. All methods may be called concurrently, also from
// Config.Result, and before and after Run. Only Run and Step block.
type Prober struct {
	cfg      Config
	guard    *contain.Guard
	executor executor.Executor
	start    time.Time
	wake     executor.Event // wakes the loop of Run
	results  resultQueue

	mu struct {
		sync.Mutex
		pods       map[types.UID]*pod
		fast, slow schedule              // due probes; slow: the last attempt reached its timeout
		ran        bool                  // Run was called
		busy       bool                  // Run or Step is running
		attempts   map[*attempt]struct{} // the running attempts
		runSlow    int                   // how many of attempts are of slow probes
		// until is the planned wake-up of the loop. It is zero if the loop waits for a signal or does
		// not run.
		until   time.Time
		waiting bool
		// resumed is when the last suspension of the process was detected.
		resumed time.Time
		// cancels are called after the lock is released.
		cancels []context.CancelFunc
	}
}

// New returns a Prober without pods. It starts no goroutine. The time of the call counts as the
// start of the agent.
func New(cfg Config) (*Prober, error) {
	if err := cfg.setDefaultsAndValidate(); err != nil {
		return nil, err
	}
	p := &Prober{guard: cfg.wrapForPanics(), executor: executor.Over(cfg.Clock), start: cfg.Clock.Now()}
	p.cfg = cfg
	p.wake = p.executor.NewEvent()
	p.mu.pods, p.mu.attempts = make(map[types.UID]*pod), make(map[*attempt]struct{})
	return p, nil
}

// AddPod adds the probes of a pod. It is called in each sync of the pod, before its status is made.
// A probe keeps the settings with which it was first added. A container is probed once Observe has
// reported it. For a pod that is being deleted only readiness probes run. The Prober keeps the pod
// and only reads it.
func (p *Prober) AddPod(spec *v1.Pod) {
	containers := p.newProbedContainers(&spec.Spec)
	if len(containers) == 0 {
		return
	}
	now := p.executor.Now()
	p.mu.Lock()
	known := p.getOrAddPodLocked(spec.UID)
	known.updates++
	if known.spec == nil {
		known.spec = spec
	}
	for _, f := range containers {
		p.addMissingProbesLocked(known, f, now)
	}
	p.applyObservationLocked(known, known.observed, now)
	if spec.DeletionTimestamp != nil {
		p.stopLivenessAndStartupAsSuccessLocked(known)
	}
	p.unlockAndDeliverResults()
}

// Observe passes an observation of a pod's containers. It is called with every status of the pod
// that is stored, and once with the published status that a restarted agent finds. The newest
// observation counts, also if it came before AddPod.
func (p *Prober) Observe(uid types.UID, o Observed) {
	now := p.executor.Now()
	p.mu.Lock()
	known := p.getOrAddPodLocked(uid)
	known.updates++
	known.ip, known.observed = o.PodIP, o.Containers
	p.applyObservationLocked(known, known.observed, now)
	p.unlockAndDeliverResults()
}

// ObserveStatus calls Observe with the observation in a status.
func (p *Prober) ObserveStatus(uid types.UID, status *v1.PodStatus) {
	p.Observe(uid, FromStatus(status))
}

// StopLivenessAndStartup stops the liveness and startup probes of a pod and cancels their checks.
// Their verdicts become Success and stay so, also if they were Failure or Unknown. It is called when
// the pod begins to terminate, so that no container is killed for failing a probe while it shuts
// down. Readiness probes continue until RemovePod.
func (p *Prober) StopLivenessAndStartup(uid types.UID) {
	p.mu.Lock()
	if known := p.mu.pods[uid]; known != nil {
		p.stopLivenessAndStartupAsSuccessLocked(known)
	}
	p.unlockAndDeliverResults()
}

// RemovePod removes a pod. It is called after the containers of the pod have stopped. Running checks
// are cancelled and their results are dropped. Each goroutine ends when its Check returns.
func (p *Prober) RemovePod(uid types.UID) {
	p.mu.Lock()
	p.removePodLocked(uid)
	p.unlockAndDeliverResults()
}

// CleanupPods removes every pod for which keep returns false. Housekeeping calls it. keep is called
// without a lock. A pod that is added or observed during the call stays.
func (p *Prober) CleanupPods(keep func(types.UID) bool) {
	p.mu.Lock()
	uids := p.sortedUIDsLocked()
	updatesBefore := make([]uint64, len(uids))
	for i, uid := range uids {
		updatesBefore[i] = p.mu.pods[uid].updates
	}
	p.mu.Unlock()
	for i, uid := range uids {
		if keep(uid) {
			continue
		}
		p.mu.Lock()
		if known := p.mu.pods[uid]; known != nil && known.updates == updatesBefore[i] {
			p.removePodLocked(uid)
		}
		p.unlockAndDeliverResults()
	}
}

// Failed reports whether the verdict of the liveness probe of a container is Failure, and the same
// for its startup probe. A verdict is also Failure after the container has stopped running, so Failed
// is meant for running containers. Both are false for an unknown container and for a container
// without such a probe.
func (p *Prober) Failed(uid types.UID, containerID string) (liveness, startup bool) {
	return p.Verdict(uid, containerID, verdict.Liveness) == verdict.Failure, p.Verdict(uid, containerID, verdict.Startup) == verdict.Failure
}

// Started reports whether the startup probe of a container has succeeded. It returns false for a
// container without one.
func (p *Prober) Started(uid types.UID, containerID string) bool {
	return p.Verdict(uid, containerID, verdict.Startup) == verdict.Success
}

// Verdict returns the verdict of a probe. It is Unknown if the container has no such probe, or if
// no container has this ID.
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

// Next returns when the next probe that may start is due. It returns false if no probe is due, or if
// MaxProbes attempts run. The time may be in the past.
func (p *Prober) Next() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nextAllowedDueLocked()
}

// getOrAddPodLocked returns the state of a pod. It adds an empty state if the Prober does not have the pod.
func (p *Prober) getOrAddPodLocked(uid types.UID) *pod {
	known := p.mu.pods[uid]
	if known == nil {
		known = &pod{uid: uid}
		p.mu.pods[uid] = known
	}
	return known
}

// sortedUIDsLocked returns the UIDs of all pods, sorted, so that no result depends on the order of a map.
func (p *Prober) sortedUIDsLocked() []types.UID { return slices.Sorted(maps.Keys(p.mu.pods)) }

// applyObservationLocked applies the observed states of a pod's containers to their probes, and queues changed
// verdicts. If a container does not run or is a new one, it cancels the running attempts of its probes. It
// ignores containers without probes.
func (p *Prober) applyObservationLocked(known *pod, seen []Container, now time.Time) {
	for i := range seen {
		c := known.findContainer(seen[i].Name)
		if c == nil {
			continue
		}
		var buf [verdict.Kinds]verdict.Change
		generation := c.state.Generation()
		changes := c.state.Observe(seen[i].toFacts(), now, buf[:0])
		if c.state.Generation() != generation || !seen[i].Running {
			p.abandonAttemptsAndQueueCancelsLocked(c, verdict.Liveness, verdict.Readiness, verdict.Startup)
		}
		p.queueResultsAndRescheduleLocked(c, changes, "")
	}
}

// stopLivenessAndStartupAsSuccessLocked stops the liveness and startup probes of all containers of a pod, sets
// their verdicts to Success, and cancels their running attempts. Readiness probes continue.
func (p *Prober) stopLivenessAndStartupAsSuccessLocked(known *pod) {
	for _, c := range known.containers {
		var buf [verdict.Kinds]verdict.Change
		p.abandonAttemptsAndQueueCancelsLocked(c, verdict.Liveness, verdict.Startup)
		p.queueResultsAndRescheduleLocked(c, c.state.StopLivenessAndStartup(buf[:0]), "")
	}
}

// removePodLocked removes a pod with its probes, and cancels their running attempts. It does nothing if the
// Prober does not have the pod.
func (p *Prober) removePodLocked(uid types.UID) {
	known := p.mu.pods[uid]
	if known == nil {
		return
	}
	delete(p.mu.pods, uid)
	for _, c := range known.containers {
		p.abandonAttemptsAndQueueCancelsLocked(c, verdict.Liveness, verdict.Readiness, verdict.Startup)
		for _, probe := range c.probes {
			if probe != nil {
				p.scheduleOf(probe).removeProbe(probe)
			}
		}
	}
}

// abandonAttemptsAndQueueCancelsLocked drops the results of the running attempts of a container's probes of the
// given kinds. It appends their cancel functions to p.mu.cancels. unlockCancelAndWake calls them later.
func (p *Prober) abandonAttemptsAndQueueCancelsLocked(c *container, kinds ...verdict.Kind) {
	for _, k := range kinds {
		if probe := c.probes[k]; probe != nil && probe.running != nil {
			p.mu.cancels = append(p.mu.cancels, probe.running.cancelChecksAndDropResult)
			probe.running = nil
			c.state.AbandonAttempt(k)
		}
	}
}

// queueResultsAndRescheduleLocked queues a Result for each changed verdict, and updates the due time of each
// probe of the container. A probe leaves the schedule if it must not run or its last check has not returned. It
// is called after every change of a container's state.
func (p *Prober) queueResultsAndRescheduleLocked(c *container, changes []verdict.Change, message string) {
	for _, ch := range changes {
		p.results.addResult(Result{
			UID: c.pod.uid, Container: c.name, ContainerID: ch.ID, Kind: ch.Kind,
			Success: ch.Value == verdict.Success, Message: message,
		})
	}
	for k, probe := range c.probes {
		if probe == nil {
			continue
		}
		if due, ok := c.state.Due(verdict.Kind(k)); ok && probe.unreturned == nil {
			p.scheduleOf(probe).setDue(probe, due)
		} else {
			p.scheduleOf(probe).removeProbe(probe)
		}
	}
}

// scheduleOf returns the schedule to which the probe belongs. That is slow after an attempt that timed out, and
// fast after any other attempt and before the first.
func (p *Prober) scheduleOf(probe *probe) *schedule {
	if probe.lastTimedOut {
		return &p.mu.slow
	}
	return &p.mu.fast
}

// unlockAndDeliverResults does the same as unlockCancelAndWake, and then passes the queued results to
// Config.Result.
func (p *Prober) unlockAndDeliverResults() {
	p.unlockCancelAndWake()
	p.results.deliverAll(p.deliverResult)
}

// unlockCancelAndWake releases the lock and calls the cancel functions of attempts that were added while the
// lock was held. It wakes the loop if a probe is due before the time for which the loop waits.
func (p *Prober) unlockCancelAndWake() {
	next, ok := p.nextAllowedDueLocked()
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
