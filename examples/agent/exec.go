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

// requirePodAndCommand returns an error unless the arguments of "agent exec" are one name of a pod and a
// command after --.
func requirePodAndCommand(r *request) error {
	if len(r.args) != 1 || len(r.argsAfterDash) == 0 {
		return errors.New("exec needs the name of one pod and a command: exec [NAMESPACE/]NAME [-c CONTAINER] -- COMMAND ... (agent ps lists all)")
	}
	return nil
}

// runExec runs a command in a container and prints its output. It returns the exit code of the command, or an
// exit code for an error of the request.
func runExec(ctx context.Context, r *request, stdout, stderr io.Writer) int {
	path, err := r.resolvePodPath(ctx, "exec")
	if err != nil {
		return printRequestError(ctx, err, stderr)
	}
	after, err := r.copyBodyOfOK(ctx, r.terminalSafeWriter(stdout), http.MethodPost, url.Values{"command": r.argsAfterDash}, path...)
	if err != nil || ctx.Err() != nil {
		return printRequestError(ctx, err, stderr)
	}
	code, err := parseExitCode(after.Get(debug.ExitCodeTrailer))
	if err != nil {
		return printRequestError(ctx, err, stderr)
	}
	return code
}

// parseExitCode parses the exit code of a command, which the agent sends after the output. It returns an error
// if text is no number.
func parseExitCode(text string) (int, error) {
	code, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("the agent does not report the exit code of the command: %q", text)
	}
	return code, nil
}
