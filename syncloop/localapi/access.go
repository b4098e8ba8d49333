package localapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/podkeel/podkeel/syncloop/server"
)

// Token returns an Authenticator for one user, podkeel, who sends a bearer token. It compares tokens in constant time.
// With an empty token no request is authenticated.
func Token(token string) server.Authenticator { return tokenHash(sha256.Sum256([]byte(token))) }

// tokenHash is the SHA-256 hash of the accepted bearer token.
type tokenHash [sha256.Size]byte

// Authenticate implements server.Authenticator.
func (b tokenHash) Authenticate(r *http.Request) (user authenticationv1.UserInfo, ok bool, err error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := tokenHash(sha256.Sum256([]byte(token)))
	ok = strings.EqualFold(scheme, "Bearer") && token != "" && subtle.ConstantTimeCompare(given[:], b[:]) == 1
	if ok {
		user = podkeelUser()
	}
	return user, ok, nil
}

// podkeelUser returns the user podkeel of group system:masters. Requests with the bearer token and clients in
// this process have this user.
func podkeelUser() authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: "podkeel", Groups: []string{"system:masters", "system:authenticated"}}
}

// authenticate returns the user of a request. The error has code 401 if the Authenticator does not accept the
// request, and code 500 if the Authenticator fails or panics. Only the log has the cause of a failure.
func (b *backend) authenticate(r *http.Request) (user authenticationv1.UserInfo, err error) {
	defer b.panics.Recover("Authenticate", &err)
	user, ok, err := b.config.Authenticator.Authenticate(r)
	switch {
	case err != nil: // The cause is only logged: the client is unknown.
		b.log.Warn("cannot authenticate a request", "err", err)
		return user, apierrors.NewInternalError(errors.New("cannot authenticate the request"))
	case !ok:
		return user, apierrors.NewUnauthorized("Unauthorized")
	}
	return user, nil
}

// allowAll accepts every request in the inner handler, because the API has authenticated it already.
type allowAll struct{}

func (allowAll) Authenticate(*http.Request) (user authenticationv1.UserInfo, ok bool, err error) {
	return user, true, nil
}

func (allowAll) Authorize(context.Context, authenticationv1.UserInfo, authorizationv1.ResourceAttributes) (bool, string, error) {
	return true, "", nil
}
