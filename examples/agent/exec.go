package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/podkeel/podkeel/syncloop/debug"
)

// podAndCommand wants the name of one pod and a command.
func podAndCommand(r *request) error {
	if len(r.words) != 1 || len(r.rest) == 0 {
		return errors.New("exec needs the name of one pod and a command: exec [NAMESPACE/]NAME [-c CONTAINER] -- COMMAND ... (agent ps lists all)")
	}
	return nil
}

// runExec runs a command in a container, prints what that prints, and ends as it
// does.
func runExec(ctx context.Context, r *request, stdout, stderr io.Writer) int {
	path, err := r.path(ctx, "exec")
	if err != nil {
		return ended(ctx, err, stderr)
	}
	after, err := r.stream(ctx, r.readable(stdout), http.MethodPost, url.Values{"command": r.rest}, path...)
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
