package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// runLogs prints what a container has printed.
func runLogs(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var container string
	q := url.Values{}
	c, words, err := clientFlags("logs", args, func(flags *flag.FlagSet) {
		flags.StringVar(&container, "c", "", "")
		flags.Func("tail", "", func(s string) error { q.Set("tail", s); return nil })
		flags.Func("since", "", func(s string) error { q.Set("since", s); return nil })
		for _, name := range []string{"follow", "previous"} {
			flags.BoolFunc(name, "", func(s string) error { q.Set(name, s); return nil })
		}
		flags.BoolFunc("f", "", func(s string) error { q.Set("follow", s); return nil })
	})
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage())
		return exitOK
	}
	if err == nil && len(words) != 1 {
		err = errors.New("logs needs the name of one pod: logs [NAMESPACE/]NAME [-c CONTAINER] (agent ps lists all)")
	}
	if err != nil {
		complain(stderr, err)
		return exitUsage
	}
	_, err = c.follow(ctx, stdout, http.MethodGet, q, containerPath("logs", words[0], container)...)
	return ended(ctx, err, stderr)
}

// containerPath is where a container is found.
func containerPath(v, pod, container string) []string {
	namespace, name := podOf(pod)
	path := []string{v, url.PathEscape(namespace), url.PathEscape(name)}
	if container != "" {
		path = append(path, url.PathEscape(container))
	}
	return path
}

// ended is the status of a verb whose request has ended.
func ended(ctx context.Context, err error, stderr io.Writer) int {
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case err != nil:
		complain(stderr, err)
		return exitFailed
	}
	return exitOK
}

// codeOf is the exit code that came after the output of a command.
func codeOf(text string) (int, error) {
	code, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("the agent does not say how the command has ended: %q", text)
	}
	return code, nil
}
