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
	// maxChecksPerAttempt is how many checks one attempt makes until one of them has a result.
	maxChecksPerAttempt = 3
	// maxMessageBytes is the maximum length of a stored check message.
	maxMessageBytes = 1024
)

// errNoResult is the error of a check that returned neither a result nor an error.
var errNoResult = errors.New("prober: the check returned no outcome")

// attempt is one running attempt of a probe: up to maxChecksPerAttempt checks.
type attempt struct {
	probe        *probe
	pod          *v1.Pod
	generation   uint64
	request      Request
	begun        time.Time
	lastTimedOut bool // the last attempt of the probe reached its timeout

	ctx executor.Context
}

// cancelChecksAndDropResult cancels the context of the attempt's checks. The Prober then drops the result of
// the attempt.
func (a *attempt) cancelChecksAndDropResult() { a.ctx.Cancel(context.Canceled) }

// checkAnswer is the result of one check. The last check of an attempt decides.
type checkAnswer struct {
	outcome  CheckResult // zero: the check has no result
	message  string
	err      error // why the check has no result
	timedOut bool
}

// beginNextAttempt begins the attempt of the probe that has been due for the longest time, and returns it; the
// caller must run it. It returns nil if no probe is due, or MaxProbes allows no further attempt.
func (p *Prober) beginNextAttempt(ctx context.Context, now time.Time) *attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.firstStartableLocked()
	if first == nil || first.due.After(now) {
		return nil
	}
	c := first.container
	a := &attempt{probe: first, pod: c.pod.spec, generation: c.state.Generation(), begun: now, lastTimedOut: first.lastTimedOut}
	a.request = Request{
		UID: c.pod.uid, Namespace: c.pod.spec.Namespace, Name: c.pod.spec.Name, PodIP: c.pod.ip,
		Container: c.name, ContainerID: c.state.ID(), Ports: c.ports,
		Kind: first.kind, Handler: first.handler, Timeout: first.timeout,
	}
	a.ctx.Init(ctx)
	first.running, first.unreturned = a, a
	p.mu.attempts[a] = struct{}{}
	if a.lastTimedOut {
		p.mu.runSlow++
	}
	c.state.BeginAttempt(first.kind, now)
	p.queueResultsAndRescheduleLocked(c, nil, "")
	return a
}

// runAttempt makes the checks of one attempt, applies the result to the verdict of the probe, and reports it.
func (p *Prober) runAttempt(a *attempt) {
	answer := p.checkWithRetries(a)
	ended := a.ctx.Err() != nil
	a.cancelChecksAndDropResult()
	p.finishAttemptAndReport(a, answer, ended)
}

// checkWithRetries repeats the check of an attempt until the check returns a result and no error, at most
// maxChecksPerAttempt times. It does not repeat a check after a panic, or after the attempt is cancelled
// (PR-20).
func (p *Prober) checkWithRetries(a *attempt) checkAnswer {
	var last checkAnswer
	for range maxChecksPerAttempt {
		var panicked bool
		last, panicked = p.makeCheckWithinTimeout(a)
		if last.err == nil || panicked || a.ctx.Err() != nil {
			break
		}
	}
	return last
}

// makeCheckWithinTimeout makes one check within the timeout of the probe. A check that reaches the timeout has
// failed. A panic of the Checker becomes an error, and panicked is true.
func (p *Prober) makeCheckWithinTimeout(a *attempt) (ans checkAnswer, panicked bool) {
	ctx, cancel := p.executor.WithDeadline(&a.ctx, p.executor.Now().Add(a.request.Timeout))
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			ans, panicked = checkAnswer{err: p.guard.HandlePanic("Checker.Check", v)}, true
		}
	}()
	outcome, message, err := p.cfg.Check.Check(ctx, a.request)
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case err != nil && late && a.ctx.Err() == nil:
		return checkAnswer{outcome: Failed, message: fmt.Sprintf("no answer within %v", a.request.Timeout), timedOut: true}, false
	case err != nil:
		_, below := contain.AsType[*contain.Panic](err) // The checker called a runtime that panicked.
		return checkAnswer{err: err}, below
	case outcome < Passed || outcome > Failed:
		return checkAnswer{err: errNoResult}, false
	}
	return checkAnswer{outcome: outcome, message: truncateMessage(message), timedOut: late}, false
}

// truncateMessage returns at most maxMessageBytes of a message as valid UTF-8. A cut message ends in "…".
func truncateMessage(s string) string {
	if len(s) > maxMessageBytes {
		s = s[:maxMessageBytes] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}

// finishAttemptAndReport ends an attempt, applies its result to the verdict of the probe and, unless
// isCancelled is true, reports the attempt. A result that is no longer needed is dropped, and a failure during
// a suspension of the process does not count. At the end it delivers all queued verdict changes.
func (p *Prober) finishAttemptAndReport(a *attempt, ans checkAnswer, isCancelled bool) {
	now := p.executor.Now()
	p.mu.Lock()
	delete(p.mu.attempts, a)
	if a.lastTimedOut {
		p.mu.runSlow--
	}
	gap := p.skipTicksAfterSuspensionLocked(now)
	wanted := a.probe.running == a
	if ans.outcome == Failed && a.begun.Before(p.mu.resumed) {
		ans = checkAnswer{err: errors.New("prober: the process was stopped during the check"), timedOut: ans.timedOut}
	}
	c := a.probe.container
	a.probe.unreturned = nil
	switch {
	case wanted:
		p.applyAnswerAndPlanNextLocked(a, ans, isCancelled, now)
	case p.mu.pods[c.pod.uid] == c.pod: // The probe of a removed pod is never due again.
		p.queueResultsAndRescheduleLocked(c, nil, "")
	}
	p.unlockCancelAndWake()
	p.reportSuspension(gap)
	if wanted && !isCancelled {
		p.reportAttempt(a, ans, now.Sub(a.begun))
	}
	p.results.deliverAll(p.deliverResult)
}

// applyAnswerAndPlanNextLocked applies the result of an attempt to the verdict of the probe and queues a
// changed verdict. A cancelled attempt counts as one without a result. It also plans the next attempt.
func (p *Prober) applyAnswerAndPlanNextLocked(a *attempt, ans checkAnswer, isCancelled bool, now time.Time) {
	a.probe.running = nil
	if isCancelled {
		ans = checkAnswer{}
	}
	c := a.probe.container
	var buf [verdict.Kinds]verdict.Change
	changes := c.state.FinishAttempt(a.probe.kind, a.generation, ans.outcome.toVerdict(), now, buf[:0])
	a.probe.lastTimedOut = ans.timedOut // The probe is in no schedule, because it has just been running.
	p.queueResultsAndRescheduleLocked(c, changes, ans.message)
}

// recordWarning records a Warning event for the container of a probe attempt. If the message ends in ": ",
// because the last argument is empty, it removes this end.
func (p *Prober) recordWarning(a *attempt, reason, format string, args ...any) {
	message := strings.TrimSuffix(fmt.Sprintf(format, args...), ": ")
	p.cfg.Recorder.Event(podmanager.Reference(a.pod, a.request.Container), v1.EventTypeWarning, reason, message)
}

// reportAttempt calls Hooks.Probed with the result of an attempt. If the check failed, returned a warning or
// could not be made, it first records a Warning event. If the check could not be made, it also writes a log
// line.
func (p *Prober) reportAttempt(a *attempt, ans checkAnswer, took time.Duration) {
	kind := a.probe.kind.String()
	switch {
	case ans.err != nil:
		p.cfg.Log.Warn("a probe could not be made", "pod", a.request.Namespace+"/"+a.request.Name, "uid", a.request.UID,
			"container", a.request.Container, "probe", kind, "err", ans.err)
		p.recordWarning(a, reasonUnhealthy, "%s probe of container %s could not be made: %s",
			kind, a.request.Container, truncateMessage(plain.Text(ans.err.Error())))
	case ans.outcome == Failed:
		p.recordWarning(a, reasonUnhealthy, "%s probe of container %s failed: %s",
			kind, a.request.Container, ans.message)
	case ans.outcome == Warned:
		p.recordWarning(a, reasonWarning, "%s probe warning: %s", kind, ans.message)
	}
	p.cfg.Hooks.Probed(Attempt{
		UID: a.request.UID, Container: a.request.Container, ContainerID: a.request.ContainerID,
		Kind: a.probe.kind, Result: ans.outcome, Message: ans.message, Err: ans.err, Took: took,
	})
}
