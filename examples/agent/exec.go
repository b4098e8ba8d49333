package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/podkeel/podkeel/syncloop/debug"
)

// runExec runs a command in a container, prints what that prints, and ends as it
// does.
func runExec(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var command []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, command = args[:i], args[i+1:]
	}
	var container string
	c, words, err := clientFlags("exec", args, func(flags *flag.FlagSet) { flags.StringVar(&container, "c", "", "") })
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage())
		return exitOK
	}
	if err == nil && (len(words) != 1 || len(command) == 0) {
		err = errors.New("exec needs the name of one pod and a command: exec [NAMESPACE/]NAME [-c CONTAINER] -- COMMAND ... (agent ps lists all)")
	}
	if err != nil {
		complain(stderr, err)
		return exitUsage
	}
	after, err := c.follow(ctx, stdout, http.MethodPost, url.Values{"command": command}, containerPath("exec", words[0], container)...)
	if err != nil || ctx.Err() != nil {
		return ended(ctx, err, stderr)
	}
	code, err := codeOf(after.Get(debug.ExitCodeTrailer))
	if err != nil {
		return ended(ctx, err, stderr)
	}
	return code
}
