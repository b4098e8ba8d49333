package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// Authenticator authenticates the clients of the handler.
type Authenticator interface {
	// Authenticate returns the user of a request, from its client certificate, its bearer token or
	// otherwise. It returns false if the request has no valid credentials. An error says that the user
	// cannot be determined; the response is then 500. It is called once for each request except those
	// for /healthz, concurrently, and returns when the request's context ends.
	Authenticate(r *http.Request) (user authenticationv1.UserInfo, ok bool, err error)
}

// Authorizer decides what a user may do.
type Authorizer interface {
	// Authorize reports whether a user may do this to the node, and why not. An error says that this
	// cannot be determined; the response is then 500. It is called after Authenticate, concurrently.
	// For a path with a subresource of its own it is called a second time, for proxy, if the first call
	// denies the request.
	Authorize(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) (allowed bool, reason string, err error)
}

// accessTimeout limits the time to authenticate and authorize a request.
const accessTimeout = 30 * time.Second

// requireAccess returns a handler that calls the handler of the route only for authenticated and authorized
// requests, and marks the client's connection as accepted. It rejects any other request with the status code of
// authenticateAndAuthorizeRoute, and closes the connection.
func (s *server) requireAccess(requested route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer := respond.PeerOf(r.Context())
		peer.Unknown()
		ctx, cancel := context.WithTimeout(r.Context(), accessTimeout)
		code, why := s.authenticateAndAuthorizeRoute(ctx, requested, r)
		cancel()
		if code == http.StatusOK {
			peer.Accepted()
			requested.handle(w, r)
			return
		}
		switch code {
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
		case http.StatusMethodNotAllowed:
			respondMethodNotAllowed(w, requested.methods)
			return
		}
		w.Header().Set("Connection", "close") // The rest of a rejected request is not read.
		respond.WriteText(w, code, plain.Text(why)+"\n")
	})
}

// respondMethodNotAllowed responds with 405 and the methods that the path supports. It closes the connection.
func respondMethodNotAllowed(w http.ResponseWriter, methods []string) {
	allowed := strings.Join(methods, ", ")
	w.Header().Set("Connection", "close")
	w.Header().Set("Allow", allowed)
	respond.WriteText(w, http.StatusMethodNotAllowed, "this path supports only "+allowed+"\n")
}

// authenticateAndAuthorizeRoute authenticates a request and then authorizes it; access to one of the route's
// subresources is enough. It returns 200, or another status code and the reason for it. It rejects an
// unsupported method without authorization.
func (s *server) authenticateAndAuthorizeRoute(ctx context.Context, requested route, r *http.Request) (code int, why string) {
	user, ok, err := s.authenticateRecoveringPanic(r.WithContext(ctx))
	switch {
	case err != nil: // Unauthenticated clients do not see the error.
		return http.StatusInternalServerError, "the user cannot be authenticated"
	case !ok:
		return http.StatusUnauthorized, "Unauthorized"
	case requested.methods != nil && !slices.Contains(requested.methods, r.Method):
		return http.StatusMethodNotAllowed, "" // No authorization is needed to reject the request.
	}
	verb := requested.verb
	if verb == "" {
		verb = verbs[r.Method]
	}
	var reasons []string
	for _, subresource := range requested.subresources {
		allowed, reason, err := s.authorizeRecoveringPanic(ctx, user, authorizationv1.ResourceAttributes{
			Verb: verb, Version: "v1", Resource: "nodes", Subresource: subresource, Name: s.NodeName,
		})
		if err != nil {
			return http.StatusInternalServerError, "the request cannot be authorized: " + err.Error()
		}
		if allowed {
			return http.StatusOK, ""
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	why = fmt.Sprintf("Forbidden: user %q may not %s nodes/%s of node %s", user.Username, verb, requested.subresources[0], s.NodeName)
	if len(reasons) > 0 {
		why += ": " + strings.Join(reasons, "; ")
	}
	return http.StatusForbidden, why
}

// authenticateRecoveringPanic calls the Authenticator and returns its result. It returns a panic of the
// Authenticator as an error.
func (s *server) authenticateRecoveringPanic(r *http.Request) (user authenticationv1.UserInfo, ok bool, err error) {
	defer s.panics.Recover("Authenticate", &err)
	return s.Authenticator.Authenticate(r)
}

// authorizeRecoveringPanic calls the Authorizer and returns its result. It returns a panic of the Authorizer as
// an error.
func (s *server) authorizeRecoveringPanic(ctx context.Context, user authenticationv1.UserInfo, a authorizationv1.ResourceAttributes) (allowed bool, reason string, err error) {
	defer s.panics.Recover("Authorize", &err)
	return s.Authorizer.Authorize(ctx, user, a)
}

// verbs are the verbs of the Kubernetes API for HTTP methods. Other methods have no verb.
var verbs = map[string]string{
	http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "create", http.MethodPut: "update",
	http.MethodPatch: "patch", http.MethodDelete: "delete",
}
