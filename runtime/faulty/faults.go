package faulty

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// Config configures Faults. The zero value injects no fault.
type Config struct {
	// Rules are added in order, as by Add.
	Rules []Rule
	// Hooks observe the faults.
	Hooks Hooks
}

// Hooks are called without any lock held. Each may be nil.
type Hooks struct {
	// Hit is called when a rule applies to a call, before the fault happens. Calls may overlap.
	Hit func(Hit)
}

// Hit is a rule that applies to a call.
type Hit struct {
	Rule      Rule
	Verb      string
	UID       types.UID // empty: the call concerns no pod
	Container string    // its name; empty: the call concerns no container
}

// Faults is a set of rules with the number of calls that each has matched. All methods are safe for
// concurrent use, also with calls of the wrappers.
type Faults struct {
	hooks Hooks

	mu struct {
		sync.Mutex
		rules []*countedRule
		known map[string]callSubject // by sandbox and container ID
		names map[types.UID]string   // pod names
	}
}

// countedRule is a rule with the number of calls that it has matched.
type countedRule struct {
	Rule
	matches int
}

// New creates Faults. The error describes all invalid rules.
func New(cfg Config) (*Faults, error) {
	f := &Faults{hooks: cfg.Hooks}
	f.mu.known = map[string]callSubject{}
	f.mu.names = map[types.UID]string{}
	var errs []error
	for _, r := range cfg.Rules {
		_, err := f.Add(r)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return f, nil
}

// Add appends a rule, and returns a function that removes it. Of all rules that match a call, the
// first one applies that is past its Skip and within its Times.
func (f *Faults) Add(rule Rule) (remove func(), err error) {
	if err := rule.validate(); err != nil {
		return nil, err
	}
	c := &countedRule{Rule: rule}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.rules = append(f.mu.rules, c)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.mu.rules = slices.DeleteFunc(f.mu.rules, func(o *countedRule) bool { return o == c })
	}, nil
}

// Clear removes all rules. Calls that hang keep hanging.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.rules = nil
}

// Wrap returns a runtime that injects the faults into calls of inner. clk is the clock of the
// calling process; nil is the real clock. Several wrappers can share one Faults.
func (f *Faults) Wrap(inner runtime.Runtime, clk clock.Clock) runtime.Runtime {
	b := &wrapper{f: f, inner: inner, executor: executor.Over(clk)}
	return b
}

// countMatchesAndFindFirst counts a call for every rule that matches it, except Omit rules. It returns the
// first of them that applies now, and calls Hooks.Hit for it. It returns false if none applies.
func (f *Faults) countMatchesAndFindFirst(verb string, a callSubject) (first Rule, found bool) {
	f.mu.Lock()
	var hit *countedRule
	for _, r := range f.mu.rules {
		if r.Do == Omit || r.Verb != "" && r.Verb != verb || !r.matchesSubject(a) {
			continue
		}
		if r.countMatchAndCheckApplies() && hit == nil {
			hit = r
		}
	}
	f.mu.Unlock()
	if hit == nil {
		return Rule{}, false
	}
	f.notifyHit(hit.Rule, verb, a)
	return hit.Rule, true
}

// countAndListOmitRules counts a match for each Omit rule that names this verb or none, and for which applies
// returns true. From the counted rules it returns each rule whose Skip matches are over and whose Times are not
// used up. It calls Hooks.Hit for each returned rule. applies reports whether the rule would omit something from
// the result of the call.
func (f *Faults) countAndListOmitRules(verb string, applies func(Rule) bool) []Rule {
	f.mu.Lock()
	var open []Rule
	for _, r := range f.mu.rules {
		if r.Do == Omit && (r.Verb == "" || r.Verb == verb) && applies(r.Rule) && r.countMatchAndCheckApplies() {
			open = append(open, r.Rule)
		}
	}
	f.mu.Unlock()
	for _, r := range open {
		f.notifyHit(r, verb, callSubject{uid: r.UID, container: r.Container})
	}
	return open
}

// countMatchAndCheckApplies counts a matching call. It reports whether the rule applies to it: not to the first
// Skip matches, and to at most Times matches after them. Zero Times means no limit.
func (c *countedRule) countMatchAndCheckApplies() (ruleApplies bool) {
	c.matches++
	return c.matches > c.Skip && (c.Times == 0 || c.matches <= c.Skip+c.Times)
}

// notifyHit calls Hooks.Hit, if it is set, with the rule, the method, and the pod and container of the call.
func (f *Faults) notifyHit(r Rule, verb string, a callSubject) {
	if f.hooks.Hit != nil {
		f.hooks.Hit(Hit{Rule: r, Verb: verb, UID: a.uid, Container: a.container})
	}
}

// storeSubject stores which pod and container a sandbox or container ID belongs to, and the name of the pod.
func (f *Faults) storeSubject(id string, a callSubject) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.known[id] = a
	f.mu.names[a.uid] = a.pod
}

// storeSubjects stores, for every sandbox and container ID in the listed pods, which pod and container it
// belongs to. It also stores the names of the pods.
func (f *Faults) storeSubjects(list []runtime.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range list {
		f.mu.names[p.UID] = p.Name
		for _, s := range p.Sandboxes {
			f.mu.known[s.ID] = callSubject{p.UID, p.Name, ""}
		}
		for _, c := range p.Containers {
			f.mu.known[c.ID] = callSubject{p.UID, p.Name, c.Name}
		}
	}
}

// cachedSubjectOrNotNeeded returns the stored pod and container of a sandbox or container ID, and true. If they
// are not stored, it returns an empty subject. The bool is then true only if no rule selects by pod or
// container, so that the subject is not needed.
func (f *Faults) cachedSubjectOrNotNeeded(id string) (subject callSubject, knownOrNotNeeded bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.mu.known[id]
	return a, ok || !slices.ContainsFunc(f.mu.rules, func(r *countedRule) bool { return r.selectsPod() })
}

// subjectOfPod returns the subject of a call for a whole pod: its UID, and its name if known.
func (f *Faults) subjectOfPod(uid types.UID) callSubject {
	f.mu.Lock()
	defer f.mu.Unlock()
	return callSubject{uid: uid, pod: f.mu.names[uid]}
}

// wrapper has the methods that every runtime has.
type wrapper struct {
	f        *Faults
	inner    runtime.Runtime
	executor executor.Executor
}

// findSubject returns the pod and container of a sandbox or container ID. If a rule needs them and they are
// unknown, it lists the pods of the wrapped runtime without faults and stores the result. It returns an empty
// subject if they stay unknown.
func (b *wrapper) findSubject(ctx context.Context, id string) callSubject {
	a, ok := b.f.cachedSubjectOrNotNeeded(id)
	if ok {
		return a
	}
	if list, err := b.inner.ListPods(ctx); err == nil {
		b.f.storeSubjects(list)
	}
	a, _ = b.f.cachedSubjectOrNotNeeded(id)
	return a
}

// callWithFaults makes a runtime call through forward, unless a matching rule delays it, fails it, or makes it
// wait until ctx ends. Some actions make the call first and lose the reply. For the action Lie it returns a
// zero result and no error, without a call.
func callWithFaults[R any](ctx context.Context, b *wrapper, verb string, a callSubject, forward func() (R, error)) (R, error) {
	return callWithFaultsOrWrongResult(ctx, b, verb, a, forward, func() (none R, err error) { return none, nil })
}

// callWithFaultsOrWrongResult makes a runtime call through forward, unless a matching rule delays it, fails it,
// or makes it wait until ctx ends. The actions FailDone and HangDone make the call first and lose the reply.
// For the action Lie it returns the wrong result of lie, without a call.
func callWithFaultsOrWrongResult[R any](ctx context.Context, b *wrapper, verb string, a callSubject, forward, lie func() (R, error)) (R, error) {
	var none R
	rule, ok := b.f.countMatchesAndFindFirst(verb, a)
	if !ok {
		return forward()
	}
	if rule.Latency > 0 {
		if err := b.executor.Sleep(ctx, rule.Latency); err != nil {
			return none, err
		}
	}
	if rule.Do == FailDone || rule.Do == HangDone {
		if _, err := forward(); err != nil {
			return none, err // The call had no effect, so no reply can be lost.
		}
	}
	switch rule.Do {
	case Fail, FailDone:
		return none, rule.injectedError(verb)
	case Hang, HangDone:
		return none, b.executor.NewLatch().Wait(ctx)
	case Lie:
		return lie()
	}
	return forward()
}

// callErrorWithFaults makes a runtime call as callWithFaults does, for a method that returns only an error.
func callErrorWithFaults(ctx context.Context, b *wrapper, verb string, a callSubject, forward func() error) error {
	_, err := callWithFaults(ctx, b, verb, a, func() (struct{}, error) { return struct{}{}, forward() })
	return err
}
