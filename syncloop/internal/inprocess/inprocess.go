package inprocess

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
)

// Handler serves one request. If it returns an error, the client gets the error: from RoundTrip if the handler has
// written nothing, and from reading the body otherwise.
type Handler func(w http.ResponseWriter, r *http.Request) error

// RoundTrip passes a request to the handler, which runs in a goroutine of its own. It returns when the handler has
// sent the header of the response or has returned, or when the context of the request is done.
func RoundTrip(handler Handler, r *http.Request) (*http.Response, error) {
	body := r.Body
	if body == nil {
		body = http.NoBody
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
		if err := handler(w, inner); err != nil {
			w.finishResponse(err)
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
