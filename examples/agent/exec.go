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
	"strconv"

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
	if err == nil && (len(words) != 1 || len(command) == 0) {
		err = errors.New("exec needs the name of one pod and a command: exec [NAMESPACE/]NAME [-c CONTAINER] -- COMMAND ... (agent ps lists all)")
	}
	if status, bad := refused(err, stdout, stderr); bad {
		return status
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

// codeOf is the exit code that came after the output of a command.
func codeOf(text string) (int, error) {
	code, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("the agent does not say how the command has ended: %q", text)
	}
	return code, nil
}
