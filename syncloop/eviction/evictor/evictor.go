package evictor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/eviction"
)

const (
	// maxReads limits how many pods are measured at once.
	maxReads = 8
	// maxReclaims limits how often one Step reclaims. There are two file systems at most.
	maxReclaims = 2
)

// Evictor evicts pods of a node. All methods may be called concurrently, also before Run; Step only by one goroutine.
type Evictor struct {
	config   Config
	guard    *contain.Guard
	executor executor.Executor
	ran      atomic.Bool
	stopped  executor.Event // the resources of a victim are reclaimed, or a caller has requested a pass

	// Only the goroutine that calls Step uses these.
	history eviction.History
	facts   map[types.UID]podFacts
	failure string                   // the last error of a pass
	above   map[eviction.Signal]bool // signals whose threshold is logged as not below the capacity

	mu struct {
		sync.Mutex
		pressure Pressure
		observed eviction.Observations // of the last pass
		victims  map[types.UID]bool    // evicted and perhaps not reclaimed
	}
}

// New returns an evictor. It starts nothing before Run.
func New(config Config) (*Evictor, error) {
	if err := config.setDefaultsAndCheck(); err != nil {
		return nil, err
	}
	g := contain.New(contain.Config{Package: "evictor", Clock: config.Clock, Log: config.Log, OnPanic: config.Panicked})
	config.Log = g.Log()
	config.Hooks.Changed = contain.Hook1(g, "Hooks.Changed", config.Hooks.Changed)
	config.Hooks.Acting = contain.Hook1(g, "Hooks.Acting", config.Hooks.Acting)
	config.Hooks.Evicted = contain.Hook1(g, "Hooks.Evicted", config.Hooks.Evicted)
	e := &Evictor{config: config, guard: g, executor: executor.Over(config.Clock)}
	e.stopped = e.executor.NewEvent()
	e.mu.victims = map[types.UID]bool{}
	return e, nil
}

// Run evicts pods until ctx ends, and then returns nil. A second call returns runtime.ErrSecondRun.
func (e *Evictor) Run(ctx context.Context) error {
	if e.ran.Swap(true) {
		return fmt.Errorf("evictor: %w", runtime.ErrSecondRun)
	}
	for ctx.Err() == nil {
		next := e.Step(ctx)
		if _, err := e.stopped.WaitUntil(ctx, next); err != nil {
			break
		}
	}
	return nil
}

// Pressure returns the state after the last pass. Before the first pass the node has no pressure.
func (e *Evictor) Pressure() Pressure {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.pressure
}

// Observations returns the measurements of the last pass, which the caller must not modify. Before the first pass there are
// none.
func (e *Evictor) Observations() eviction.Observations {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.observed
}

// PodReclaimed starts the next pass of Run at once if the pod was evicted by the last passes. The caller calls it when
// the containers of a pod have stopped and its volumes and cgroup are removed. Before the removal the node has not got
// the resources of the pod back, and a pass would evict another pod for them. PodReclaimed never blocks.
func (e *Evictor) PodReclaimed(uid types.UID) {
	e.mu.Lock()
	isVictim := e.mu.victims[uid]
	delete(e.mu.victims, uid)
	e.mu.Unlock()
	if isVictim {
		e.stopped.Signal()
	}
}

// RequestPass starts the next pass of Run at once, or right after a pass that is under way. Requests during one pass
// cause one pass. It never blocks.
func (e *Evictor) RequestPass() { e.stopped.Signal() }

// Step performs one pass, and returns when the next one is due. If the pass reclaims, Step decides again afterwards,
// with new measurements.
func (e *Evictor) Step(ctx context.Context) (next time.Time) {
	for range maxReclaims {
		d := e.decideAndEvict(ctx)
		if len(d.Reclaim) == 0 || ctx.Err() != nil {
			return d.NextAt
		}
		e.reclaimKinds(ctx, d.Reclaim)
	}
	return e.decideAndEvict(ctx).NextAt
}

// decideAndEvict measures, decides, stores the new state and evicts the victims. It lists the pods before it
// measures the signals, as Policy.Decide demands. If an eviction fails, it keeps the old history, so that the
// next pass does not wait for that victim.
func (e *Evictor) decideAndEvict(ctx context.Context) eviction.Decision {
	listed, err := contain.CallWithResult(e.guard, "Node.Pods", func() ([]Pod, error) { return e.config.Node.Pods(), nil })
	if err != nil {
		e.logFailureOnce(err)
		return eviction.Decision{NextAt: e.executor.Now().Add(e.config.Policy.Period)}
	}
	pods, facts := factsOf(e.facts, listed)
	e.facts = facts
	observed, err := e.readSignals(ctx)
	e.logFailureOnce(err)
	e.setObservations(observed)
	e.logThresholdsAboveCapacityOnce(observed)
	if !e.config.Policy.IgnoreLocalLimits {
		e.readUsages(ctx, pods, func(p *eviction.Pod) bool { return p.HasLocalLimit() })
	}
	now := e.executor.Now()
	d := e.config.Policy.Decide(e.history, observed, pods, now)
	if slices.ContainsFunc(d.Victims, func(v eviction.Victim) bool { return v.Condition != nil }) {
		// The ranking needs the usage of all pods. Decide decides again from the same history.
		e.readUsages(ctx, pods, func(p *eviction.Pod) bool { return !p.Usage.Measured })
		d = e.config.Policy.Decide(e.history, observed, pods, now)
	}
	if ctx.Err() != nil {
		return d // The measurements may be incomplete.
	}
	before := e.history
	e.history = d.NextHistory
	e.setPressure(Pressure{d.Conditions, d.Unobserved})
	if d.Acting != nil {
		e.config.Hooks.Acting(*d.Acting)
	}
	for _, v := range d.Victims {
		if !e.startEviction(v) {
			e.history = before
		}
	}
	return d
}

// readSignals measures the signals of the node with the timeout Config.CallTimeout. It returns an error if the
// measurement fails or panics.
func (e *Evictor) readSignals(ctx context.Context) (eviction.Observations, error) {
	ctx, cancel := e.executor.WithDeadline(ctx, e.executor.Now().Add(e.config.CallTimeout))
	defer cancel()
	var observed eviction.Observations
	_, err := contain.CallWithResult(e.guard, "Signals.ReadSignals", func() (_ struct{}, err error) {
		observed, err = e.config.Signals.ReadSignals(ctx)
		return struct{}{}, err
	})
	if err != nil {
		err = fmt.Errorf("evictor: measure the node: %w", err)
	}
	return observed, err
}

// readUsages measures and sets the usage of all pods for which shouldRead returns true. The usage of a pod that
// cannot be measured stays unknown.
func (e *Evictor) readUsages(ctx context.Context, pods []eviction.Pod, shouldRead func(*eviction.Pod) bool) {
	var due []*eviction.Pod
	for i := range pods {
		if shouldRead(&pods[i]) {
			due = append(due, &pods[i])
		}
	}
	executor.Each(e.executor, maxReads, len(due), func(i int) {
		ctx, cancel := e.executor.WithDeadline(ctx, e.executor.Now().Add(e.config.CallTimeout))
		defer cancel()
		pod := due[i].Pod()
		usage, err := contain.CallWithResult(e.guard, "Node.ReadUsage", func() (eviction.Usage, error) { return e.config.Node.ReadUsage(ctx, pod) })
		if err != nil {
			e.config.Log.Debug("the usage of a pod could not be measured", "pod", pod.Namespace+"/"+pod.Name, "uid", pod.UID, "err", err)
			usage = eviction.Usage{}
		}
		due[i].Usage = usage
	})
}

// logFailureOnce logs an error of a pass, unless the last pass had the same error.
func (e *Evictor) logFailureOnce(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != e.failure {
		e.config.Log.Warn("signals of the node could not be measured", "err", err)
	}
	e.failure = text
}

// logThresholdsAboveCapacityOnce logs a warning for each signal with a threshold that is not below its capacity. It
// logs a signal again only if the threshold was below the capacity in between. Such a threshold acts like any other, as
// in the kubelet.
func (e *Evictor) logThresholdsAboveCapacityOnce(observed eviction.Observations) {
	above := map[eviction.Signal]bool{}
	for _, t := range observed.ThresholdsAboveCapacity(e.config.Policy.Thresholds) {
		capacity := observed.Signals[t.Signal].Capacity
		if !e.above[t.Signal] && !above[t.Signal] {
			e.config.Log.Warn("an eviction threshold is not below the capacity of its signal, so pods are evicted until none is left; lower the threshold",
				"signal", t.Signal, "threshold", t.Value.Of(capacity), "capacity", capacity)
		}
		above[t.Signal] = true
	}
	for signal := range e.above { // A pass without a measurement shows nothing.
		if _, measured := observed.Signals[signal]; !measured {
			above[signal] = true
		}
	}
	e.above = above
}

// setObservations stores the measurements of a pass.
func (e *Evictor) setObservations(o eviction.Observations) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.observed = o
}

// setPressure stores the state of the node, and calls the hook if it has changed.
func (e *Evictor) setPressure(p Pressure) {
	e.mu.Lock()
	changed := !p.Equal(e.mu.pressure)
	e.mu.pressure = p
	e.mu.Unlock()
	if changed {
		e.config.Log.Info("the pressure on the node has changed", "conditions", p.Conditions, "unobserved", p.Unobserved)
		e.config.Hooks.Changed(p)
	}
}

// startEviction evicts one victim, and stores its UID for PodReclaimed. It returns false after an error.
func (e *Evictor) startEviction(v eviction.Victim) (evicted bool) {
	e.mu.Lock()
	e.mu.victims[v.UID] = true // Before the call, because the pod may stop at once.
	e.mu.Unlock()
	_, err := contain.CallWithResult(e.guard, "Node.Evict", func() (struct{}, error) { return struct{}{}, e.config.Node.Evict(v) })
	if err != nil {
		e.mu.Lock()
		delete(e.mu.victims, v.UID)
		e.mu.Unlock()
		e.config.Log.Warn("a pod could not be evicted", "uid", v.UID, "cause", v.Cause, "err", err)
		return false
	}
	e.config.Hooks.Evicted(v)
	return true
}

// reclaimKinds removes things of each kind. It logs errors and continues, because the next decision depends only on new
// measurements.
func (e *Evictor) reclaimKinds(ctx context.Context, kinds []eviction.ReclaimKind) {
	for _, kind := range kinds {
		ctx, cancel := e.executor.WithDeadline(ctx, e.executor.Now().Add(e.config.ReclaimTimeout))
		_, err := contain.CallWithResult(e.guard, "Node.Reclaim", func() (struct{}, error) { return struct{}{}, e.config.Node.Reclaim(ctx, kind) })
		cancel()
		if err != nil {
			e.config.Log.Warn("not everything could be removed", "kind", kind.String(), "err", err)
		}
	}
}
