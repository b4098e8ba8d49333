package evictor

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/syncloop/eviction"
)

// SignalReader measures the signals of a node.
type SignalReader interface {
	// ReadSignals measures the signals now. One goroutine calls it, once in each pass, and ctx ends after
	// Config.CallTimeout. A signal that cannot be measured is absent from the result. The result also counts if the
	// error is not nil.
	ReadSignals(ctx context.Context) (eviction.Observations, error)
}

// Node is the node whose pods are evicted.
type Node interface {
	// Pods returns the pods that may be evicted and that have not stopped, and the pods whose containers have stopped
	// but whose volumes or cgroup are not removed (Pod.Stopped). It must not block.
	Pods() []Pod
	// ReadUsage measures the usage of a pod. ctx ends after Config.CallTimeout. It is called concurrently for
	// different pods. After an error the usage of the pod is unknown.
	ReadUsage(ctx context.Context, pod *v1.Pod) (eviction.Usage, error)
	// Evict starts the termination of a pod, or shortens it. It must not block. After an error the next pass
	// decides again.
	Evict(victim eviction.Victim) error
	// Reclaim removes things of a kind. The pass decides again when Reclaim has returned, so a removal that is only
	// requested may come too late for that decision. ctx ends after Config.ReclaimTimeout.
	Reclaim(ctx context.Context, kind eviction.ReclaimKind) error
}

// Pod is a pod that has not stopped, or that has stopped and still uses resources of the node.
type Pod struct {
	// Pod is the pod with its allocated resources. It must not be modified.
	Pod *v1.Pod
	// Terminating: the pod terminates already.
	Terminating bool
	// StopBy is when the grace period of a terminating pod ends. Zero: unknown.
	StopBy time.Time
	// Stopped: the containers of the pod have stopped, but its volumes and its cgroup are not removed yet.
	Stopped bool
}

// Pressure is the state of the node after a pass.
type Pressure struct {
	// Conditions are the pressure conditions that the node has.
	Conditions []v1.NodeConditionType
	// Unobserved lists the signals with a threshold that cannot be measured.
	Unobserved []eviction.Signal
}

// Equal reports whether two states are equal.
func (p Pressure) Equal(other Pressure) bool {
	return slices.Equal(p.Conditions, other.Conditions) && slices.Equal(p.Unobserved, other.Unobserved)
}

// Hooks are called when something happens. They must not block. A nil hook is not called.
type Hooks struct {
	// Changed is called after a pass that has changed the state.
	Changed func(Pressure)
	// Acting is called when a pass reclaims or evicts for a threshold.
	Acting func(eviction.Threshold)
	// Evicted is called after a pod was evicted.
	Evicted func(eviction.Victim)
}

// Defaults of a Config.
const (
	// DefaultCallTimeout limits each measurement.
	DefaultCallTimeout = 5 * time.Second
	// DefaultReclaimTimeout limits each call of Reclaim.
	DefaultReclaimTimeout = 2 * time.Minute
)

// Config configures an Evictor. Signals and Node are required.
type Config struct {
	// Policy has the thresholds.
	Policy eviction.Policy
	// Signals measures the node.
	Signals SignalReader
	// Node has the pods.
	Node Node
	// CallTimeout limits each measurement. Zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// ReclaimTimeout limits each call of Node.Reclaim. Zero is DefaultReclaimTimeout.
	ReclaimTimeout time.Duration
	// Hooks are called when something happens.
	Hooks Hooks
	// Clock is the clock; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each recovered panic, with the name of the call that panicked. Nil ignores it.
	Panicked func(call string, err error)
}

// setDefaultsAndCheck sets the defaults of unset fields, and returns one error that names all invalid fields, or nil.
func (c *Config) setDefaultsAndCheck() error {
	done := contain.CheckConfig("evictor: Config")
	done.MissingIf(c.Signals == nil, "Signals")
	done.MissingIf(c.Node == nil, "Node")
	contain.DefaultNumber(done, "CallTimeout", &c.CallTimeout, DefaultCallTimeout)
	contain.DefaultNumber(done, "ReclaimTimeout", &c.ReclaimTimeout, DefaultReclaimTimeout)
	contain.DefaultNumber(done, "Policy.Period", &c.Policy.Period, eviction.DefaultPeriod)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}

// podFacts are the facts of a pod's spec, stored from pass to pass.
type podFacts struct {
	spec  *v1.Pod
	facts eviction.Pod
}

// factsOf returns the listed pods with the facts of their specs. It computes the facts of a pod again only if the pod
// is another object than in the last pass, and deletes the facts of absent pods.
func factsOf(stored map[types.UID]podFacts, listed []Pod) (pods []eviction.Pod, next map[types.UID]podFacts) {
	next = make(map[types.UID]podFacts, len(listed))
	pods = make([]eviction.Pod, 0, len(listed))
	for _, p := range listed {
		known, ok := stored[p.Pod.UID]
		if !ok || known.spec != p.Pod {
			known = podFacts{p.Pod, eviction.NewPod(p.Pod)}
		}
		next[p.Pod.UID] = known
		facts := known.facts
		facts.Terminating, facts.StopBy, facts.Stopped = p.Terminating, p.StopBy, p.Stopped
		pods = append(pods, facts)
	}
	return pods, next
}
