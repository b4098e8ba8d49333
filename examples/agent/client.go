package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/podkeel/podkeel/syncloop/debug"
)

const (
	// clientTimeout is how long an agent may take to answer, and to continue a list.
	clientTimeout = 10 * time.Second
	// clientLimit bounds a response, or one item of a list, in bytes.
	clientLimit = 16 << 20
	// defaultListen is the address on which an agent listens, and to which commands connect.
	defaultListen = "127.0.0.1:10348"
)

// client sends requests to the agent at an address, which is a host and port or the path of a socket.
type client struct{ server string }

// getBodyOfOK sends a GET request and returns the body of the response. It returns an error if the status is
// not 200, if the body has more than clientLimit bytes, or if no agent answers.
func (c client) getBodyOfOK(ctx context.Context, query url.Values, path ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	response, err := c.sendRequest(ctx, http.MethodGet, query, path...)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, clientLimit+1))
	switch {
	case len(body) > clientLimit:
		return "", fmt.Errorf("the answer of %s is cut short: %w", c.server, errTooLong)
	case err != nil:
		return "", fmt.Errorf("the answer of %s breaks off: %w", c.server, err)
	case response.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s", strings.TrimSpace(string(body)))
	}
	return string(body), nil
}

// sendRequest sends a request over TCP or a Unix socket and returns the response. Any HTTP status is a response
// and no error. The caller must close the body.
func (c client) sendRequest(ctx context.Context, method string, query url.Values, path ...string) (*http.Response, error) {
	host := c.server
	transport := &http.Transport{DisableKeepAlives: true} // It connects to the given address without a proxy.
	if socket, isSocket := parseSocketAddress(c.server); isSocket {
		host = "localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}
	}
	where := (&url.URL{Scheme: "http", Host: host}).JoinPath(path...)
	where.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, where.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("--server %q: expected an address such as %s", c.server, defaultListen)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, c.unreachableError(unwrapURLError(err))
	}
	return response, nil
}

// unreachableError returns an error that explains to the user how to reach an agent that does not answer.
func (c client) unreachableError(err error) error {
	socket, isSocket := parseSocketAddress(c.server)
	switch {
	case !isSocket:
		return fmt.Errorf("no agent answers at %s; is it running, with --listen %[1]s? (%w)", c.server, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("only the user of the agent and root may connect to the agent at %s (%w)", socket, err)
	}
	return fmt.Errorf("no agent answers at %s; is it running, as this user? --server names another address or socket (%w)", socket, err)
}

// copyBodyOfOK sends a request and copies the body of the response to out as it arrives. It returns the
// trailers. It returns an error if the status is not 200 or a trailer reports an error.
func (c client) copyBodyOfOK(ctx context.Context, out io.Writer, method string, query url.Values, path ...string) (http.Header, error) {
	answer, err := c.sendRequest(ctx, method, query, path...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // The beginning of the body is enough for the error.
		return nil, errors.New(strings.TrimSpace(string(why)))
	}
	if _, err := io.Copy(out, answer.Body); err != nil {
		return nil, fmt.Errorf("the answer of %s breaks off: %w", c.server, err)
	}
	if why := answer.Trailer.Get(debug.ErrorTrailer); why != "" {
		return nil, errors.New(why)
	}
	return answer.Trailer, nil
}

// unwrapURLError returns the cause in a *url.Error, without method and URL, because the caller names them. It
// returns any other error unchanged.
func unwrapURLError(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
