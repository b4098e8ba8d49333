package manifest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager/source/manifest/internal/poll"
)

const (
	// maxRedirects is how many redirects of one request are followed.
	maxRedirects = 5
	// maxResponseHeader bounds the header of a response, in bytes.
	maxResponseHeader = 64 << 10
)

var (
	// errBodyTooLarge means that the body exceeds the bound of a file.
	errBodyTooLarge = fmt.Errorf("the answer has more than %d MiB", MaxFileSize>>20)
	// errTooManyRedirects means that the server redirects too often.
	errTooManyRedirects = fmt.Errorf("more than %d redirects", maxRedirects)
	// errInsecureRedirect means a redirect to a connection without encryption.
	errInsecureRedirect = errors.New("the server redirects from https to another scheme")
)

// fetcher makes requests to one URL.
type fetcher struct {
	url    string
	header http.Header
	client *http.Client
	clock  clock.PassiveClock
}

// newFetcher returns a fetcher for the URL of the configuration. Without a configured Transport it opens a new
// connection for each request, so that it finds a changed address.
func newFetcher(c *URLConfig) fetcher {
	transport := c.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: maxResponseHeader, ForceAttemptHTTP2: true,
		}
	}
	f := fetcher{url: c.URL, header: c.Header.Clone(), clock: c.Clock}
	f.client = &http.Client{Transport: transport, CheckRedirect: f.checkRedirectAndRemoveHeaders}
	return f
}

// checkRedirectAndRemoveHeaders returns an error for too many redirects, and for a redirect from https to
// another scheme. If the redirect leads to another scheme or host, it removes the configured headers and the
// ETag from the next request.
func (f *fetcher) checkRedirectAndRemoveHeaders(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	switch {
	case len(before) > maxRedirects:
		return errTooManyRedirects
	case first.Scheme == "https" && next.URL.Scheme != "https":
		return errInsecureRedirect
	case next.URL.Scheme != first.Scheme || next.URL.Host != first.Host:
		for name := range f.header {
			next.Header.Del(name)
		}
		next.Header.Del("If-None-Match") // The ETag belongs to the other server.
	}
	return nil
}

// fetchManifest requests the manifest. If etag is not empty, the server may answer that the manifest has not
// changed. It returns a body only for status 200. A body that is incomplete or too large is an error in the
// response.
func (f *fetcher) fetchManifest(ctx context.Context, etag string) (poll.Response, []byte) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url, nil)
	if err != nil {
		return poll.Response{Err: withoutURL(err)}, nil
	}
	for name, values := range f.header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	request.Host = f.header.Get("Host")
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return poll.Response{Err: withoutURL(err)}, nil
	}
	defer func() { _ = response.Body.Close() }()
	a := poll.Response{
		Status: response.StatusCode, Text: http.StatusText(response.StatusCode), ETag: response.Header.Get("ETag"),
		RetryAfter: poll.RetryAfter(response.Header.Get("Retry-After"), f.clock.Now()),
	}
	if a.Status != http.StatusOK {
		return a, nil // An error page is no manifest.
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxFileSize+1))
	if err == nil && len(body) > MaxFileSize {
		err = errBodyTooLarge
	}
	if err != nil {
		return poll.Response{Err: fmt.Errorf("the answer is not whole: %w", withoutURL(err))}, nil
	}
	return a, body
}

// withoutURL returns the inner error of an HTTP client's error, which has no URL in it, because a URL may
// contain secrets. It returns any other error unchanged.
func withoutURL(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// redactURL returns the scheme, host and path of a URL. It leaves out the user and the query, because they may
// be secret. For an invalid URL it returns "the URL".
func redactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "the URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: cmp.Or(u.Path, "/")}).String()
}
