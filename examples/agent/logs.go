package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// runLogs prints the log of a container and returns an exit code.
func runLogs(ctx context.Context, r *request, stdout, stderr io.Writer) int {
	path, err := r.resolvePodPath(ctx, "logs")
	if err == nil {
		_, err = r.copyBodyOfOK(ctx, r.terminalSafeWriter(stdout), http.MethodGet, r.query, path...)
	}
	return printRequestError(ctx, err, stderr)
}

// checkTail returns an error unless the value is a number from 1.
func checkTail(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n < 1 {
		return errors.New("expected a number from 1")
	}
	return nil
}

// checkSince returns an error unless the value is a duration from 0 or an RFC 3339 time.
func checkSince(s string) error {
	if ago, err := time.ParseDuration(s); err == nil && ago >= 0 {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, s); err != nil {
		return errors.New("expected a duration, such as 10m, or a time, such as 2006-01-02T15:04:05Z")
	}
	return nil
}
