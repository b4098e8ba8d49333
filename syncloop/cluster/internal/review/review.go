package review

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
)

const (
	tokenTTL     = 2 * time.Minute
	uncertainTTL = 10 * time.Second // of a refusal with an error, which may pass
	allowedTTL   = 5 * time.Minute
	deniedTTL    = 30 * time.Second

	maxTokens    = 4096
	maxDecisions = 8192
	maxKeyBytes  = 10_000 // bytes of the longest cached question

	// authenticated is the group of all authenticated users. A TokenReview includes it too.
	authenticated = "system:authenticated"

	attempts   = 5
	firstPause = 500 * time.Millisecond // multiplied by 1.5 after each attempt
)

// Config configures a Reviewer. Reviews is required.
type Config struct {
	// Reviews sends the reviews to the API server.
	Reviews apiserver.Reviews
	// ClientCAs returns the CAs of client certificates. It is called concurrently, for each request with a certificate.
	// Nil: certificates are ignored.
	ClientCAs func() *x509.CertPool
	// Contact records the result of every call. It may be nil.
	Contact *contact.Contact
	// Clock is the clock. Nil: the real clock.
	Clock clock.Clock
	// Log receives a message with the reason when a client certificate is refused. The client does not get the reason.
	// The messages are limited to one per ten seconds with the number of further refusals, because a client may send
	// any number of certificates. Nil discards.
	Log *slog.Logger
}

// Reviewer authenticates and authorizes requests. Make one with New. Its methods are safe for concurrent use.
type Reviewer struct {
	cfg       Config
	executor  executor.Executor
	tokens    cache[[sha256.Size]byte, identity]
	decisions cache[string, decision]
	refused   refusals
}

// identity is the cached result of a token review.
type identity struct {
	user authenticationv1.UserInfo
	ok   bool
}

// decision is the cached result of an access review.
type decision struct {
	allowed bool
	reason  string
}

// New returns a Reviewer with an empty cache. The error names a fault of the configuration.
func New(cfg Config) (*Reviewer, error) {
	if cfg.Reviews == nil {
		return nil, errors.New("review: Config.Reviews is nil")
	}
	if cfg.Contact == nil {
		cfg.Contact = contact.New(contact.Config{Clock: cfg.Clock})
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	r := &Reviewer{cfg: cfg, executor: executor.Over(cfg.Clock)}
	r.tokens.maxEntries, r.decisions.maxEntries = maxTokens, maxDecisions
	return r, nil
}

// Authenticate returns the user of a client certificate or bearer token. It returns false if the request has no valid
// one. It returns when the request's context is done.
func (r *Reviewer) Authenticate(request *http.Request) (user authenticationv1.UserInfo, ok bool, err error) {
	if user, ok = r.userFromCertificate(request); ok {
		return user, true, nil
	}
	kind, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(kind, "Bearer") || token == "" {
		return user, false, nil
	}
	key := sha256.Sum256([]byte(token))
	if known, ok := r.tokens.getUnlessExpired(key, r.executor.Now()); ok {
		return known.user, known.ok, nil
	}
	answer, err := requestReviewWithRetries(request.Context(), r, r.cfg.Reviews.CreateTokenReview, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}})
	if err != nil {
		return user, false, fmt.Errorf("review: token: %w", err)
	}
	known, ttl := identity{ok: answer.Status.Authenticated && answer.Status.User.Username != ""}, tokenTTL
	switch {
	case known.ok:
		known.user = answer.Status.User
	case answer.Status.Error != "":
		ttl = uncertainTTL
	}
	r.tokens.putAndEvictIfFull(key, known, ttl, r.executor.Now())
	return known.user, known.ok, nil
}

// userFromCertificate returns the user and groups of the request's client certificate. ok is false if the
// request has no certificate, if there are no client CAs, or if the certificate is invalid. It logs an invalid
// certificate, but not too often.
func (r *Reviewer) userFromCertificate(request *http.Request) (user authenticationv1.UserInfo, ok bool) {
	if request.TLS == nil || len(request.TLS.PeerCertificates) == 0 || r.cfg.ClientCAs == nil {
		return user, false
	}
	roots := r.cfg.ClientCAs()
	if roots == nil {
		return user, false // Verify would use the CAs of the system.
	}
	certificate := request.TLS.PeerCertificates[0]
	options := x509.VerifyOptions{
		Roots: roots, Intermediates: x509.NewCertPool(), CurrentTime: r.executor.Now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, between := range request.TLS.PeerCertificates[1:] {
		options.Intermediates.AddCert(between)
	}
	_, err := certificate.Verify(options)
	if err == nil && certificate.Subject.CommonName == "" {
		err = errors.New("it has no common name")
	}
	if err != nil {
		if more, due := r.refused.countRefusal(r.executor.Now()); due {
			r.cfg.Log.Warn("refused a client certificate", "err", plain.Shorten(err.Error()), "more", more)
		}
		return user, false
	}
	groups := append(slices.Clone(certificate.Subject.Organization), authenticated)
	return authenticationv1.UserInfo{Username: certificate.Subject.CommonName, Groups: groups}, true
}

// Authorize reports whether a user may perform an action, and the reason. It returns when ctx is done.
func (r *Reviewer) Authorize(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) (allowed bool, reason string, err error) {
	spec := authorizationv1.SubjectAccessReviewSpec{User: user.Username, UID: user.UID, Groups: user.Groups, ResourceAttributes: &attributes}
	if len(user.Extra) > 0 {
		spec.Extra = make(map[string]authorizationv1.ExtraValue, len(user.Extra))
		for key, values := range user.Extra {
			spec.Extra[key] = authorizationv1.ExtraValue(values)
		}
	}
	question, err := json.Marshal(spec) // Map keys are sorted, so equal specs are equal texts.
	if err != nil {
		return false, "", fmt.Errorf("review: %w", err)
	}
	if known, ok := r.decisions.getUnlessExpired(string(question), r.executor.Now()); ok {
		return known.allowed, known.reason, nil
	}
	answer, err := requestReviewWithRetries(ctx, r, r.cfg.Reviews.CreateSubjectAccessReview, &authorizationv1.SubjectAccessReview{Spec: spec})
	if err != nil {
		return false, "", fmt.Errorf("review: access: %w", err)
	}
	known := decision{allowed: answer.Status.Allowed && !answer.Status.Denied, reason: answer.Status.Reason}
	ttl := deniedTTL
	if known.allowed {
		ttl = allowedTTL
	}
	if len(question) <= maxKeyBytes {
		r.decisions.putAndEvictIfFull(string(question), known, ttl, r.executor.Now())
	}
	return known.allowed, known.reason, nil
}

// requestReviewWithRetries sends a review and returns the response. It repeats a review after a transient
// error, with growing pauses, until it has made a fixed number of attempts. It returns any other error at once.
// If ctx ends during a pause, it returns the last error.
func requestReviewWithRetries[T any](ctx context.Context, r *Reviewer, review func(context.Context, T) (T, error), question T) (answer T, err error) {
	pause := firstPause
	for n := 1; ; n++ {
		answer, err = review(ctx, question)
		r.cfg.Contact.Report(err)
		if err == nil || n == attempts || !isTransient(err) || r.executor.Sleep(ctx, pause) != nil {
			return answer, err
		}
		pause += pause / 2
	}
}

// isTransient reports whether another attempt may succeed: the error is no API status, or its code is 5xx or
// 429.
func isTransient(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
}
