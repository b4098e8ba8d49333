package prober

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/prober/verdict"
)

const (
	// maxChecks is how often a check is made in one attempt until one gives an
	// answer.
	maxChecks = 3
	// longest is how many bytes of what a check says are kept.
	longest = 1024
)

// errNothing is the error of a check that returned neither outcome nor error.
var errNothing = errors.New("prober: the check returned no outcome")

// attempt is one tick of one probe.
type attempt struct {
	probe      *probe
	pod        *v1.Pod
	generation uint64
	request    Request
	begun      time.Time
	slow       bool

	ctx executor.Context
}

// cancel ends the checks of an attempt that nobody waits for any more.
func (a *attempt) cancel() { a.ctx.Cancel(context.Canceled) }

// answer is how an attempt ended.
type answer struct {
	outcome  CheckResult // zero: there is none
	message  string
	err      error // why there is none
	timedOut bool
}

// take begins the attempt that is due longest, or returns nil.
func (p *Prober) take(ctx context.Context, now time.Time) *attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.firstLocked()
	if first == nil || first.due.After(now) {
		return nil
	}
	c := first.container
	a := &attempt{probe: first, pod: c.pod.spec, generation: c.state.Generation(), begun: now, slow: first.slow}
	a.request = Request{
		UID: c.pod.uid, Namespace: c.pod.spec.Namespace, Name: c.pod.spec.Name, PodIP: c.pod.ip,
		Container: c.name, ContainerID: c.state.ID(), Ports: c.ports,
		Kind: first.kind, Handler: first.handler, Timeout: first.timeout,
	}
	a.ctx.Init(ctx)
	first.running = a
	p.mu.attempts[a] = struct{}{}
	if a.slow {
		p.mu.runSlow++
	}
	c.state.Begin(first.kind, now)
	p.changedLocked(c, nil, "")
	return a
}

// attempt makes the checks of one attempt and notes what came of it.
func (p *Prober) attempt(a *attempt) {
	answer := p.try(a)
	ended := a.ctx.Err() != nil
	a.cancel()
	p.finish(a, answer, ended)
}

// try makes checks until one gives an answer. A check that panics is not made
// again at once (PR-20).
func (p *Prober) try(a *attempt) answer {
	var last answer
	for range maxChecks {
		var panicked bool
		last, panicked = p.checkOnce(a)
		if last.err == nil || panicked || a.ctx.Err() != nil {
			break
		}
	}
	return last
}

// checkOnce makes one check within its timeout.
func (p *Prober) checkOnce(a *attempt) (ans answer, panicked bool) {
	ctx, cancel := p.executor.WithDeadline(&a.ctx, p.executor.Now().Add(a.request.Timeout))
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			ans, panicked = answer{err: p.guard.HandlePanic("Checker.Check", v)}, true
		}
	}()
	outcome, message, err := p.cfg.Check.Check(ctx, a.request)
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case err != nil && late && a.ctx.Err() == nil:
		return answer{outcome: Failed, message: fmt.Sprintf("no answer within %v", a.request.Timeout), timedOut: true}, false
	case err != nil:
		_, below := contain.AsType[*contain.Panic](err) // Of a runtime below the checker.
		return answer{err: err}, below
	case outcome < Passed || outcome > Failed:
		return answer{err: errNothing}, false
	}
	return answer{outcome: outcome, message: brief(message), timedOut: late}, false
}

// brief is a message that can be shown: valid text of bounded length.
func brief(s string) string {
	if len(s) > longest {
		s = s[:longest] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}

// finish notes how an attempt ended, if somebody still wants to know. ended
// says that its context has, so that the answer is not the container's.
func (p *Prober) finish(a *attempt, ans answer, ended bool) {
	now := p.executor.Now()
	p.mu.Lock()
	delete(p.mu.attempts, a)
	if a.slow {
		p.mu.runSlow--
	}
	gap := p.noticeLocked(now)
	wanted := a.probe.running == a
	if ans.outcome == Failed && a.begun.Before(p.mu.resumed) {
		ans = answer{err: errors.New("prober: the process was stopped during the check"), timedOut: ans.timedOut}
	}
	if wanted {
		p.noteLocked(a, ans, ended, now)
	}
	p.unlock()
	p.resumed(gap)
	if wanted && !ended {
		p.report(a, ans, now.Sub(a.begun))
	}
	p.out.deliver(p.tell)
}

// noteLocked gives the answer to the container's state.
func (p *Prober) noteLocked(a *attempt, ans answer, ended bool, now time.Time) {
	a.probe.running = nil
	if ended {
		ans = answer{}
	}
	c := a.probe.container
	var buf [verdict.Kinds]verdict.Change
	changes := c.state.Finish(a.probe.kind, a.generation, ans.outcome.value(), now, buf[:0])
	a.probe.slow = ans.timedOut // It stands in no schedule: it has only just stopped running.
	p.changedLocked(c, changes, ans.message)
}

// warn tells people of an attempt, without the colon before a reason that nobody
// gave.
func (p *Prober) warn(a *attempt, reason, format string, args ...any) {
	message := strings.TrimSuffix(fmt.Sprintf(format, args...), ": ")
	p.cfg.Recorder.Event(podmanager.Reference(a.pod, a.request.Container), v1.EventTypeWarning, reason, message)
}

// report tells people and hooks. The results that follow from an answer are
// told after it.
func (p *Prober) report(a *attempt, ans answer, took time.Duration) {
	kind := a.probe.kind.String()
	switch {
	case ans.err != nil:
		p.cfg.Log.Warn("a probe could not be made", "pod", a.request.Namespace+"/"+a.request.Name, "uid", a.request.UID,
			"container", a.request.Container, "probe", kind, "err", ans.err)
		p.warn(a, reasonUnhealthy, "%s probe of container %s could not be made: %s",
			kind, a.request.Container, brief(plain.Text(ans.err.Error())))
	case ans.outcome == Failed:
		p.warn(a, reasonUnhealthy, "%s probe of container %s failed: %s",
			kind, a.request.Container, ans.message)
	case ans.outcome == Warned:
		p.warn(a, reasonWarning, "%s probe of container %s warned: %s",
			kind, a.request.Container, ans.message)
	}
	p.cfg.Hooks.Probed(Attempt{
		UID: a.request.UID, Container: a.request.Container, ContainerID: a.request.ContainerID,
		Kind: a.probe.kind, Result: ans.outcome, Message: ans.message, Err: ans.err, Took: took,
	})
}
