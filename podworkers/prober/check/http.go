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

// errRedirects ends a check that is sent around in circles.
var errRedirects = fmt.Errorf("more than %d redirects", podhttp.MaxRedirects)

// get makes an HTTP request: a status from 200 to 399 is a success, anything
// else a failure, also that nobody answers (PR-21).
func (c *Checker) get(ctx context.Context, req prober.Request) (prober.CheckResult, string, error) {
	r, err := c.request(ctx, req)
	if err != nil {
		return 0, "", err
	}
	client := http.Client{Transport: c.http, CheckRedirect: podhttp.RedirectWithinHost(errRedirects)}
	response, err := client.Do(r)
	if err != nil {
		return answerOf(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, outputLimit))
	if err != nil {
		return answerOf(ctx, err)
	}
	return judge(response, body)
}

// judge says what a response means. One that is still a redirect, with a place
// to go, pointed to another host, which we do not follow.
func judge(response *http.Response, body []byte) (prober.CheckResult, string, error) {
	code := response.StatusCode
	switch {
	case code < http.StatusOK || code >= http.StatusBadRequest:
		return prober.Failed, strings.TrimSpace(fmt.Sprintf("HTTP status %d: %s", code, body)), nil
	case code >= http.StatusMultipleChoices && response.Header.Get("Location") != "":
		return prober.Warned, "redirected to another host: " + response.Header.Get("Location"), nil
	}
	return prober.Passed, fmt.Sprintf("HTTP status %d", code), nil
}

// request makes the request that a probe describes.
func (c *Checker) request(ctx context.Context, req prober.Request) (*http.Request, error) {
	get := req.Handler.HTTPGet
	host, port, err := address(req, get.Host, get.Port)
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
	c.headers(r, get.HTTPHeaders)
	return r, nil
}

// headers sets what the probe asks for. User-Agent and Accept have defaults; a
// probe that gives them an empty value sends none.
func (c *Checker) headers(r *http.Request, headers []v1.HTTPHeader) {
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
