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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
		user = authenticationv1.UserInfo{Username: "podkeel", Groups: []string{"system:masters", "system:authenticated"}}
	}
	return user, ok, nil
}

// authenticated is nil for a request of somebody who is known.
func (a *API) authenticated(r *http.Request) (err error) {
	defer a.panics.Recover("Authenticate", &err)
	_, ok, err := a.config.Authenticator.Authenticate(r)
	switch {
	case err != nil: // Why is not for those who may be anyone.
		a.log.Warn("a request could not be authenticated", "err", err)
		return apierrors.NewInternalError(errors.New("who asks cannot be found out"))
	case !ok:
		return apierrors.NewUnauthorized("Unauthorized")
	}
	return nil
}

// anyone lets the inner handler serve whom the API has authenticated.
type anyone struct{}

func (anyone) Authenticate(*http.Request) (user authenticationv1.UserInfo, ok bool, err error) {
	return user, true, nil
}

func (anyone) Authorize(context.Context, authenticationv1.UserInfo, authorizationv1.ResourceAttributes) (bool, string, error) {
	return true, "", nil
}

// reviewSelf answers what the one who asks may do, by which programs such as k9s decide what
// they show.
func (a *API) reviewSelf(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		sendError(w, apierrors.NewMethodNotSupported(schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, strings.ToLower(r.Method)))
		return
	}
	text, err := readBody(w, r)
	var review authorizationv1.SelfSubjectAccessReview
	if err == nil {
		err = a.codec.decode(text, false, authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), &review)
	}
	if err != nil {
		sendError(w, err)
		return
	}
	review.TypeMeta = metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"}
	review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: a.allows(&review.Spec)}
	if !review.Status.Allowed {
		review.Status.Reason = "this server does not serve it"
	}
	sendJSON(w, http.StatusCreated, review)
}

// allows reports whether there is what is asked for.
func (a *API) allows(spec *authorizationv1.SelfSubjectAccessReviewSpec) bool {
	attributes := spec.ResourceAttributes
	if attributes == nil {
		return spec.NonResourceAttributes != nil && spec.NonResourceAttributes.Verb == "get"
	}
	name := strings.TrimSuffix(attributes.Resource+"/"+attributes.Subresource, "/")
	for _, g := range a.groups() {
		for _, r := range g.resources {
			if g.group != attributes.Group || r.Name != name {
				continue
			}
			for _, verb := range r.Verbs {
				if verb == attributes.Verb {
					return true
				}
			}
		}
	}
	return false
}
