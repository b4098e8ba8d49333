package localapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// RoundTripper returns a transport for clients in this process. It needs no listener, TLS or connection. In a
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
	body := r.Body
	if body == nil {
		body = http.NoBody
	}
	if r.Header.Get("Upgrade") != "" {
		_ = body.Close()
		return nil, errNoConnection
	}
	ctx, end := context.WithCancel(r.Context())
	from, to := io.Pipe()
	w := &pipedWriter{request: r, header: http.Header{}, body: &pipedBody{from, end}, bodyWriter: to, result: make(chan roundTripResult, 1)}
	context.AfterFunc(ctx, func() {
		_ = to.CloseWithError(context.Cause(ctx)) // It has no effect on a complete response.
		_ = body.Close()
	})
	inner := r.Clone(ctx)
	inner.Body, inner.Host, inner.RequestURI, inner.RemoteAddr = body, cmp.Or(r.Host, r.URL.Host), r.URL.RequestURI(), "in-process"
	go func() {
		defer end()
		if err := t.api.panics.Call("ServeHTTP", func() { t.api.router.serveRequest(w, inner, t.authenticate) }); err != nil {
			w.finishResponse(fmt.Errorf("localapi: %w", err))
			return
		}
		w.finishResponse(context.Cause(ctx)) // A canceled response is incomplete.
	}()
	select {
	case first := <-w.result:
		return first.response, first.err
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
}

// authenticate returns the user podkeel for a request without an Authorization header. For other requests it
// returns the result of the API's Authenticator.
func (t transport) authenticate(r *http.Request) (authenticationv1.UserInfo, error) {
	if _, given := r.Header["Authorization"]; given {
		return t.api.authenticate(r)
	}
	return podkeelUser(), nil
}

// roundTripResult is the result of RoundTrip.
type roundTripResult struct {
	response *http.Response
	err      error
}

// pipedWriter writes the response of one request to a pipe. Only the handler calls it.
type pipedWriter struct {
	request    *http.Request
	header     http.Header
	body       *pipedBody
	bodyWriter *io.PipeWriter
	headerSent bool
	result     chan roundTripResult
}

// Header implements http.ResponseWriter.
func (w *pipedWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *pipedWriter) WriteHeader(code int) {
	if w.headerSent {
		return
	}
	w.headerSent = true
	w.result <- roundTripResult{response: &http.Response{
		Status: fmt.Sprint(code, " ", http.StatusText(code)), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header.Clone(), Body: w.body, ContentLength: -1, Request: w.request,
	}}
}

// Write implements http.ResponseWriter. It returns after the client has read the bytes.
func (w *pipedWriter) Write(p []byte) (int, error) {
	w.Flush()
	if w.request.Method == http.MethodHead {
		return len(p), nil
	}
	return w.bodyWriter.Write(p)
}

// Flush implements http.Flusher.
func (w *pipedWriter) Flush() { w.WriteHeader(http.StatusOK) }

// finishResponse completes the response. If err is not nil, the client gets err: from RoundTrip if no header
// was sent, and from reading the body otherwise.
func (w *pipedWriter) finishResponse(err error) {
	if err != nil && !w.headerSent {
		w.result <- roundTripResult{err: err}
		return
	}
	w.Flush()
	_ = w.bodyWriter.CloseWithError(err)
}

// pipedBody is the body of a response. Close cancels the context of the handler.
type pipedBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *pipedBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}
