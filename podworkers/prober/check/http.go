package check

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podhttp"
	"github.com/podkeel/podkeel/podworkers/prober"
)

// errRedirects ends a check with too many redirects.
var errRedirects = fmt.Errorf("more than %d redirects", podhttp.MaxRedirects)

// checkHTTP sends the HTTP request of a probe. A status code from 200 to 399 passes; a redirect to another host
// is a warning. Any other code, and no answer, fails. It returns an error if the request cannot be built or ctx
// has ended (PR-21).
func (c *Checker) checkHTTP(ctx context.Context, req prober.Request) (prober.CheckResult, string, error) {
	r, err := c.newHTTPRequest(ctx, req)
	if err != nil {
		return 0, "", err
	}
	client := http.Client{Transport: c.http, CheckRedirect: podhttp.RedirectWithinHost(errRedirects)}
	response, err := client.Do(r)
	if err != nil {
		return resultOfFailedConnection(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxOutputBytes))
	if err != nil {
		return resultOfFailedConnection(ctx, err)
	}
	return resultOfResponse(response, body)
}

// resultOfResponse returns the result of an HTTP response: Passed for a status from 200 to 399, Failed for any
// other status, and Warned for a status from 300 to 399 with a Location, which is a redirect that the client
// did not follow. The message of a redirect has the words of a kubelet.
func resultOfResponse(response *http.Response, body []byte) (prober.CheckResult, string, error) {
	code := response.StatusCode
	switch {
	case code < http.StatusOK || code >= http.StatusBadRequest:
		return prober.Failed, strings.TrimSpace(fmt.Sprintf("HTTP status %d: %s", code, body)), nil
	case code >= http.StatusMultipleChoices && response.Header.Get("Location") != "":
		return prober.Warned, strings.TrimSpace("Probe terminated redirects, Response body: " + string(body)), nil
	}
	return prober.Passed, fmt.Sprintf("HTTP status %d", code), nil
}

// newHTTPRequest returns the GET request of an HTTP probe with its headers. An unknown port or an invalid path
// is an error.
func (c *Checker) newHTTPRequest(ctx context.Context, req prober.Request) (*http.Request, error) {
	get := req.Handler.HTTPGet
	host, port, err := resolveAddress(req, get.Host, get.Port)
	if err != nil {
		return nil, err
	}
	target, err := podhttp.Target(get.Scheme, host, port, get.Path)
	if err != nil {
		return nil, fmt.Errorf("check: the path of the probe: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("check: the request of the probe: %w", err)
	}
	c.setHeaders(r, get.HTTPHeaders)
	return r, nil
}

// setHeaders sets the headers of a probe in a request. A Host header sets the host. User-Agent and Accept have
// defaults; if the probe sets one of them to an empty value, the request has none.
func (c *Checker) setHeaders(r *http.Request, headers []v1.HTTPHeader) {
	for _, h := range headers {
		if strings.EqualFold(h.Name, "Host") {
			r.Host = h.Value
			continue
		}
		r.Header.Add(h.Name, h.Value)
	}
	for name, value := range map[string]string{"User-Agent": c.cfg.UserAgent, "Accept": "*/*"} {
		given, ok := r.Header[name]
		switch {
		case !ok:
			r.Header.Set(name, value)
		case len(given) == 1 && given[0] == "" && name == "Accept":
			r.Header.Del(name)
		}
	}
}
