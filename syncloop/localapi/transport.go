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

// RoundTripper returns a transport for clients in this process. It needs no listener, TLS or
// connection. In a bubble of testing/synctest, in which the node and the API were made too,
// virtual time passes while a client waits for a watch or for logs. The API reads method, path,
// query, header and body of a request; the host may be any:
//
//	config := &rest.Config{Host: "http://node", Transport: api.RoundTripper()}
//
// A request without an Authorization header has the user podkeel, because the program has the
// API itself: never forward requests of others through this transport. A request with that header
// is authenticated by the Authenticator.
//
// The answer is streamed and nothing is read ahead: if the client does not read the body, the
// handler waits until the body is closed or the context of the request ends. Exec, attach and
// port-forward need a connection, so such a request is an error.
func (a *API) RoundTripper() http.RoundTripper { return transport{a} }

// transport is the way from clients in this process.
type transport struct{ api *API }

var errNoConnection = errors.New("localapi: exec, attach and port-forward need a connection, and there is none within the process: call node.Node, or ask a localapi.Service")

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
	w := &pipedWriter{request: r, header: http.Header{}, body: &pipedBody{from, end}, to: to, first: make(chan outcome, 1)}
	context.AfterFunc(ctx, func() {
		_ = to.CloseWithError(context.Cause(ctx)) // It changes nothing after the end of the answer.
		_ = body.Close()
	})
	inner := r.Clone(ctx)
	inner.Body, inner.Host, inner.RequestURI, inner.RemoteAddr = body, cmp.Or(r.Host, r.URL.Host), r.URL.RequestURI(), "in-process"
	go func() {
		defer end()
		if err := t.api.panics.Call("ServeHTTP", func() { t.api.router.serve(w, inner, t.authenticated) }); err != nil {
			w.finish(fmt.Errorf("localapi: %w", err))
			return
		}
		w.finish(context.Cause(ctx)) // What was given up is not complete.
	}()
	select {
	case first := <-w.first:
		return first.response, first.err
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
}

// authenticated is the user of a request.
func (t transport) authenticated(r *http.Request) (authenticationv1.UserInfo, error) {
	if _, given := r.Header["Authorization"]; given {
		return t.api.authenticated(r)
	}
	return podkeel(), nil
}

// outcome is what RoundTrip returns.
type outcome struct {
	response *http.Response
	err      error
}

// pipedWriter is the http.ResponseWriter of one request. Only the handler calls it.
type pipedWriter struct {
	request *http.Request
	header  http.Header
	body    *pipedBody
	to      *io.PipeWriter
	begun   bool // The header was sent.
	first   chan outcome
}

// Header implements http.ResponseWriter.
func (w *pipedWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *pipedWriter) WriteHeader(code int) {
	if w.begun {
		return
	}
	w.begun = true
	w.first <- outcome{response: &http.Response{
		Status: fmt.Sprint(code, " ", http.StatusText(code)), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header.Clone(), Body: w.body, ContentLength: -1, Request: w.request,
	}}
}

// Write implements http.ResponseWriter. It returns when the client has read the text.
func (w *pipedWriter) Write(p []byte) (int, error) {
	w.Flush()
	if w.request.Method == http.MethodHead {
		return len(p), nil
	}
	return w.to.Write(p)
}

// Flush implements http.Flusher.
func (w *pipedWriter) Flush() { w.WriteHeader(http.StatusOK) }

// finish ends the answer. Its error is that of the request, or of reading the body if that has begun.
func (w *pipedWriter) finish(err error) {
	if err != nil && !w.begun {
		w.first <- outcome{err: err}
		return
	}
	w.Flush()
	_ = w.to.CloseWithError(err)
}

// pipedBody is the body of an answer. A client that closes it ends the handler's context.
type pipedBody struct {
	*io.PipeReader
	end context.CancelFunc
}

// Close implements io.Closer.
func (b *pipedBody) Close() error {
	b.end()
	return b.PipeReader.Close()
}
