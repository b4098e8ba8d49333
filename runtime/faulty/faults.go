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

// Config is what Faults are made from. The zero value makes no trouble.
type Config struct {
	// Rules are there from the start, as if given to Add in order.
	Rules []Rule
	// Hooks observe.
	Hooks Hooks
}

// Hooks are called without any lock held. Each may be nil.
type Hooks struct {
	// Hit is called when a rule applies to a call, before it does,
	// concurrently with other calls of itself.
	Hit func(Hit)
}

// Hit is a rule that applies to a call.
type Hit struct {
	Rule      Rule
	Verb      string
	UID       types.UID // empty: about no pod
	Container string    // a name; empty: about no container
}

// Faults is a set of rules and how often each has matched. All methods are
// safe for concurrent use, with each other and with calls of the wrappers.
type Faults struct {
	hooks Hooks

	mu struct {
		sync.Mutex
		rules []*counted
		known map[string]about // by sandbox and container ID
		names map[types.UID]string
	}
}

// counted is a rule with the number of calls it has matched.
type counted struct {
	Rule
	seen int
}

// New makes a set of rules. The error names everything that is wrong with any.
func New(cfg Config) (*Faults, error) {
	f := &Faults{hooks: cfg.Hooks}
	f.mu.known = map[string]about{}
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

// Add adds a rule, to be tried after those that are there, and returns what
// takes it away again. Of the rules that match a call the first applies that
// is past its Skip and within its Times.
func (f *Faults) Add(rule Rule) (remove func(), err error) {
	if err := rule.check(); err != nil {
		return nil, err
	}
	c := &counted{Rule: rule}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.rules = append(f.mu.rules, c)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.mu.rules = slices.DeleteFunc(f.mu.rules, func(o *counted) bool { return o == c })
	}, nil
}

// Clear takes all rules away. Calls that hang go on hanging.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.rules = nil
}

// Wrap puts the rules in front of a runtime. The clock is the one on which the
// caller's process waits; nil is the real one. Any number of wrappers can
// share the rules.
func (f *Faults) Wrap(inner runtime.Runtime, clk clock.Clock) runtime.Runtime {
	b := &base{f: f, inner: inner, executor: executor.Over(clk)}
	return b
}

// pick counts a call for every rule that matches it, and returns the first
// that applies.
func (f *Faults) pick(verb string, a about) (Rule, bool) {
	f.mu.Lock()
	var hit *counted
	for _, r := range f.mu.rules {
		if r.Do == Omit || r.Verb != "" && r.Verb != verb || !r.matches(a) {
			continue
		}
		if r.count() && hit == nil {
			hit = r
		}
	}
	f.mu.Unlock()
	if hit == nil {
		return Rule{}, false
	}
	f.report(hit.Rule, verb, a)
	return hit.Rule, true
}

// omits returns the rules that leave something out of an answer, of those for
// which there is something.
func (f *Faults) omits(verb string, has func(Rule) bool) []Rule {
	f.mu.Lock()
	var open []Rule
	for _, r := range f.mu.rules {
		if r.Do == Omit && (r.Verb == "" || r.Verb == verb) && has(r.Rule) && r.count() {
			open = append(open, r.Rule)
		}
	}
	f.mu.Unlock()
	for _, r := range open {
		f.report(r, verb, about{uid: r.UID, container: r.Container})
	}
	return open
}

// count counts a matching call and reports whether the rule applies to it.
func (c *counted) count() bool {
	c.seen++
	return c.seen > c.Skip && (c.Times == 0 || c.seen <= c.Skip+c.Times)
}

func (f *Faults) report(r Rule, verb string, a about) {
	if f.hooks.Hit != nil {
		f.hooks.Hit(Hit{Rule: r, Verb: verb, UID: a.uid, Container: a.container})
	}
}

// learn keeps whom an ID stands for.
func (f *Faults) learn(id string, a about) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.known[id] = a
	f.mu.names[a.uid] = a.pod
}

// learnAll keeps whom the IDs of a list stand for.
func (f *Faults) learnAll(list []runtime.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range list {
		f.mu.names[p.UID] = p.Name
		for _, s := range p.Sandboxes {
			f.mu.known[s.ID] = about{p.UID, p.Name, ""}
		}
		for _, c := range p.Containers {
			f.mu.known[c.ID] = about{p.UID, p.Name, c.Name}
		}
	}
}

// lookup is whom an ID stands for. It reports false if that is not known and
// some rule depends on it.
func (f *Faults) lookup(id string) (about, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.mu.known[id]
	return a, ok || !slices.ContainsFunc(f.mu.rules, func(r *counted) bool { return r.named() })
}

func (f *Faults) ofPod(uid types.UID) about {
	f.mu.Lock()
	defer f.mu.Unlock()
	return about{uid: uid, pod: f.mu.names[uid]}
}

// base is a wrapper with the verbs every runtime has.
type base struct {
	f        *Faults
	inner    runtime.Runtime
	executor executor.Executor
}

// byID is whom an ID stands for. An ID that was made before the wrapper is
// looked for in the list, without trouble.
func (b *base) byID(ctx context.Context, id string) about {
	a, ok := b.f.lookup(id)
	if ok {
		return a
	}
	if list, err := b.inner.ListPods(ctx); err == nil {
		b.f.learnAll(list)
	}
	a, _ = b.f.lookup(id)
	return a
}

// call makes a call under the rules.
func call[R any](ctx context.Context, b *base, verb string, a about, do func() (R, error)) (R, error) {
	return callOrLie(ctx, b, verb, a, do, func() (none R, err error) { return none, nil })
}

// callOrLie is call for a verb with a lie of its own.
func callOrLie[R any](ctx context.Context, b *base, verb string, a about, do, lie func() (R, error)) (R, error) {
	var none R
	rule, ok := b.f.pick(verb, a)
	if !ok {
		return do()
	}
	if rule.Latency > 0 {
		if err := b.executor.Sleep(ctx, rule.Latency); err != nil {
			return none, err
		}
	}
	if rule.Do == FailDone || rule.Do == HangDone {
		if _, err := do(); err != nil {
			return none, err // There was no effect whose reply could get lost.
		}
	}
	switch rule.Do {
	case Fail, FailDone:
		return none, rule.failure(verb)
	case Hang, HangDone:
		return none, b.executor.NewLatch().Wait(ctx)
	case Lie:
		return lie()
	}
	return do()
}

// act is call for verbs that return nothing but an error.
func act(ctx context.Context, b *base, verb string, a about, do func() error) error {
	_, err := call(ctx, b, verb, a, func() (struct{}, error) { return struct{}{}, do() })
	return err
}
