package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
)

const (
	maxTokenAge = 24 * time.Hour // a token is replaced after this time at the latest
	minBackoff  = time.Second
	maxBackoff  = 30 * time.Second
	// A server that does not know a just bound pod yet is asked again after this pause, doubled each time, up to this
	// number of attempts.
	earlyPause    = 50 * time.Millisecond
	earlyAttempts = 5
	// Run makes this many requests concurrently, each with this timeout.
	parallelRequests = 8
	requestTimeout   = 30 * time.Second
	replaceSpread    = 10 * time.Second // a token is replaced up to this much earlier, at random
)

// TokensConfig configures Tokens. Tokens is required.
type TokensConfig struct {
	// Tokens requests the tokens.
	Tokens apiserver.Tokens
	// Contact records the result of every call. It may be nil.
	Contact *contact.Contact
	// Changed is called when Run has replaced a token of a pod. Any goroutine calls it without a lock. It must not
	// block, and may be nil.
	Changed func(uid types.UID)
	// Clock is the clock. Nil: the real clock.
	Clock clock.Clock
	// Jitter returns a number in [0, 1). Nil: random numbers.
	Jitter func() float64
}

// Tokens holds the service account tokens of the pods of a node. Make one with NewTokens. Its methods are safe for
// concurrent use.
type Tokens struct {
	cfg      TokensConfig
	executor executor.Executor
	wake     executor.Event
	ran      atomic.Bool

	mu struct {
		sync.Mutex
		tokens map[tokenKey]*token
	}
}

// tokenKey identifies a token: the pod, the service account, the audience and the requested lifetime.
type tokenKey struct {
	uid                      types.UID
	namespace, name, account string
	audience                 string
	seconds                  int64
}

// token is a token and the state of the request for its replacement.
type token struct {
	value                   string
	replaceAt, expires      time.Time
	pendingRequest          executor.Latch // opens when the request has completed; nil: no request runs
	failures, earlyFailures int
	err                     error
	retryAt                 time.Time
}

// tokenToRequest is a token that is marked as pending. The caller that marked it must request it.
type tokenToRequest struct {
	tokenKey
	*token
}

// NewTokens returns Tokens without any token. The error names a fault of the configuration.
func NewTokens(cfg TokensConfig) (*Tokens, error) {
	if cfg.Tokens == nil {
		return nil, errors.New("objects: TokensConfig.Tokens is nil")
	}
	if cfg.Contact == nil {
		cfg.Contact = contact.New(contact.Config{Clock: cfg.Clock})
	}
	contain.SetDefault(&cfg.Changed, func(types.UID) {})
	contain.SetDefault(&cfg.Jitter, rand.Float64)
	s := &Tokens{cfg: cfg, executor: executor.Over(cfg.Clock)}
	s.wake = s.executor.NewEvent()
	s.mu.tokens = map[tokenKey]*token{}
	return s, nil
}

// Token returns a token of the pod's service account that is bound to the pod. An empty audience means the API server.
// The server may grant another lifetime than expirationSeconds. Token returns the same token until it is due for
// replacement, and then requests a new one. An error means that there is no valid token. Token returns when ctx is
// done.
func (s *Tokens) Token(ctx context.Context, pod *v1.Pod, audience string, expirationSeconds int64) (string, error) {
	k := tokenKey{pod.UID, pod.Namespace, pod.Name, pod.Spec.ServiceAccountName, audience, expirationSeconds}
	for ctx.Err() == nil {
		switch now := s.lookUpOrMarkPending(k); {
		case now.retryIn > 0:
			if err := s.executor.Sleep(ctx, now.retryIn); err != nil {
				return "", err
			}
		case now.value != "" || now.err != nil:
			return now.value, now.err
		case now.toRequest != nil:
			s.requestToken(ctx, tokenToRequest{k, now.toRequest})
		default:
			if err := now.wait.Wait(ctx); err != nil {
				return "", err
			}
		}
	}
	return "", ctx.Err()
}

// tokenLookup has one of: a token, the error of the last request, the time until the next lookup, a running request to
// wait for, or a token that the caller must request.
type tokenLookup struct {
	value     string
	err       error
	retryIn   time.Duration
	wait      executor.Latch
	toRequest *token
}

// lookUpOrMarkPending returns what a caller of Token must do: use a valid token, return an error, wait for a
// running request, or wait for a retry. In all other cases it marks a request as pending, and the caller must
// call requestToken.
func (s *Tokens) lookUpOrMarkPending(k tokenKey) tokenLookup {
	now := s.executor.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.mu.tokens[k]
	if t == nil {
		t = &token{}
		s.mu.tokens[k] = t
	}
	valid := now.Before(t.expires)
	switch {
	case valid && (now.Before(t.replaceAt) || now.Before(t.retryAt) || t.pendingRequest != nil):
		return tokenLookup{value: t.value}
	case t.pendingRequest != nil:
		return tokenLookup{wait: t.pendingRequest}
	case now.Before(t.retryAt) && t.failures == 0:
		return tokenLookup{retryIn: t.retryAt.Sub(now)}
	case now.Before(t.retryAt):
		return tokenLookup{err: t.err}
	}
	t.pendingRequest = s.executor.NewLatch()
	return tokenLookup{toRequest: t}
}

// requestToken requests a token that is marked as pending, stores the token or the time of the next attempt,
// and clears the mark. After a success it wakes Run and returns true. It stores nothing if Forget was called
// meanwhile or ctx has ended.
func (s *Tokens) requestToken(ctx context.Context, k tokenToRequest) (stored bool) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &k.seconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: k.name, UID: k.uid},
	}}
	if k.audience != "" {
		request.Spec.Audiences = []string{k.audience}
	}
	asked := s.executor.Now()
	answer, err := s.cfg.Tokens.CreateToken(ctx, k.namespace, k.account, request)
	s.cfg.Contact.Report(err)
	if err == nil && answer.Status.Token == "" {
		err = errEmptyToken
	}
	now := s.executor.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := k.token
	if s.mu.tokens[k.tokenKey] != t {
		return false // Forget was called; another request for the UID may already run.
	}
	t.pendingRequest.Open()
	t.pendingRequest = nil
	switch {
	case err != nil && ctx.Err() != nil: // Another caller may have a longer deadline.
		return false
	case (apierrors.IsNotFound(err) || apierrors.IsForbidden(err)) && t.earlyFailures < earlyAttempts:
		t.retryAt = now.Add(earlyPause << t.earlyFailures)
		t.earlyFailures++
		return false
	case err != nil:
		t.retryAt = now.Add(min(minBackoff<<min(t.failures, 5), maxBackoff))
		t.failures++
		t.err = fmt.Errorf("objects: service account %s/%s: %w", k.namespace, k.account, err)
		return false
	}
	*t = s.tokenFromResponse(k.tokenKey, answer, asked)
	s.wake.Signal()
	return true
}

var errEmptyToken = errors.New("the server has granted an empty token")

// tokenFromResponse returns the granted token with its expiry and the time of its replacement. That time is
// randomly a little before 80 % of its lifetime or before maxTokenAge. The lifetime counts from the time of the
// request, so that the server's clock does not matter.
func (s *Tokens) tokenFromResponse(k tokenKey, answer *authenticationv1.TokenRequest, asked time.Time) token {
	seconds := k.seconds
	if granted := answer.Spec.ExpirationSeconds; granted != nil && *granted > 0 {
		seconds = *granted
	}
	lifetime := time.Duration(min(seconds, int64(maxTokenAge/time.Second)*365)) * time.Second
	early := time.Duration(s.cfg.Jitter() * float64(min(replaceSpread, lifetime/10)))
	return token{value: answer.Status.Token, expires: asked.Add(lifetime), replaceAt: asked.Add(min(lifetime*4/5, maxTokenAge) - early)}
}

// Run replaces due tokens until ctx is done, and then returns nil. It does not replace a token that no call of Token
// has returned, or whose pod was forgotten. A second call returns runtime.ErrSecondRun.
func (s *Tokens) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return fmt.Errorf("objects: %w", runtime.ErrSecondRun)
	}
	for ctx.Err() == nil {
		due, next := s.markDueTokensPending()
		executor.Each(s.executor, parallelRequests, len(due), func(i int) { s.replaceTokenAndNotify(ctx, due[i]) })
		if len(due) > 0 {
			continue
		}
		var err error
		if next.IsZero() {
			err = s.wake.Wait(ctx)
		} else {
			_, err = s.wake.WaitUntil(ctx, next)
		}
		if err != nil {
			break
		}
	}
	return nil
}

// markDueTokensPending returns the tokens that are due for replacement, in the order of their keys, and marks
// their requests as pending. next is the time when the next token is due, or zero. It skips tokens that were
// never granted, and those with a running request.
func (s *Tokens) markDueTokensPending() (due []tokenToRequest, next time.Time) {
	now := s.executor.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, t := range s.mu.tokens {
		at := t.replaceAt
		if t.retryAt.After(at) {
			at = t.retryAt
		}
		switch {
		case t.value == "" || t.pendingRequest != nil:
		case !now.Before(at):
			t.pendingRequest = s.executor.NewLatch()
			due = append(due, tokenToRequest{k, t})
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	slices.SortFunc(due, func(a, b tokenToRequest) int { return cmp.Compare(fmt.Sprint(a.tokenKey), fmt.Sprint(b.tokenKey)) })
	return due, next
}

// replaceTokenAndNotify requests a token that is marked as pending, within requestTimeout, and calls Changed
// for its pod if there is a new token.
func (s *Tokens) replaceTokenAndNotify(ctx context.Context, k tokenToRequest) {
	asking, cancel := s.executor.WithDeadline(ctx, s.executor.Now().Add(requestTimeout))
	defer cancel()
	if s.requestToken(asking, k) {
		s.cfg.Changed(k.uid)
	}
}

// Retry ends the pauses after failures, because the server answers again. It never blocks.
func (s *Tokens) Retry() {
	s.mu.Lock()
	for _, t := range s.mu.tokens {
		if t.failures > 0 {
			t.failures, t.retryAt = 0, time.Time{}
		}
	}
	s.mu.Unlock()
	s.wake.Signal()
}

// Forget removes the tokens of a pod. Call it when the pod is gone, at any time.
func (s *Tokens) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, t := range s.mu.tokens {
		if k.uid == uid {
			if t.pendingRequest != nil {
				t.pendingRequest.Open()
			}
			delete(s.mu.tokens, k)
		}
	}
}
