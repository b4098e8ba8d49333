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

// Authenticator finds out who asks.
type Authenticator interface {
	// Authenticate returns the user of a request by its client certificate, its bearer token
	// or whatever else, and false if it has none that is valid. An error says that this could
	// not be found out; the answer is then 500. It is called once for each request but those
	// for the health, concurrently, and ends with the request's context.
	Authenticate(r *http.Request) (user authenticationv1.UserInfo, ok bool, err error)
}

// Authorizer decides what a user may do.
type Authorizer interface {
	// Authorize reports whether a user may do this to the node, and why not. An error says
	// that this could not be found out; the answer is then 500. It is called after
	// Authenticate, for a path with a right of its own twice if the first right is not given,
	// concurrently.
	Authorize(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) (allowed bool, reason string, err error)
}

// accessTimeout is how long it may take to decide.
const accessTimeout = 30 * time.Second

// guardRoute has a route answer only those who may ask it.
func (s *server) guardRoute(of route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer := respond.PeerOf(r.Context())
		peer.Unknown()
		ctx, cancel := context.WithTimeout(r.Context(), accessTimeout)
		code, why := s.checkAccess(ctx, of, r)
		cancel()
		if code == http.StatusOK {
			peer.Accepted()
			of.handle(w, r)
			return
		}
		switch code {
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
		case http.StatusMethodNotAllowed:
			rejectMethod(w, of.methods)
			return
		}
		w.Header().Set("Connection", "close") // Nothing more is read of a request that was refused.
		respond.WriteText(w, code, plain.Text(why)+"\n")
	})
}

// rejectMethod answers that a path takes other methods.
func rejectMethod(w http.ResponseWriter, methods []string) {
	allowed := strings.Join(methods, ", ")
	w.Header().Set("Connection", "close")
	w.Header().Set("Allow", allowed)
	respond.WriteText(w, http.StatusMethodNotAllowed, "this path takes "+allowed+" only\n")
}

// checkAccess decides about a request: 200, or another status and its reason.
func (s *server) checkAccess(ctx context.Context, of route, r *http.Request) (code int, why string) {
	user, ok, err := s.authenticate(r.WithContext(ctx))
	switch {
	case err != nil: // Why is not for those who may be anyone.
		return http.StatusInternalServerError, "who asks cannot be found out"
	case !ok:
		return http.StatusUnauthorized, "Unauthorized"
	case of.methods != nil && !slices.Contains(of.methods, r.Method):
		return http.StatusMethodNotAllowed, "" // Whether the user may do so is not asked: nothing is done.
	}
	verb := of.verb
	if verb == "" {
		verb = verbs[r.Method]
	}
	var reasons []string
	for _, subresource := range of.subresources {
		allowed, reason, err := s.authorize(ctx, user, authorizationv1.ResourceAttributes{
			Verb: verb, Version: "v1", Resource: "nodes", Subresource: subresource, Name: s.NodeName,
		})
		if err != nil {
			return http.StatusInternalServerError, "whether this is allowed cannot be found out: " + err.Error()
		}
		if allowed {
			return http.StatusOK, ""
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	why = fmt.Sprintf("Forbidden: user %q may not %s nodes/%s of node %s", user.Username, verb, of.subresources[0], s.NodeName)
	if len(reasons) > 0 {
		why += ": " + strings.Join(reasons, "; ")
	}
	return http.StatusForbidden, why
}

// authenticate asks the Authenticator. A panic is an error.
func (s *server) authenticate(r *http.Request) (user authenticationv1.UserInfo, ok bool, err error) {
	defer s.panics.Recover("Authenticate", &err)
	return s.Authenticator.Authenticate(r)
}

// authorize asks the Authorizer. A panic is an error.
func (s *server) authorize(ctx context.Context, user authenticationv1.UserInfo, a authorizationv1.ResourceAttributes) (allowed bool, reason string, err error) {
	defer s.panics.Recover("Authorize", &err)
	return s.Authorizer.Authorize(ctx, user, a)
}

// verbs are those of the API for the methods of HTTP. Another method has none.
var verbs = map[string]string{
	http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "create", http.MethodPut: "update",
	http.MethodPatch: "patch", http.MethodDelete: "delete",
}
