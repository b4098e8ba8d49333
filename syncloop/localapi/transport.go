package localapi

import (
	"errors"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/podkeel/podkeel/syncloop/internal/inprocess"
)

// RoundTripper returns a transport for clients in this process. For several nodes at one API, and for custom resources,
// use the RoundTripper of an apiservertest.Server. The transport needs no listener, TLS or connection. In a
// testing/synctest bubble, virtual time advances while a client waits for a watch or for logs; create the node and the
// API in the same bubble. The API ignores the host of the URL:
//
//	config := &rest.Config{Host: "http://node", Transport: api.RoundTripper()}
//
// A request without an Authorization header has the user podkeel. Therefore never forward requests of other users
// through this transport. The Authenticator authenticates a request with that header.
//
// The response body is streamed without a buffer. If the client does not read it, the handler waits until the client
// closes the body or the request's context is done. Exec, attach and port-forward need a connection and return an
// error.
func (a *API) RoundTripper() http.RoundTripper { return transport{a} }

// transport passes requests of clients in this process to the API.
type transport struct{ api *API }

var errNoConnection = errors.New("localapi: exec, attach and port-forward need a connection, which an in-process client does not have: call node.Node, or connect to a localapi.Service")

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Upgrade") != "" {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, errNoConnection
	}
	return inprocess.RoundTrip(func(w http.ResponseWriter, r *http.Request) error {
		if err := t.api.panics.Call("ServeHTTP", func() { t.api.router.serveRequest(w, r, t.authenticateOrLocalUser) }); err != nil {
			return fmt.Errorf("localapi: %w", err)
		}
		return nil
	}, r)
}

// authenticateOrLocalUser returns the user podkeel for a request without an Authorization header. For any other
// request it returns the result of the API's Authenticator.
func (t transport) authenticateOrLocalUser(r *http.Request) (authenticationv1.UserInfo, error) {
	if _, given := r.Header["Authorization"]; given {
		return t.api.authenticate(r)
	}
	return podkeelUser(), nil
}
