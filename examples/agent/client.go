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
)

const (
	// clientPatience is how long an agent may take to answer.
	clientPatience = 10 * time.Second
	// clientLimit bounds an answer.
	clientLimit = 16 << 20
	// defaultListen is where an agent listens, and is asked.
	defaultListen = "127.0.0.1:10348"
)

// client asks an agent that runs.
type client struct{ server string }

// clientFlags reads what follows a verb: flags, which may come in any place, and
// words.
func clientFlags(v string, args []string) (c client, words []string, err error) {
	flags := flag.NewFlagSet(v, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.server, "server", defaultListen, "")
	for len(args) > 0 {
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			return c, nil, err
		} else if err != nil {
			return c, nil, fmt.Errorf("%w (--server ADDR is the only flag of %s)", err, v)
		}
		if args = flags.Args(); len(args) > 0 {
			words, args = append(words, args[0]), args[1:]
		}
	}
	return c, words, nil
}

// get returns the answer to a path. Its error says what to do about it.
func (c client) get(path ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientPatience)
	defer cancel()
	where := url.URL{Scheme: "http", Host: c.server}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where.JoinPath(path...).String(), nil)
	if err != nil {
		return "", fmt.Errorf("--server %q: expected an address such as %s", c.server, defaultListen)
	}
	plain := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // It goes where it is told, and through no proxy.
	answer, err := plain.Do(request)
	if err != nil {
		return "", fmt.Errorf("nobody answers at %s; is the agent running, with --listen %[1]s? (%w)", c.server, cause(err))
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, clientLimit))
	switch {
	case err != nil:
		return "", fmt.Errorf("the answer of %s breaks off: %w", c.server, err)
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s", strings.TrimSpace(string(body)))
	}
	return string(body), nil
}

// cause leaves out the request, which has been said.
func cause(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
