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
	longest    = 24 * time.Hour // a token is replaced after this time, whatever its own
	firstPause = time.Second
	lastPause  = 30 * time.Second
	// A server that does not know a pod yet that it has just bound is asked again this soon,
	// doubled each time, and so often.
	earlyPause = 50 * time.Millisecond
	earlyAsks  = 5
	// Run asks for so many tokens at once, and gives up a request after this time.
	parallel   = 8
	askTimeout = 30 * time.Second
	spread     = 10 * time.Second // a token is replaced up to so much earlier
)

// TokensConfig is what Tokens are made of. Tokens is required.
type TokensConfig struct {
	// Tokens is where they come from.
	Tokens apiserver.Tokens
	// Contact learns from every call. It may be nil.
	Contact *contact.Contact
	// Changed is called when Run has replaced a token of a pod, by any goroutine and with no lock
	// held. It must not block, and may be nil.
	Changed func(uid types.UID)
	// Clock is what time it is. Nil: the real clock.
	Clock clock.Clock
	// Jitter returns a number in [0, 1). Nil: a random one.
	Jitter func() float64
}

// Tokens has the tokens of the pods of a node. Make one with New. Its methods are safe for
// concurrent use.
type Tokens struct {
	cfg      TokensConfig
	executor executor.Executor
	wake     executor.Event
	ran      atomic.Bool

	mu struct {
		sync.Mutex
		tokens map[key]*token
	}
}

// key is what one token is for.
type key struct {
	uid                      types.UID
	namespace, name, account string
	audience                 string
	seconds                  int64
}

// token is one, and the request for its successor.
type token struct {
	value            string
	replace, expires time.Time
	asking           executor.Latch // opens when the request has ended; nil: none is under way
	failures, early  int
	err              error
	retry            time.Time
}

// claim is the right to make the request for a token.
type claim struct {
	key
	*token
}

// NewTokens returns Tokens that have no token. Its error says what is wrong with the configuration.
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
	s.mu.tokens = map[key]*token{}
	return s, nil
}

// Token returns a token of the pod's service account, bound to the pod: for the API server if
// audience is empty, to last for so long if the server agrees. It returns the same token until
// that is to be replaced, and then asks the server. An error means that there is no token that
// is valid. It ends with ctx.
func (s *Tokens) Token(ctx context.Context, pod *v1.Pod, audience string, expirationSeconds int64) (string, error) {
	k := key{pod.UID, pod.Namespace, pod.Name, pod.Spec.ServiceAccountName, audience, expirationSeconds}
	for ctx.Err() == nil {
		switch now := s.get(k); {
		case now.soon > 0:
			if err := s.executor.Sleep(ctx, now.soon); err != nil {
				return "", err
			}
		case now.value != "" || now.err != nil:
			return now.value, now.err
		case now.claimed != nil:
			s.ask(ctx, claim{k, now.claimed})
		default:
			if err := now.wait.Wait(ctx); err != nil {
				return "", err
			}
		}
	}
	return "", ctx.Err()
}

// answer is one of: a token, what failed, after what time to look again, the request to wait for,
// or what the caller is to ask for.
type answer struct {
	value   string
	err     error
	soon    time.Duration
	wait    executor.Latch
	claimed *token
}

// get finds a token, or claims the request for it.
func (s *Tokens) get(k key) answer {
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
	case valid && (now.Before(t.replace) || now.Before(t.retry) || t.asking != nil):
		return answer{value: t.value}
	case t.asking != nil:
		return answer{wait: t.asking}
	case now.Before(t.retry) && t.failures == 0:
		return answer{soon: t.retry.Sub(now)}
	case now.Before(t.retry):
		return answer{err: t.err}
	}
	t.asking = s.executor.NewLatch()
	return answer{claimed: t}
}

// ask requests a token that was claimed, notes the answer, and reports whether there is a new
// token.
func (s *Tokens) ask(ctx context.Context, k claim) bool {
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
		err = errEmpty
	}
	now := s.executor.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := k.token
	if s.mu.tokens[k.key] != t {
		return false // Forget was called, and perhaps another request for a new pod of this UID is under way.
	}
	t.asking.Open()
	t.asking = nil
	switch {
	case err != nil && ctx.Err() != nil: // Another caller may have more time.
		return false
	case (apierrors.IsNotFound(err) || apierrors.IsForbidden(err)) && t.early < earlyAsks:
		t.retry = now.Add(earlyPause << t.early)
		t.early++
		return false
	case err != nil:
		t.retry = now.Add(min(firstPause<<min(t.failures, 5), lastPause))
		t.failures++
		t.err = fmt.Errorf("objects: service account %s/%s: %w", k.namespace, k.account, err)
		return false
	}
	*t = s.granted(k.key, answer, asked)
	s.wake.Signal()
	return true
}

var errEmpty = errors.New("the server has granted an empty token")

// granted is a token that was asked for at a time. It lasts for as long as the server says from
// then on, whatever time it is at the server.
func (s *Tokens) granted(k key, answer *authenticationv1.TokenRequest, asked time.Time) token {
	seconds := k.seconds
	if granted := answer.Spec.ExpirationSeconds; granted != nil && *granted > 0 {
		seconds = *granted
	}
	lifetime := time.Duration(min(seconds, int64(longest/time.Second)*365)) * time.Second
	early := time.Duration(s.cfg.Jitter() * float64(min(spread, lifetime/10)))
	return token{value: answer.Status.Token, expires: asked.Add(lifetime), replace: asked.Add(min(lifetime*4/5, longest) - early)}
}

// Run replaces tokens when they are due, until ctx ends, and then returns nil. A token that no
// call of Token has returned yet, or whose pod was forgotten, is not replaced. Another call
// returns runtime.ErrSecondRun.
func (s *Tokens) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return fmt.Errorf("objects: %w", runtime.ErrSecondRun)
	}
	for ctx.Err() == nil {
		due, next := s.due()
		executor.Each(s.executor, parallel, len(due), func(i int) { s.replace(ctx, due[i]) })
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

// due claims the tokens that are to be replaced now, in order, and returns when the next one is.
func (s *Tokens) due() (due []claim, next time.Time) {
	now := s.executor.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, t := range s.mu.tokens {
		at := t.replace
		if t.retry.After(at) {
			at = t.retry
		}
		switch {
		case t.value == "" || t.asking != nil:
		case !now.Before(at):
			t.asking = s.executor.NewLatch()
			due = append(due, claim{k, t})
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	slices.SortFunc(due, func(a, b claim) int { return cmp.Compare(fmt.Sprint(a.key), fmt.Sprint(b.key)) })
	return due, next
}

// replace asks for a token that was claimed.
func (s *Tokens) replace(ctx context.Context, k claim) {
	asking, cancel := s.executor.WithDeadline(ctx, s.executor.Now().Add(askTimeout))
	defer cancel()
	if s.ask(asking, k) {
		s.cfg.Changed(k.uid)
	}
}

// Retry ends the pauses after failures: the server answers again. It never blocks.
func (s *Tokens) Retry() {
	s.mu.Lock()
	for _, t := range s.mu.tokens {
		if t.failures > 0 {
			t.failures, t.retry = 0, time.Time{}
		}
	}
	s.mu.Unlock()
	s.wake.Signal()
}

// Forget drops the tokens of a pod. It is called when the pod is gone, at any time.
func (s *Tokens) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, t := range s.mu.tokens {
		if k.uid == uid {
			if t.asking != nil {
				t.asking.Open()
			}
			delete(s.mu.tokens, k)
		}
	}
}
