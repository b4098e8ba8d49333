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
	// maxHops is how many redirects of one request are followed.
	maxHops = 5
	// maxResponseHeader bounds the header of an answer, in bytes.
	maxResponseHeader = 64 << 10
)

var (
	// errTooLong is an answer that goes on beyond the bound of a file.
	errTooLong = fmt.Errorf("the answer has more than %d MiB", MaxFileSize>>20)
	// errHops is an answer that leads on and on.
	errHops = fmt.Errorf("more than %d redirects", maxHops)
	// errPlain is a redirect after which anybody could read and change what is fetched.
	errPlain = errors.New("the server redirects from https to another scheme")
)

// fetcher makes requests to one URL.
type fetcher struct {
	url    string
	header http.Header
	client *http.Client
	clock  clock.PassiveClock
}

// newFetcher connects for each request anew: an address that has changed is found.
func newFetcher(c *URLConfig) fetcher {
	transport := c.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: maxResponseHeader, ForceAttemptHTTP2: true,
		}
	}
	f := fetcher{url: c.URL, header: c.Header.Clone(), clock: c.Clock}
	f.client = &http.Client{Transport: transport, CheckRedirect: f.redirect}
	return f
}

// redirect is asked before a redirect is followed. Only the place that the URL names gets the
// configured header.
func (f *fetcher) redirect(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	switch {
	case len(before) > maxHops:
		return errHops
	case first.Scheme == "https" && next.URL.Scheme != "https":
		return errPlain
	case next.URL.Scheme != first.Scheme || next.URL.Host != first.Host:
		for name := range f.header {
			next.Header.Del(name)
		}
		next.Header.Del("If-None-Match") // It is the version of another place.
	}
	return nil
}

// get asks for the manifest, unless it is of this version. The body is there with the status
// 200 only, whole and decompressed.
func (f *fetcher) get(ctx context.Context, etag string) (poll.Response, []byte) {
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
		return a, nil // What an error page says is for browsers.
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxFileSize+1))
	if err == nil && len(body) > MaxFileSize {
		err = errTooLong
	}
	if err != nil {
		return poll.Response{Err: fmt.Errorf("the answer is not whole: %w", withoutURL(err))}, nil
	}
	return a, body
}

// withoutURL leaves out the URL, which may have secrets, and has been said.
func withoutURL(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// shownURL is a URL without what may be secret: its user and its query.
func shownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "the URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: cmp.Or(u.Path, "/")}).String()
}
