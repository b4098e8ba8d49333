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
	tokenTTL   = 2 * time.Minute
	doubtTTL   = 10 * time.Second // of a no to a token whose reason may pass
	allowedTTL = 5 * time.Minute
	deniedTTL  = 30 * time.Second

	mostTokens    = 4096
	mostDecisions = 8192
	longestKey    = 10_000 // bytes of a question whose answer is kept

	// authenticated is the group of all whose name is known. A TokenReview names it too.
	authenticated = "system:authenticated"

	attempts   = 5
	firstPause = 500 * time.Millisecond // and half as much again after each attempt
)

// Config is what a Reviewer is made of. Reviews is required.
type Config struct {
	// Reviews is where questions go.
	Reviews apiserver.Reviews
	// ClientCAs returns those who may sign client certificates. It is called for each
	// request with a certificate, concurrently. Nil: certificates mean nothing.
	ClientCAs func() *x509.CertPool
	// Contact learns from every call. It may be nil.
	Contact *contact.Contact
	// Clock is what time it is. Nil: the real clock.
	Clock clock.Clock
	// Log gets a line for a request whose client certificate is not accepted, with the
	// reason, which its client is not told, and the number of further ones within the last
	// ten seconds: a client may send any number of them. Nil discards.
	Log *slog.Logger
}

// Reviewer decides about requests. Make one with New. Its methods are safe for concurrent use.
type Reviewer struct {
	cfg       Config
	executor  executor.Executor
	tokens    cache[[sha256.Size]byte, identity]
	decisions cache[string, decision]
	refused   refusals
}

// identity is what a token stands for.
type identity struct {
	user authenticationv1.UserInfo
	ok   bool
}

// decision is what a user may do.
type decision struct {
	allowed bool
	reason  string
}

// New returns a Reviewer that has asked nothing. Its error says what is wrong with the
// configuration.
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
	r.tokens.most, r.decisions.most = mostTokens, mostDecisions
	return r, nil
}

// Authenticate returns the user of a request, by its client certificate or its bearer token,
// and false if it has neither that is valid. It ends with the request's context.
func (r *Reviewer) Authenticate(request *http.Request) (user authenticationv1.UserInfo, ok bool, err error) {
	if user, ok = r.certified(request); ok {
		return user, true, nil
	}
	kind, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(kind, "Bearer") || token == "" {
		return user, false, nil
	}
	key := sha256.Sum256([]byte(token))
	if known, ok := r.tokens.get(key, r.executor.Now()); ok {
		return known.user, known.ok, nil
	}
	answer, err := ask(request.Context(), r, r.cfg.Reviews.CreateTokenReview, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}})
	if err != nil {
		return user, false, fmt.Errorf("review: token: %w", err)
	}
	known, ttl := identity{ok: answer.Status.Authenticated && answer.Status.User.Username != ""}, tokenTTL
	switch {
	case known.ok:
		known.user = answer.Status.User
	case answer.Status.Error != "":
		ttl = doubtTTL
	}
	r.tokens.put(key, known, ttl, r.executor.Now())
	return known.user, known.ok, nil
}

// certified is the user of a client certificate that is valid now.
func (r *Reviewer) certified(request *http.Request) (user authenticationv1.UserInfo, ok bool) {
	if request.TLS == nil || len(request.TLS.PeerCertificates) == 0 || r.cfg.ClientCAs == nil {
		return user, false
	}
	roots := r.cfg.ClientCAs()
	if roots == nil {
		return user, false // Those of the system would verify.
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
		if more, due := r.refused.note(r.executor.Now()); due {
			r.cfg.Log.Warn("a client certificate is not accepted", "err", plain.Shorten(err.Error()), "more", more)
		}
		return user, false
	}
	groups := append(slices.Clone(certificate.Subject.Organization), authenticated)
	return authenticationv1.UserInfo{Username: certificate.Subject.CommonName, Groups: groups}, true
}

// Authorize reports whether a user may do this, and why not. It ends with ctx.
func (r *Reviewer) Authorize(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) (allowed bool, reason string, err error) {
	spec := authorizationv1.SubjectAccessReviewSpec{User: user.Username, UID: user.UID, Groups: user.Groups, ResourceAttributes: &attributes}
	if len(user.Extra) > 0 {
		spec.Extra = make(map[string]authorizationv1.ExtraValue, len(user.Extra))
		for key, values := range user.Extra {
			spec.Extra[key] = authorizationv1.ExtraValue(values)
		}
	}
	question, err := json.Marshal(spec) // Its keys are sorted.
	if err != nil {
		return false, "", fmt.Errorf("review: %w", err)
	}
	if known, ok := r.decisions.get(string(question), r.executor.Now()); ok {
		return known.allowed, known.reason, nil
	}
	answer, err := ask(ctx, r, r.cfg.Reviews.CreateSubjectAccessReview, &authorizationv1.SubjectAccessReview{Spec: spec})
	if err != nil {
		return false, "", fmt.Errorf("review: access: %w", err)
	}
	known := decision{allowed: answer.Status.Allowed && !answer.Status.Denied, reason: answer.Status.Reason}
	ttl := deniedTTL
	if known.allowed {
		ttl = allowedTTL
	}
	if len(question) <= longestKey {
		r.decisions.put(string(question), known, ttl, r.executor.Now())
	}
	return known.allowed, known.reason, nil
}

// ask asks until there is an answer, or an error that another attempt would not change.
func ask[T any](ctx context.Context, r *Reviewer, review func(context.Context, T) (T, error), question T) (answer T, err error) {
	pause := firstPause
	for n := 1; ; n++ {
		answer, err = review(ctx, question)
		r.cfg.Contact.Report(err)
		if err == nil || n == attempts || !passing(err) || r.executor.Sleep(ctx, pause) != nil {
			return answer, err
		}
		pause += pause / 2
	}
}

// passing reports whether another attempt may go better.
func passing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
}
