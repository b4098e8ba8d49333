package images

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// PullRequest is the request to pull an image.
type PullRequest struct {
	Image     string // a result of Normalize
	Pod       runtime.PodRef
	Container string
	Volume    string
	// Auths are tried in order. None means an anonymous pull. Callers with different credentials do not
	// share a pull.
	Auths []runtime.Auth
}

// Pulled is a pulled image.
type Pulled struct {
	// Ref is the reference for the creation of containers.
	Ref string
	// Took is the time since the pull left the queue, which may be before this caller arrived. Waited
	// is the time that the caller has waited.
	Took, Waited time.Duration
}

// sharedPull is one pull and the callers that wait for it. Manager.mu guards everything except image
// and auths, which do not change.
type sharedPull struct {
	image          string
	auths          []runtime.Auth
	queueElement   *list.Element // nil: the pull has left the queue
	callInProgress bool
	started        time.Time // when the pull left the queue
	done           bool
	result         Pulled
	err            error
	callers        []*pullCaller // in order of arrival; the first one pulls
}

// pullCaller is one call of Pull.
type pullCaller struct{ event executor.Event }

// Pull pulls an image. It returns when the image is pulled, when the pull has failed, or when ctx ends.
// The caller must hold a Lease of the image. The error joins the errors of the runtime, one for each
// credential, or is the error of ctx.
func (m *Manager) Pull(ctx context.Context, req PullRequest) (Pulled, error) {
	if err := ctx.Err(); err != nil {
		return Pulled{}, err
	}
	came := m.executor.Now()
	f, c := m.joinOrQueuePull(req)
	defer m.leavePull(f, c)
	for {
		switch m.nextActionReservingCall(f, c) {
		case actionReturn:
			result := f.result
			result.Waited = m.executor.Now().Sub(came)
			return result, f.err
		case actionPull:
			if err := m.pullAndShareResult(ctx, f, req); err != nil {
				return Pulled{}, err // The next caller continues the pull.
			}
			if err := ctx.Err(); err != nil && !m.isPullDone(f) {
				return Pulled{}, err // The next caller continues the pull.
			}
		case actionWait:
			if err := c.event.Wait(ctx); err != nil {
				return Pulled{}, err
			}
		}
	}
}

// joinOrQueuePull adds the caller to the current pull of the same image with the same credentials. If there is
// no such pull, it appends a new one to the queue, and takes pulls from the queue as the limits allow. It does
// not call the runtime.
func (m *Manager) joinOrQueuePull(req PullRequest) (*sharedPull, *pullCaller) {
	c := &pullCaller{event: m.executor.NewEvent()}
	now := m.executor.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.mu.flights[req.Image] {
		if slices.Equal(f.auths, req.Auths) {
			f.callers = append(f.callers, c)
			return f, c
		}
	}
	f := &sharedPull{image: req.Image, auths: slices.Clone(req.Auths), callers: []*pullCaller{c}}
	m.mu.flights[f.image] = append(m.mu.flights[f.image], f)
	f.queueElement = m.mu.waiting.PushBack(f)
	m.startQueuedLocked(now) // It may start this pull; the caller then checks nextActionReservingCall.
	return f, c
}

// callerAction is what a caller of Pull does next.
type callerAction uint8

const (
	actionWait callerAction = iota
	actionPull
	actionReturn
)

// nextActionReservingCall returns what a caller of a shared image pull does next: return the result, wait, or
// call the runtime. Only the caller that joined the pull first may call the runtime. Before it returns
// actionPull, it stores that the runtime is being called, so that no other caller does so.
func (m *Manager) nextActionReservingCall(pull *sharedPull, caller *pullCaller) callerAction {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case pull.done:
		return actionReturn
	case pull.queueElement != nil, pull.callInProgress, pull.callers[0] != caller:
		return actionWait
	}
	pull.callInProgress = true
	return actionPull
}

// isPullDone reports whether a shared pull has ended with a result, which may be an error.
func (m *Manager) isPullDone(pull *sharedPull) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return pull.done
}

// pullAndShareResult pulls the image, calls Hooks.Pulled and gives the result, also an error, to all callers.
// If ctx has ended, there is no result: it returns nil, and the next caller pulls. A panic of the runtime is
// returned as an error to this caller only.
func (m *Manager) pullAndShareResult(ctx context.Context, pull *sharedPull, req PullRequest) error {
	bounded, cancel := m.executor.WithDeadline(ctx, m.executor.Now().Add(m.config.PullTimeout))
	defer cancel()
	ref, err := m.pullWithAuths(bounded, req)
	if err != nil && ctx.Err() != nil {
		return nil
	}
	if _, ok := contain.AsType[*contain.Panic](err); ok {
		return err
	}
	took := m.executor.Now().Sub(pull.started)
	m.config.Hooks.Pulled(Pull{Image: pull.image, Took: took, Err: err})
	m.storePullResultAndWakeCallers(pull, Pulled{Ref: ref, Took: took}, err)
	return nil
}

// pullWithAuths tries to pull the image with each credential in turn, until one succeeds or ctx ends. If none
// succeeds, it returns the joined errors. Without credentials it pulls once, anonymously.
func (m *Manager) pullWithAuths(ctx context.Context, req PullRequest) (ref string, err error) {
	call := runtime.PullImageRequest{Image: req.Image, Pod: req.Pod, Container: req.Container, Volume: req.Volume}
	if len(req.Auths) == 0 {
		return m.config.Images.PullImage(ctx, call)
	}
	var errs []error
	for i := range req.Auths {
		auth := req.Auths[i]
		call.Auth = &auth
		if ref, err = m.config.Images.PullImage(ctx, call); err == nil {
			return ref, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return "", errors.Join(errs...)
}

// storePullResultAndWakeCallers stores the result of a pull and wakes the callers that wait for it. It also
// takes the next pulls from the queue and wakes their first callers, who make them.
func (m *Manager) storePullResultAndWakeCallers(pull *sharedPull, result Pulled, err error) {
	now := m.executor.Now()
	m.mu.Lock()
	pull.done, pull.result, pull.err = true, result, err
	callers := pull.callers
	m.removePullLocked(pull)
	wake := m.startQueuedLocked(now)
	m.mu.Unlock()
	signalCallers(callers)
	signalCallers(wake)
}

// leavePull removes a caller from a shared image pull that has no result yet. If it was the first caller, it
// wakes the next caller, who continues the pull. If no caller is left, it deletes the pull and starts the next
// pulls from the queue.
func (m *Manager) leavePull(pull *sharedPull, caller *pullCaller) {
	now := m.executor.Now()
	m.mu.Lock()
	if pull.done {
		m.mu.Unlock()
		return
	}
	first := pull.callers[0] == caller
	pull.callers = slices.DeleteFunc(slices.Clone(pull.callers), func(x *pullCaller) bool { return x == caller })
	var wake []*pullCaller
	switch {
	case len(pull.callers) == 0:
		m.removePullLocked(pull)
		wake = m.startQueuedLocked(now)
	case first:
		pull.callInProgress = false
		wake = pull.callers[:1]
	}
	m.mu.Unlock()
	signalCallers(wake)
}

// removePullLocked deletes a pull from the pulls of its image. It also removes the pull from the queue or, if
// it has left the queue, from the counts of running pulls.
func (m *Manager) removePullLocked(pull *sharedPull) {
	others := slices.DeleteFunc(slices.Clone(m.mu.flights[pull.image]), func(x *sharedPull) bool { return x == pull })
	if m.mu.flights[pull.image] = others; len(others) == 0 {
		delete(m.mu.flights, pull.image)
	}
	if pull.queueElement != nil {
		m.mu.waiting.Remove(pull.queueElement)
		return
	}
	m.mu.pulls--
	host := registryHost(pull.image)
	if m.mu.pullsByRegistry[host]--; m.mu.pullsByRegistry[host] == 0 {
		delete(m.mu.pullsByRegistry, host)
	}
}

// startQueuedLocked takes pulls from the queue, in the order of arrival, as the limits for all pulls and for
// each registry allow. It counts them as running and returns the first caller of each. The caller must wake
// them, because they make the pulls.
func (m *Manager) startQueuedLocked(now time.Time) (wake []*pullCaller) {
	for e := m.mu.waiting.Front(); e != nil && isBelowLimit(m.mu.pulls, m.config.MaxPulls); {
		f, next := e.Value.(*sharedPull), e.Next()
		if host := registryHost(f.image); isBelowLimit(m.mu.pullsByRegistry[host], m.config.MaxPullsPerRegistry) {
			m.mu.waiting.Remove(e)
			f.queueElement, f.started = nil, now
			m.mu.pulls++
			m.mu.pullsByRegistry[host]++
			wake = append(wake, f.callers[0])
		}
		e = next
	}
	return wake
}

// isBelowLimit reports whether n is below the limit. A negative limit means no limit.
func isBelowLimit(n, limit int) bool { return limit < 0 || n < limit }

// signalCallers wakes the given callers of a pull.
func signalCallers(callers []*pullCaller) {
	for _, c := range callers {
		c.event.Signal()
	}
}
