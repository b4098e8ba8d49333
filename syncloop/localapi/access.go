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

// Token returns an Authenticator that knows one user, named podkeel, by a bearer token. It
// compares in constant time. With an empty token there is no user.
func Token(token string) server.Authenticator { return bearer(sha256.Sum256([]byte(token))) }

// bearer is the hash of a token.
type bearer [sha256.Size]byte

// Authenticate implements server.Authenticator.
func (b bearer) Authenticate(r *http.Request) (user authenticationv1.UserInfo, ok bool, err error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := bearer(sha256.Sum256([]byte(token)))
	ok = strings.EqualFold(scheme, "Bearer") && token != "" && subtle.ConstantTimeCompare(given[:], b[:]) == 1
	if ok {
		user = podkeel()
	}
	return user, ok, nil
}

// podkeel is the one user of a token, and of this process.
func podkeel() authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: "podkeel", Groups: []string{"system:masters", "system:authenticated"}}
}

// authenticated returns the user of a request, and an error if the user is not known.
func (b *backend) authenticated(r *http.Request) (user authenticationv1.UserInfo, err error) {
	defer b.panics.Recover("Authenticate", &err)
	user, ok, err := b.config.Authenticator.Authenticate(r)
	switch {
	case err != nil: // Why is not for those who may be anyone.
		b.log.Warn("a request could not be authenticated", "err", err)
		return user, apierrors.NewInternalError(errors.New("who asks cannot be found out"))
	case !ok:
		return user, apierrors.NewUnauthorized("Unauthorized")
	}
	return user, nil
}

// anyone lets the inner handler serve whom the API has authenticated.
type anyone struct{}

func (anyone) Authenticate(*http.Request) (user authenticationv1.UserInfo, ok bool, err error) {
	return user, true, nil
}

func (anyone) Authorize(context.Context, authenticationv1.UserInfo, authorizationv1.ResourceAttributes) (bool, string, error) {
	return true, "", nil
}
