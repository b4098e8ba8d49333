package main

import (
	"context"
	"io"
	"net/http"
)

// runLogs prints what a container has printed.
func runLogs(ctx context.Context, r *request, stdout, stderr io.Writer) int {
	path, err := r.path(ctx, "logs")
	if err == nil {
		_, err = r.stream(ctx, r.readable(stdout), http.MethodGet, r.query, path...)
	}
	return ended(ctx, err, stderr)
}
