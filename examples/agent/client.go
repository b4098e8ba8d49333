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
	// clientTimeout is how long an agent may take to answer, and to go on with a list.
	clientTimeout = 10 * time.Second
	// clientLimit bounds an answer, or one item of a list.
	clientLimit = 16 << 20
	// defaultListen is where an agent listens, and is asked.
	defaultListen = "127.0.0.1:10348"
)

// client asks the agent at an address, which is a host and port or the path of a socket.
type client struct{ server string }

// get returns the answer to a path. Its error says what to do about it.
func (c client) get(ctx context.Context, query url.Values, path ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	answer, err := c.ask(ctx, http.MethodGet, query, path...)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, clientLimit+1))
	switch {
	case len(body) > clientLimit:
		return "", fmt.Errorf("the answer of %s is cut short: %w", c.server, errTooLong)
	case err != nil:
		return "", fmt.Errorf("the answer of %s breaks off: %w", c.server, err)
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s", strings.TrimSpace(string(body)))
	}
	return string(body), nil
}

// ask begins a request. The answer has to be closed.
func (c client) ask(ctx context.Context, method string, query url.Values, path ...string) (*http.Response, error) {
	host := c.server
	transport := &http.Transport{DisableKeepAlives: true} // It connects to the given address, and through no proxy.
	if socket, is := socketPath(c.server); is {
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
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, c.unreachableError(cause(err))
	}
	return answer, nil
}

// unreachableError returns an error that names what a person can do about an agent that does not answer.
func (c client) unreachableError(err error) error {
	socket, is := socketPath(c.server)
	switch {
	case !is:
		return fmt.Errorf("no agent answers at %s; is it running, with --listen %[1]s? (%w)", c.server, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("only the user of the agent and root may ask the agent at %s (%w)", socket, err)
	}
	return fmt.Errorf("no agent answers at %s; is it running, as this user? --server asks another address or socket (%w)", socket, err)
}

// stream copies an answer as it comes, for as long as it goes on, and returns what
// comes after it.
func (c client) stream(ctx context.Context, out io.Writer, method string, query url.Values, path ...string) (http.Header, error) {
	answer, err := c.ask(ctx, method, query, path...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // What has come is all there is to say.
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

// cause leaves out the request, which has been said.
func cause(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
