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

// PullRequest asks for an image.
type PullRequest struct {
	Image     string // as Normalize gives it
	Pod       runtime.PodRef
	Container string
	Volume    string
	// Auths are tried in order; none is anonymous. Callers with different credentials do
	// not share a pull.
	Auths []runtime.Auth
}

// Pulled is an image that was pulled.
type Pulled struct {
	// Ref is what containers are created with.
	Ref string
	// Took is how long the pull has taken since its turn came, also if most of
	// that was before this caller came. Waited is how long the caller was there.
	Took, Waited time.Duration
}

// flight is one pull and all who wait for it. Everything in it is guarded by
// Manager.mu, but for image and auths, which do not change.
type flight struct {
	image   string
	auths   []runtime.Auth
	place   *list.Element // in the queue; nil: its turn has come
	pulling bool
	begun   time.Time // when its turn came
	over    bool
	result  Pulled
	err     error
	callers []*caller // in order of arrival; the first one pulls
}

// caller is one call of Pull.
type caller struct{ event executor.Event }

// Pull fetches an image and returns when that is done, has failed, or ctx has
// ended. The caller holds a Lease. Its error is the runtime's, one for each
// credential that was tried, or ctx's.
func (m *Manager) Pull(ctx context.Context, req PullRequest) (Pulled, error) {
	if err := ctx.Err(); err != nil {
		return Pulled{}, err
	}
	came := m.executor.Now()
	f, c := m.join(req)
	defer m.leave(f, c)
	for {
		switch m.next(f, c) {
		case answered:
			result := f.result
			result.Waited = m.executor.Now().Sub(came)
			return result, f.err
		case pulls:
			if err := m.pull(ctx, f, req); err != nil {
				return Pulled{}, err // The next in order takes over.
			}
			if err := ctx.Err(); err != nil && !m.answered(f) {
				return Pulled{}, err // The next in order takes over.
			}
		case waits:
			if err := c.event.Wait(ctx); err != nil {
				return Pulled{}, err
			}
		}
	}
}

// join finds the pull that a caller can share, or makes one.
func (m *Manager) join(req PullRequest) (*flight, *caller) {
	c := &caller{event: m.executor.NewEvent()}
	now := m.executor.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.mu.flights[req.Image] {
		if slices.Equal(f.auths, req.Auths) {
			f.callers = append(f.callers, c)
			return f, c
		}
	}
	f := &flight{image: req.Image, auths: slices.Clone(req.Auths), callers: []*caller{c}}
	m.mu.flights[f.image] = append(m.mu.flights[f.image], f)
	f.place = m.mu.waiting.PushBack(f)
	m.grantLocked(now) // The caller looks whether it was for it.
	return f, c
}

// step is what a caller does next.
type step uint8

const (
	waits step = iota
	pulls
	answered
)

// next says what a caller does next; if that is to pull, nobody else will.
func (m *Manager) next(f *flight, c *caller) step {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case f.over:
		return answered
	case f.place != nil, f.pulling, f.callers[0] != c:
		return waits
	}
	f.pulling = true
	return pulls
}

func (m *Manager) answered(f *flight) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return f.over
}

// pull makes the calls. One that fails because its caller has left is no
// answer for the others; nor is a panic of the runtime, which is the error of its
// caller alone.
func (m *Manager) pull(ctx context.Context, f *flight, req PullRequest) error {
	bounded, cancel := m.executor.WithDeadline(ctx, m.executor.Now().Add(m.config.PullTimeout))
	defer cancel()
	ref, err := m.try(bounded, req)
	if err != nil && ctx.Err() != nil {
		return nil
	}
	if _, ok := contain.AsType[*contain.Panic](err); ok {
		return err
	}
	took := m.executor.Now().Sub(f.begun)
	m.config.Hooks.Pulled(Pull{Image: f.image, Took: took, Err: err})
	m.finish(f, Pulled{Ref: ref, Took: took}, err)
	return nil
}

// try pulls with each credential until one is good.
func (m *Manager) try(ctx context.Context, req PullRequest) (ref string, err error) {
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

// finish answers all who wait for a pull.
func (m *Manager) finish(f *flight, result Pulled, err error) {
	now := m.executor.Now()
	m.mu.Lock()
	f.over, f.result, f.err = true, result, err
	callers := f.callers
	m.dropLocked(f)
	wake := m.grantLocked(now)
	m.mu.Unlock()
	signal(callers)
	signal(wake)
}

// leave ends a call, in whatever way it has ended. Whoever was to pull and has
// not leaves that to the next; a pull that nobody wants any more is dropped.
func (m *Manager) leave(f *flight, c *caller) {
	now := m.executor.Now()
	m.mu.Lock()
	if f.over {
		m.mu.Unlock()
		return
	}
	first := f.callers[0] == c
	f.callers = slices.DeleteFunc(slices.Clone(f.callers), func(x *caller) bool { return x == c })
	var wake []*caller
	switch {
	case len(f.callers) == 0:
		m.dropLocked(f)
		wake = m.grantLocked(now)
	case first:
		f.pulling = false
		wake = f.callers[:1]
	}
	m.mu.Unlock()
	signal(wake)
}

// dropLocked takes a pull off the books.
func (m *Manager) dropLocked(f *flight) {
	others := slices.DeleteFunc(slices.Clone(m.mu.flights[f.image]), func(x *flight) bool { return x == f })
	if m.mu.flights[f.image] = others; len(others) == 0 {
		delete(m.mu.flights, f.image)
	}
	if f.place != nil {
		m.mu.waiting.Remove(f.place)
		return
	}
	m.mu.pulls--
	host := registryHost(f.image)
	if m.mu.of[host]--; m.mu.of[host] == 0 {
		delete(m.mu.of, host)
	}
}

// grantLocked gives their turns to those who have waited longest, as far as
// there is room, and returns whom to wake.
func (m *Manager) grantLocked(now time.Time) (wake []*caller) {
	for e := m.mu.waiting.Front(); e != nil && below(m.mu.pulls, m.config.MaxPulls); {
		f, next := e.Value.(*flight), e.Next()
		if host := registryHost(f.image); below(m.mu.of[host], m.config.MaxPullsPerRegistry) {
			m.mu.waiting.Remove(e)
			f.place, f.begun = nil, now
			m.mu.pulls++
			m.mu.of[host]++
			wake = append(wake, f.callers[0])
		}
		e = next
	}
	return wake
}

func below(n, limit int) bool { return limit < 0 || n < limit }

func signal(callers []*caller) {
	for _, c := range callers {
		c.event.Signal()
	}
}
