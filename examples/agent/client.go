package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

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

// client asks an agent that runs.
type client struct{ server string }

// clientFlags reads what follows a command: flags, which may come in any place, and
// words. Commands may have more flags than all of them have.
func clientFlags(v string, args []string, more ...func(*flag.FlagSet)) (c client, words []string, err error) {
	flags := flag.NewFlagSet(v, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.server, "server", defaultListen, "")
	for _, add := range more {
		add(flags)
	}
	for len(args) > 0 {
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			return c, nil, err
		} else if err != nil {
			if len(more) > 0 {
				return c, nil, fmt.Errorf("%w (--help lists the flags of %s)", err, v)
			}
			return c, nil, fmt.Errorf("%w (--server ADDR is the only flag of %s)", err, v)
		}
		if args = flags.Args(); len(args) > 0 {
			words, args = append(words, args[0]), args[1:]
		}
	}
	return c, words, nil
}

// get returns the answer to a path. Its error says what to do about it.
func (c client) get(ctx context.Context, path ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	answer, err := c.ask(ctx, http.MethodGet, nil, path...)
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
	where := (&url.URL{Scheme: "http", Host: c.server}).JoinPath(path...)
	where.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, where.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("--server %q: expected an address such as %s", c.server, defaultListen)
	}
	plain := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // It connects to the given address, and through no proxy.
	answer, err := plain.Do(request)
	if err != nil {
		return nil, fmt.Errorf("no agent answers at %s; is it running, with --listen %[1]s? (%w)", c.server, cause(err))
	}
	return answer, nil
}

// follow copies an answer as it comes, for as long as it goes on, and returns what
// comes after it.
func (c client) follow(ctx context.Context, out io.Writer, method string, query url.Values, path ...string) (http.Header, error) {
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

// containerPath is where an agent answers for a container, or, without its name, for
// the pod as a whole.
func containerPath(v, pod, container string) []string {
	namespace, name := podOf(pod)
	path := []string{v, url.PathEscape(namespace), url.PathEscape(name)}
	if container != "" {
		path = append(path, url.PathEscape(container))
	}
	return path
}

// podOf is the pod that a word names.
func podOf(word string) (namespace, name string) {
	namespace, name, ok := strings.Cut(word, "/")
	if !ok {
		return v1.NamespaceDefault, namespace
	}
	return namespace, name
}
