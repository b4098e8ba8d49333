package review_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/podkeel/podkeel/syncloop/cluster/internal/review"
)

// scripted answers reviews, and counts them.
type scripted struct {
	asked []string
	fail  []error // one for each call; then it answers
	doubt string  // about each token
}

func (s *scripted) next(question string) error {
	s.asked = append(s.asked, question)
	if len(s.fail) == 0 {
		return nil
	}
	err := s.fail[0]
	s.fail = s.fail[1:]
	return err
}

func (s *scripted) CreateTokenReview(_ context.Context, r *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
	if err := s.next(r.Spec.Token); err != nil {
		return nil, err
	}
	if name, ok := strings.CutPrefix(r.Spec.Token, "of-"); ok {
		r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: name, Groups: []string{"people"}}}
	}
	r.Status.Error = s.doubt
	return r, nil
}

func (s *scripted) CreateSubjectAccessReview(_ context.Context, r *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
	if err := s.next(fmt.Sprint(r.Spec.User, r.Spec.Groups, r.Spec.Extra, " ", r.Spec.ResourceAttributes.Verb)); err != nil {
		return nil, err
	}
	r.Status.Allowed = r.Spec.ResourceAttributes.Verb != "delete"
	r.Status.Denied = r.Spec.ResourceAttributes.Verb == "patch"
	r.Status.Reason = "by " + r.Spec.User
	return r, nil
}

func (s *scripted) seen() []string {
	defer func() { s.asked = nil }()
	return s.asked
}

func reviewer(t *testing.T, s *scripted) *review.Reviewer {
	r, err := review.New(review.Config{Reviews: s})
	require.NoError(t, err)
	return r
}

func request(header string) *http.Request {
	r := httptest.NewRequest("GET", "/pods", nil)
	r.Header.Set("Authorization", header)
	return r
}

func TestNew_Requires(t *testing.T) {
	_, err := review.New(review.Config{})
	require.EqualError(t, err, "review: Config.Reviews is nil")
}

// AU-1, AU-2: an answer about a token is kept for 2 minutes, whatever it is.
func TestAuthenticate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{}
		r := reviewer(t, s)
		for _, header := range []string{"", "Bearer", "Bearer  ", "Basic of-alice", "of-alice"} {
			_, ok, err := r.Authenticate(request(header))
			require.NoError(t, err)
			assert.False(t, ok, header)
		}
		assert.Empty(t, s.seen())
		for range 2 {
			for range 2 {
				user, ok, err := r.Authenticate(request("bearer of-alice"))
				require.NoError(t, err)
				assert.True(t, ok)
				assert.Equal(t, authenticationv1.UserInfo{Username: "alice", Groups: []string{"people"}}, user)
				_, ok, err = r.Authenticate(request("Bearer guess"))
				require.NoError(t, err)
				assert.False(t, ok)
				time.Sleep(time.Minute)
			}
			assert.Equal(t, []string{"of-alice", "guess"}, s.seen())
		}
	})
}

// AU-2: a no that names an error may be wrong, and is used for 10 seconds only.
func TestAuthenticate_AU2_Doubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{doubt: "the service account cannot be read"}
		r := reviewer(t, s)
		for range 2 {
			for range 5 {
				_, ok, err := r.Authenticate(request("Bearer guess"))
				require.NoError(t, err)
				assert.False(t, ok)
				_, ok, err = r.Authenticate(request("Bearer of-alice"))
				require.NoError(t, err)
				assert.True(t, ok)
				time.Sleep(2 * time.Second)
			}
		}
		assert.Equal(t, []string{"guess", "of-alice", "guess"}, s.seen())
	})
}

// AU-2: what may pass is tried again, 5 times; the rest and the end of the caller are not.
// No error is kept.
func TestAuthenticate_Retries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{}
		r := reviewer(t, s)
		broken := apierrors.NewInternalError(errors.New("broken"))
		busy := apierrors.NewTooManyRequests("busy", 1)
		began := time.Now()
		s.fail = []error{broken, errors.New("connection refused"), busy, broken}
		_, ok, err := r.Authenticate(request("Bearer of-alice"))
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Len(t, s.seen(), 5)
		assert.Equal(t, 4062500*time.Microsecond, time.Since(began))

		s.fail = []error{broken, broken, broken, broken, busy}
		_, _, err = r.Authenticate(request("Bearer of-bob"))
		require.ErrorIs(t, err, busy)
		s.seen()
		s.fail = []error{apierrors.NewForbidden(schema.GroupResource{Resource: "tokenreviews"}, "", nil)}
		_, ok, err = r.Authenticate(request("Bearer of-bob"))
		assert.False(t, ok)
		require.ErrorContains(t, err, "review: token: tokenreviews is forbidden")
		assert.Len(t, s.seen(), 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.fail = []error{broken, broken, broken, broken, broken}
		began = time.Now()
		_, _, err = r.Authenticate(request("Bearer of-bob").WithContext(ctx))
		require.ErrorIs(t, err, broken)
		assert.Equal(t, time.Second, time.Since(began))
		s.fail = nil
		_, ok, _ = r.Authenticate(request("Bearer of-bob"))
		assert.True(t, ok)
	})
}

// AU-3, AU-4: yes is kept for 5 minutes, no for 30 seconds, and of each user and right apart.
func TestAuthorize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{}
		r := reviewer(t, s)
		alice := authenticationv1.UserInfo{Username: "alice", Groups: []string{"people"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a"}}}
		may := func(user authenticationv1.UserInfo, verb string) bool {
			allowed, reason, err := r.Authorize(t.Context(), user, authorizationv1.ResourceAttributes{Verb: verb, Resource: "nodes"})
			require.NoError(t, err)
			assert.Equal(t, "by "+user.Username, reason)
			return allowed
		}
		for second := range 301 {
			assert.True(t, may(alice, "get"))
			assert.False(t, may(alice, "delete"))
			assert.False(t, may(alice, "patch"))
			switch seen := s.seen(); {
			case second == 0 || second == 300:
				assert.Equal(t, []string{"alice[people] map[scopes:[a]] get", "alice[people] map[scopes:[a]] delete", "alice[people] map[scopes:[a]] patch"}, seen)
			case second%30 == 0:
				assert.Len(t, seen, 2)
			default:
				assert.Empty(t, seen)
			}
			time.Sleep(time.Second)
		}
		assert.True(t, may(authenticationv1.UserInfo{Username: "alice"}, "get"))
		assert.Equal(t, []string{"alice[] map[] get"}, s.seen())
		s.fail = []error{apierrors.NewBadRequest("bad")}
		_, _, err := r.Authorize(t.Context(), authenticationv1.UserInfo{Username: "bob"}, authorizationv1.ResourceAttributes{Verb: "get"})
		require.EqualError(t, err, "review: access: bad")
		s.seen()
		long := authenticationv1.UserInfo{Username: "alice", Groups: []string{strings.Repeat("x", 10_000)}}
		assert.True(t, may(long, "get"))
		assert.True(t, may(long, "get"))
		assert.Len(t, s.seen(), 2)
	})
}

// AU-3: no more decisions are kept than 8192, and no more tokens than 4096.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{}
		r := reviewer(t, s)
		again := func(users int) (asked int) {
			for range 2 {
				s.seen()
				for i := range users {
					_, _, err := r.Authorize(t.Context(), authenticationv1.UserInfo{Username: fmt.Sprint(i)}, authorizationv1.ResourceAttributes{Verb: "get"})
					require.NoError(t, err)
				}
			}
			return len(s.seen())
		}
		assert.Zero(t, again(8192))
		assert.Positive(t, again(8193))
		time.Sleep(5 * time.Minute)
		for range 2 {
			s.seen()
			for i := range 4097 {
				_, ok, err := r.Authenticate(request(fmt.Sprint("Bearer of-", i)))
				require.NoError(t, err)
				require.True(t, ok)
			}
		}
		assert.NotEmpty(t, s.seen())
	})
}

// issue makes a certificate, by itself if there is no issuer.
func issue(t *testing.T, template *x509.Certificate, issuer *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	if issuer == nil {
		issuer, by = template, key
	}
	template.SerialNumber, template.NotBefore = big.NewInt(1), time.Now().Add(-time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	text, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, by)
	require.NoError(t, err)
	made, err := x509.ParseCertificate(text)
	require.NoError(t, err)
	return made, key
}

// AU-1, AU-11: a client certificate needs no call; one that is not valid is no user.
func TestAuthenticate_Certificate(t *testing.T) {
	authority := func(name string) (*x509.Certificate, *ecdsa.PrivateKey) {
		return issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	}
	ca, key := authority("ca")
	otherCA, otherKey := authority("other")
	s := &scripted{}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	given := roots
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	clk := clocktesting.NewFakeClock(time.Now())
	r, err := review.New(review.Config{Reviews: s, ClientCAs: func() *x509.CertPool { return given }, Log: log, Clock: clk})
	require.NoError(t, err)
	client := func() *x509.Certificate {
		return &x509.Certificate{
			Subject:     pkix.Name{CommonName: "kube-apiserver-kubelet-client", Organization: []string{"kubeadm:cluster-admins"}},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
	}
	ask := func(chain ...*x509.Certificate) (authenticationv1.UserInfo, bool) {
		request := request("")
		request.TLS = &tls.ConnectionState{PeerCertificates: chain}
		user, ok, err := r.Authenticate(request)
		require.NoError(t, err)
		return user, ok
	}
	good, _ := issue(t, client(), ca, key)
	user, ok := ask(good)
	assert.True(t, ok)
	assert.Equal(t, authenticationv1.UserInfo{Username: "kube-apiserver-kubelet-client", Groups: []string{"kubeadm:cluster-admins", "system:authenticated"}}, user)
	between, betweenKey := issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "between"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, ca, key)
	below, _ := issue(t, client(), between, betweenKey)
	_, ok = ask(below, between)
	assert.True(t, ok)

	foreign, _ := issue(t, client(), otherCA, otherKey)
	late, unnamed, serving := client(), client(), client()
	late.NotAfter = time.Now().Add(-time.Minute)
	unnamed.Subject.CommonName = ""
	serving.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	chains := [][]*x509.Certificate{{foreign}, {foreign, otherCA}, {below}}
	for _, template := range []*x509.Certificate{late, unnamed, serving} {
		made, _ := issue(t, template, ca, key)
		chains = append(chains, []*x509.Certificate{made})
	}
	assert.Empty(t, logged.String())
	for i, chain := range chains {
		for range 1 + i { // Only the first refusal is logged.
			_, ok = ask(chain...)
			assert.False(t, ok, i)
		}
		line := logged.String()
		assert.Equal(t, 1, strings.Count(line, "\n"), i)
		assert.Contains(t, line, `level=WARN msg="refused a client certificate" err=`, i)
		assert.Contains(t, line, fmt.Sprint(" more=", max(0, i-1), "\n"), i)
		clk.Step(10 * time.Second)
		assert.Equal(t, slices.Contains([]int{0, 1, 2}, i), strings.Contains(line, "signed by unknown authority"), line)
		logged.Reset()
	}
	given = nil
	_, ok = ask(good)
	assert.False(t, ok)
	assert.Empty(t, s.seen())
}
