package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// runLogs prints what a container has printed.
func runLogs(ctx context.Context, r *request, stdout, stderr io.Writer) int {
	path, err := r.path(ctx, "logs")
	if err == nil {
		_, err = r.stream(ctx, r.readable(stdout), http.MethodGet, r.query, path...)
	}
	return ended(ctx, err, stderr)
}

// checkTail wants a line at least.
func checkTail(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n < 1 {
		return errors.New("expected a number from 1")
	}
	return nil
}

// checkSince wants a time, or how long ago it was.
func checkSince(s string) error {
	if ago, err := time.ParseDuration(s); err == nil && ago >= 0 {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, s); err != nil {
		return errors.New("expected a duration, such as 10m, or a time, such as 2006-01-02T15:04:05Z")
	}
	return nil
}
