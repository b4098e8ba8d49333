package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/url"
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
	if err == nil && len(words) != 1 {
		err = errors.New("logs needs the name of one pod: logs [NAMESPACE/]NAME [-c CONTAINER] (agent ps lists all)")
	}
	if status, bad := refused(err, stdout, stderr); bad {
		return status
	}
	_, err = c.follow(ctx, stdout, http.MethodGet, q, containerPath("logs", words[0], container)...)
	return ended(ctx, err, stderr)
}
